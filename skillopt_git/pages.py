"""A run's report as an HTML page with charts: one file that needs nothing else, runs nothing and asks nobody.

Its words are those of the Markdown report, redacted before they are looked at; what looks like HTML, a link or an image
in them stays text.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markdown_it.utils import EnvType, OptionsDict

from skillopt_git import render
from skillopt_git.charts import Chart, run_charts
from skillopt_git.svg import svg
from skillopt_git.views import RunView

FIGURE = "figure"
_ACTIVE = ["link", "image", "autolink", "html_inline", "html_block", "reference"]


def report_page(view: RunView, past: Chart | None, redact: Callable[[str], str]) -> str:
    """`past` is the score of the nights so far."""
    charts = run_charts(view, past)
    words = redact(render.report_with_figures(view, charts))
    figures = {str(number): svg(chart, f"chart-{number}") for number, chart in enumerate(charts)}
    return render.html_page(_title(view), _html(words, figures))


def _title(view: RunView) -> str:
    night = "Night" if view.night is None else f"Night {view.night}"
    return f"{night} of {view.started}{' (simulated)' if view.simulated else ''}, skillopt-git"


def _html(words: str, figures: Mapping[str, str]) -> str:
    markdown = MarkdownIt("commonmark", {"html": False, "xhtmlOut": True}).enable("table").disable(_ACTIVE)
    markdown.add_render_rule("fence", _fence)
    made: str = markdown.render(words, {FIGURE: figures})
    return made.replace("\u200b", "")  # it keeps a forge from linking, and here nothing links


def _fence(self: RendererHTML, tokens: Sequence[Token], place: int, options: OptionsDict, env: EnvType) -> str:
    """The figure of that number; any other fence, and one that the redaction changed, stays a fence."""
    token = tokens[place]
    drawn = env[FIGURE].get(token.content.strip()) if token.info == FIGURE else None
    return self.fence(tokens, place, options, env) if drawn is None else f"<figure>\n{drawn}\n</figure>\n"
