from __future__ import annotations

import html
import json
import re
import tomllib
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, get_args

import pytest
from cmarkgfm.cmark import markdown_to_html_with_extensions
from hypothesis import example, given, settings
from hypothesis import strategies as st
from jinja2 import TemplateAssertionError, UndefinedError

from skillopt_git.errors import ConfigError
from skillopt_git.model import EditOp, Reason, Verdict
from skillopt_git.prompts import SHIPPED
from skillopt_git.render import (
    BODY_LIMIT,
    SUBJECT_LIMIT,
    TITLE_LIMIT,
    _templates,
    commit_message,
    md_cell,
    md_code,
    md_code_cell,
    md_link,
    md_text,
    one_line,
    plain,
    pull_request,
    pull_request_title,
    report,
    sample,
    settings_file,
    terminal,
)
from skillopt_git.views import (
    DocumentView,
    EditView,
    LeftOut,
    NeedView,
    NightRow,
    Passes,
    ProposalView,
    QuoteView,
    RunView,
    TaskRow,
)
from tests.helpers import Repository

EXTENSIONS = ["table", "autolink", "strikethrough", "tasklist", "tagfilter"]
ZWSP = "\u200b"

HOSTILE = (
    "</details>",
    "```",
    "~~~",
    "`` ` ``",
    "|",
    "\\|",
    "\\",
    "\n",
    "\r\n\r\n",
    "@everyone",
    "alice@example.com",
    "Fixes #9",
    "closes GH-12",
    "https://evil.example/x",
    "www.evil.example",
    "<https://evil.example>",
    "<img src=x onerror=y>",
    "<script>",
    "<!--",
    "-->",
    "# head",
    "- item",
    "1. one",
    "* * *",
    "===",
    "---",
    ":-:",
    "> quote",
    "[x](http://y)",
    "![i](j)",
    "- [ ] box",
    "&amp;",
    "&#35;",
    "**b**",
    "_e_",
    "~~s~~",
    "$x$",
    "3f786850e387550fdab836ed7e6dc881de23001b",
    "\x1b[31m",
    "\x1b]8;;http://x\x07",
    "\u202e",
    "\u200b",
    "\u2028",
    "\u2066",
    "\ufeff",
    "\x00",
    "\x07",
    "\udc80",
    " ",
    "word",
    "[skip ci]",
    "Signed-off-by: Mallory <m@example.com>",
    "diff --git a/x b/x",
)
texts = st.one_of(
    st.text(max_size=40),
    st.lists(st.one_of(st.sampled_from(HOSTILE), st.text(max_size=4)), max_size=6).map("".join),
)


def rendered(markdown: str) -> str:
    made: str = markdown_to_html_with_extensions(markdown, 1 << 17, EXTENSIONS)  # raw HTML as GitHub lets it through
    return made


def tags(page: str) -> list[str]:
    return re.findall(r"<(/?[a-zA-Z][a-zA-Z0-9]*|!--)", page)


def words(page: str) -> str:
    """What a reader sees of a page: no tags, entities resolved, the cutting zero-width spaces gone."""
    return html.unescape(re.sub(r"<[^>]*>", "", page)).replace(ZWSP, "").strip()


def seen(text: str) -> str:
    return " ".join(terminal(text).split())


# --- text --------------------------------------------------------------------------------------------------------


@pytest.mark.no_cover  # much work, and no line that others do not reach
@given(texts)
def test_text_in_a_paragraph_reads_as_it_is_and_does_nothing(text: str) -> None:
    """Whatever the text, one paragraph without any other tag shows it word for word."""
    page = rendered(f"before\n{md_text(text)} after\n")
    assert tags(page) == ["p", "/p"]
    assert " ".join(words(page).split()) == " ".join(f"before {seen(text)} after".split())


@pytest.mark.no_cover  # much work, and no line that others do not reach
@given(texts)
def test_text_at_the_start_of_a_block_starts_no_other_block(text: str) -> None:
    """A paragraph, a heading, a quote and a list item that begin with the text hold just the text."""
    shown = md_text(text)
    for before, expected in (
        ("", ["p", "/p"]),
        ("### ", ["h3", "/h3"]),
        ("> ", ["blockquote", "p", "/p", "/blockquote"]),
        ("- ", ["ul", "li", "/li", "/ul"]),
    ):
        if shown:
            page = rendered(f"{before}{shown}\n")
            assert tags(page) == expected
            assert words(page) == seen(text)


@pytest.mark.no_cover  # much work, and no line that others do not reach
@given(texts, texts)
def test_text_in_a_table_stays_in_its_cell(left: str, right: str) -> None:
    """Two cells hold what they were given, and there are only two."""
    page = rendered(f"| a | b |\n|---|---|\n| {md_cell(left)} | {md_cell(right)} |\n")
    cells = re.findall(r"<td>(.*?)</td>", page, re.DOTALL)
    assert [words(cell) for cell in cells] == [seen(left) or "–", seen(right) or "–"]
    assert not {"a", "img", "em", "strong", "del", "code", "input"} & set(tags(page))


@pytest.mark.parametrize(
    ("text", "link"),
    [
        ("ask @alice", r"@\w"),
        ("see #12 and acme/api#3", r"#\d"),
        ("Fixes gh-12", r"(?i)gh-\d"),
        ("at https://example.com", r"://"),
        ("at www.example.com", r"www\."),
        ("in 3f786850e387550fdab836ed7e6dc881de23001b", r"[0-9a-f]{7}"),
        ("a :bug: here", r":\w+:"),
    ],
)
def test_what_a_forge_links_after_rendering_is_cut(text: str, link: str) -> None:
    """Mentions, references, addresses, commits and emoji names are gone from the rendered words too."""
    assert re.search(link, text)
    assert not re.search(link, html.unescape(rendered(md_text(text))))


def test_an_id_of_ours_can_be_copied() -> None:
    """It is whole, in code, wherever it stands; what only looks like one is cut like every such number."""
    held = "already proposed on sleep/2026-11-29 (e1-4fc5339d7242a33e)"
    for text in (held, "t1-4fc5339d7242a33e", "`r1-4fc5339d7242a33e`", "e1-4fc5339d7242a33e, n1-4fc5339d7242a33e"):
        page = rendered(f"- {md_text(text)}\n")
        assert ZWSP not in page
        assert words(page) == text
        assert "<code>" in page
    for other in ("xe1-4fc5339d7242a33e", "e1-4fc5339d7242a33e1", "a1-4fc5339d7242a33e"):
        assert ZWSP in md_text(other)
        assert "`" not in md_text(other)


def test_common_words_keep_their_look() -> None:
    """Ordinary rules are readable in the source of a body, too."""
    for text in ("Use pnpm, not npm.", "Keep node_modules out of a commit", "0.1.0 (beta)", "a > b, c = d"):
        assert md_text(text) == text


@pytest.mark.no_cover  # much work, and no line that others do not reach
@given(texts)
def test_a_code_span_is_one_span_with_the_folded_text(text: str) -> None:
    """Backticks of any number and line breaks do not break out."""
    page = rendered(f"x {md_code(text)} y\n")
    assert tags(page) == ["p", "code", "/code", "/p"]
    found = re.search("<code>(.*)</code>", page, re.DOTALL)
    assert found
    assert html.unescape(found[1]) == (seen(text) or "(empty)")


@given(st.one_of(texts, texts.map("https://github.example/{}".format)))
@example("https://github.example/acme/acme-api/pull/1")
@example("https://github.example/a>b <img src=x>")
@example("javascript:alert(1)")
def test_an_address_is_a_link_to_itself_or_text(url: str) -> None:
    """Only what is an address of the web can be clicked, and nothing breaks out of it."""
    page = rendered(f"x {md_link(url)} y\n")
    if "<a " in page:
        assert url.startswith(("http://", "https://"))
        assert tags(page) == ["p", "a", "/a", "/p"]
        assert html.unescape(re.findall('href="(.*?)"', page)[0]) == url
    else:
        assert tags(page) == ["p", "/p"]


@pytest.mark.no_cover  # much work, and no line that others do not reach
@given(texts)
@example("\x9b|")
def test_code_in_a_table_stays_in_its_cell(text: str) -> None:
    """A cell shows the text, as code unless it holds a pipe."""
    page = rendered(f"| a | b |\n|---|---|\n| {md_code_cell(text)} | end |\n")
    cells = re.findall(r"<td>(.*?)</td>", page, re.DOTALL)
    assert [words(cell) for cell in cells] == [seen(text) or "(empty)", "end"]
    assert ("code" in tags(page)) == ("|" not in seen(text))


@given(st.text())
def test_a_terminal_line_holds_nothing_that_acts(text: str) -> None:
    """No control, format, surrogate or line-breaking character is left, and doing it again changes nothing."""
    line = terminal(text)
    assert not re.search(r"[\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff]", line)
    assert terminal(line) == line
    line.encode()


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("\x1b[1;31mred\x1b[0m", "red"),
        ("\x1b]0;title\x07x", "x"),
        ("\x1b]8;;http://e\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("\x9b31mred", "red"),
        ("a\x1bcb", "ab"),
        ("a\x00\x07b", "ab"),
        ("abc\u202edef", "abc<U+202E>def"),
        ("pn\u200bpm", "pn<U+200B>pm"),
        ("a\U000e0041b", "a<U+E0041>b"),
        ("a\ufe01b", "a<U+FE01>b"),
        ("a\u3164b", "a<U+3164>b"),
        ("warn ⚠️", "warn ⚠️"),
        ("  two\r\nlines\there", "  two lines here"),
        ("grüße 日本", "grüße 日本"),
    ],
)
def test_a_terminal_line_drops_orders_and_shows_what_hides(text: str, line: str) -> None:
    """Escape sequences vanish whole; invisible characters are named; blanks, accents and emoji stay."""
    assert terminal(text) == line


def test_one_line_folds_and_clips_with_an_ellipsis() -> None:
    """The limit counts the ellipsis; a short text is only folded."""
    assert one_line(" a \n b\t c ", 10) == "a b c"
    assert one_line("abcdef ghi", 8) == "abcdef…"
    assert one_line("abcdefghij", 8) == "abcdefg…"


@given(texts, st.integers(1, 60))
def test_one_line_never_exceeds_its_limit(text: str, limit: int) -> None:
    """Also when hidden characters are spelled out."""
    assert len(one_line(text, limit)) <= limit


@given(texts)
def test_plain_text_orders_nothing(text: str) -> None:
    """In a commit message or a title no mention, reference, address or order to skip CI is left."""
    line = plain(text)
    assert not re.search(r"@\w|#\d|(?i:\bgh-\d)|://|(?i:\[skip ci\])", line)
    assert "\n" not in line


# --- views -------------------------------------------------------------------------------------------------------


ROWS = (
    TaskRow(task="t1-aaaaaaaaaaaaaaaa", family="f1-a", ask="install the packages", base=0.0, cand=1.0),
    TaskRow(task="t1-bbbbbbbbbbbbbbbb", family="f1-b", ask="add a lint step", base=1.0, cand=1.0),
    TaskRow(task="t1-cccccccccccccccc", family="f1-c", ask="bump react", base=0.5, cand=1.0),
)
WORSE = TaskRow(task="t1-dddddddddddddddd", base=1.0, cand=0.25)
SAID = QuoteView(text="not so long", session="…0a1b2c3d", day="2026-01-02", ask="Add lodash")
MISSING = TaskRow(task="t1-eeeeeeeeeeeeeeee", base=None, cand=1.0)


def an_edit(**given: Any) -> EditView:
    edit = EditView(
        id="e1-0123456789abcdef",
        rule="r1-0123456789abcdef",
        target="CLAUDE.md",
        op="add",
        text="Use pnpm, not npm.",
        reason="Corrected from npm to pnpm three times",
        verdict="strong",
        night="4",
        run="20260102T030000Z-1a2b3c4d",
        evidence="ab" * 32,
        need="n1-0123456789abcdef",
        need_sessions=3,
        rows=ROWS,
        baseline=0.5,
        candidate=1.0,
    )
    return replace(edit, **given)


def a_proposal(*edits: EditView, **given: Any) -> ProposalView:
    view = ProposalView(
        branch="sleep/2026-01-02",
        base_branch="main",
        base_commit="3f786850e387550fdab836ed7e6dc881de23001b",
        opened="2026-01-02",
        simulated=False,
        ungated=False,
        draft=False,
        edits=edits or (an_edit(),),
        gate_rule="strict",
        metric="mixed",
        target_model="model-a",
        optimizer_model="model-b",
        judge="checks",
        version="0.1.0",
        ledger_ref="refs/skillopt/ledger",
        tokens=184220,
        cost_usd=0.42,
    )
    return replace(view, **given)


def a_run(**given: Any) -> RunView:
    view = RunView(
        run="20260102T030000Z-1a2b3c4d",
        night=4,
        started="2026-01-02 03:00 UTC",
        base_branch="main",
        base_commit="3f786850e387550fdab836ed7e6dc881de23001b",
        backend="scripted",
        model="model-a",
        optimizer="model-b",
        judge="checks",
        simulated=False,
        sessions=7,
        tasks=12,
        metric="mixed",
        rule="strict",
        reason="no_sessions",
        version="0.1.0",
    )
    return replace(view, **given)


def a_run_that_says(text: str, view: ProposalView) -> RunView:
    """A run with the text in every field, and edits of that proposal."""
    strings = {item.name: text for item in fields(RunView) if item.type in {"str", "str | None"}}
    return a_run(
        **strings,
        reason="gate",
        edits=view.edits,
        rejected=view.edits,
        skipped={text: 1},
        needs=(
            NeedView(
                text=text, sessions=1, tasks=1, days=(text,), state=text, quotes=(QuoteView(text, text, text, text),)
            ),
        ),
        hints=(QuoteView(text, text, text, text),),
        unmatched=(LeftOut(text=text, why=text),),
        suppressed=(LeftOut(text=text, why=text),),
        documents=(DocumentView(path=text, verdict=None, baseline=None, candidate=None),),
        commits=(text,),
        notes=(text,),
    )


def table(page: str, heading: str) -> list[list[str]]:
    """The body rows of the first table after a heading."""
    rows = re.findall(r"<tr>(.*?)</tr>", page.split(f">{heading}</h", 1)[1].split("</table>")[0], re.DOTALL)
    return [[words(cell) for cell in re.findall(r"<td[^>]*>(.*?)</td>", row, re.DOTALL)] for row in rows[1:]]


def headings(page: str) -> list[str]:
    return [words(found) for found in re.findall(r"<h[1-6]>(.*?)</h[1-6]>", page)]


def test_a_row_that_lacks_a_figure_changed_by_nothing_known() -> None:
    """A change needs two finite figures."""
    assert WORSE.change == -0.75
    assert MISSING.change is None
    assert TaskRow(task="t", base=float("nan"), cand=1.0).change is None
    assert DocumentView(path="CLAUDE.md", verdict=None, baseline=0.5, candidate=None).change is None


def test_an_edit_knows_what_it_helped_and_what_it_hurt() -> None:
    """Helped from the best, hurt from the worst, unmeasured in neither."""
    edit = an_edit(rows=(*ROWS, MISSING, WORSE))
    assert edit.helped == (ROWS[0], ROWS[2])
    assert edit.regressed == (WORSE,)
    assert edit.worst_first == (WORSE, ROWS[1], ROWS[2], ROWS[0], MISSING)
    assert edit.measured == 4


# --- commit message ----------------------------------------------------------------------------------------------

TRAILERS = {
    "SkillOpt-Edit-Id": "e1-0123456789abcdef",
    "SkillOpt-Target": "docs/a b/SKILL.md",
    "SkillOpt-Gate": "strong",
}


def trailers(repo: Repository, message: str) -> dict[str, str]:
    told = repo.git("interpret-trailers", "--parse", input_=message.encode())
    return dict(line.split(": ", 1) for line in told.splitlines())


def test_a_commit_message_is_the_record_of_its_edit() -> None:
    """An imperative subject, the reason, the held-out figures, then the trailers."""
    assert commit_message(an_edit(), trailers=TRAILERS) == (
        "Learn: Use pnpm, not npm\n"
        "\n"
        "Rule: Use pnpm, not npm.\n"
        "Why: Corrected from npm to pnpm three times\n"
        "\n"
        "Held out: score 0.50 before, 1.00 after, change +0.50. Of 3 tasks, 2 did\n"
        "  better, 0 did worse, 0 could not be measured.\n"
        "Verdict: strong, in night 4.\n"
        "\n"
        "SkillOpt-Edit-Id: e1-0123456789abcdef\n"
        "SkillOpt-Target: docs/a b/SKILL.md\n"
        "SkillOpt-Gate: strong\n"
    )


@pytest.mark.parametrize(
    ("edit", "subject", "line"),
    [
        (an_edit(op="replace", anchor="Use npm"), "Reword: Use pnpm, not npm", "Instead of: Use npm"),
        (an_edit(op="delete", text=None, anchor="Use npm"), "Drop: Use npm", "Dropped rule: Use npm"),
        (an_edit(simulated=True), "Learn (simulated): Use pnpm, not npm", "Simulated: these figures come from"),
        (an_edit(verdict="ungated"), "Learn (ungated): Use pnpm, not npm", "The gate was off"),
        (an_edit(rows=(), reason=""), "Learn: Use pnpm, not npm", "Held out: no task was measured."),
        (an_edit(text="Answer " + "briefly " * 20), "Learn: Answer " + "briefly " * 7 + "b…", "Rule: Answer briefly"),
    ],
)
def test_a_subject_says_what_is_done_and_how_far_to_trust_it(edit: EditView, subject: str, line: str) -> None:
    """Each kind of edit has its verb; what is simulated or unproven says so in subject and body."""
    message = commit_message(edit, trailers=TRAILERS)
    assert message.split("\n")[0] == subject
    assert line in message


@pytest.mark.no_cover  # much work, and no line that others do not reach
@settings(max_examples=30, deadline=None)
@given(texts, texts, texts)
def test_no_text_forges_or_hides_a_trailer(text: str, anchor: str, reason: str) -> None:
    """Git reads back exactly the trailers that were given, whatever the rule and its reason say."""
    edit = an_edit(op="replace", text=text, anchor=anchor, reason=f"{reason} " * 10)
    message = commit_message(edit, trailers=TRAILERS)
    assert trailers(Repository(Path.cwd()), message) == TRAILERS
    assert message.endswith("SkillOpt-Gate: strong\n")
    assert len(message.split("\n")[0]) <= SUBJECT_LIMIT
    assert not re.search(r"(?m)@\w|#\d|://|^(---|#|diff )", message)


def test_trailers_survive_a_real_commit(repo: Repository) -> None:
    """`git log` finds each trailer of a message that was committed; a value of two lines becomes one."""
    made = commit_message(an_edit(), trailers={**TRAILERS, "SkillOpt-Run": "a\nSigned-off-by: b"})
    repo.git("commit", "--quiet", "--allow-empty", "--cleanup=verbatim", "--file=-", input_=made.encode())
    found = repo.git("log", "-1", "--format=%(trailers:key=SkillOpt-Run,valueonly)%(trailers:key=Signed-off-by)")
    assert found.strip() == "a Signed-off-by: b"


def test_a_trailer_needs_a_name() -> None:
    """A key that git would not take for one is refused."""
    with pytest.raises(ValueError, match="trailer"):
        commit_message(an_edit(), trailers={"Not a key": "x"})


# --- pull request ------------------------------------------------------------------------------------------------


def test_a_title_marks_what_is_not_real_and_not_proven() -> None:
    """Simulated and ungated stand before the rule."""
    assert pull_request_title(a_proposal()) == "Learn: Use pnpm, not npm"
    marked = a_proposal(an_edit(), an_edit(), simulated=True, ungated=True)
    assert pull_request_title(marked) == "[simulated] [ungated] Learn: Use pnpm, not npm (and 1 more)"


@pytest.mark.no_cover  # much work, and no line that others do not reach
@given(texts, st.integers(1, 3), st.booleans(), st.booleans())
def test_a_title_is_short_and_harmless(text: str, edits: int, simulated: bool, ungated: bool) -> None:
    """At most 120 characters on one line, with its marks and nothing that a forge acts on."""
    view = a_proposal(*[an_edit(text=text * 9)] * edits, simulated=simulated, ungated=ungated)
    title = pull_request_title(view)
    assert len(title) <= TITLE_LIMIT
    assert ("[simulated]" in title) >= simulated
    assert not re.search(r"\n|@\w|#\d|://", title)


def test_a_body_tells_the_verdict_first_and_then_what_each_answer_does() -> None:
    """Thirty seconds are enough: verdict, regressions, merge, close, revert, in this order."""
    body = words(rendered(pull_request(a_proposal())))
    order = [
        "Strong: did better on held-out tasks",
        "Score 0.50 without the rule, 1.00 with it (+0.50 over 3 held-out tasks).",
        "No held-out task got worse.",
        "Merging adopts",
        "Closing rejects",
        "Reverting",
        "Rules",
    ]
    places = [body.index(words_) for words_ in order]
    assert places == sorted(places)
    assert places[0] == 0


def test_a_body_shows_each_edit_with_its_reason_document_and_tasks() -> None:
    """The totals, the reason, the held-out rows worst first, and the evidence are all there."""
    page = rendered(
        pull_request(
            a_proposal(
                an_edit(
                    why="mean rose",
                    gate_numbers={"p": 0.0312, "n": 3, "x": None, "y": "z", "w": float("nan"), "baseline": 0.875},
                )
            )
        )
    )
    total = ["1", "Use pnpm, not npm.", "CLAUDE.md", "strong", "0.50", "1.00", "+0.50", "2 / 0 of 3"]
    assert table(page, "Rules") == [total]
    assert [row[-1] for row in table(page, "Rule 1")] == ["0.00", "+0.50", "+1.00", "+0.50"]
    body = words(page)
    assert "0.875" not in body
    for said in (
        "Why: Corrected from npm to pnpm three times",
        "Asked for in 3 sessions",
        "strong (mean rose); night 4",
        "p 0.0312, n 3, x not measured, y z, w not measured",
        "Helped: t1-aaaaaaaaaaaaaaaa, t1-cccccccccccccccc",
        "ab" * 32,
        "document's text in the prompt",
        "these tasks, this configuration and this model",
        "tokens 184,220, price 0.42 USD",
        "skillopt-git show sleep/2026-01-02",
        "skillopt-git adopt sleep/2026-01-02",
        'skillopt-git reject sleep/2026-01-02 --reason "..."',
        "skillopt-git reject --edit e1-0123456789abcdef",
        "refs/skillopt/ledger",
    ):
        assert said in body


def test_a_body_never_shows_what_a_user_asked() -> None:
    """Asks are transcript text: the report may show them, a pull request may not."""
    assert "install the packages" not in pull_request(a_proposal())
    assert "install the packages" in report(a_run(edits=(an_edit(),)))


def test_a_replaced_and_a_dropped_rule_are_shown() -> None:
    """A reader sees both the old words and the new ones."""
    body = pull_request(
        a_proposal(an_edit(op="replace", anchor="Use npm"), an_edit(op="delete", text=None, anchor="Old"))
    )
    assert "> Use npm\n\nit writes\n\n> Use pnpm, not npm.\n" in body
    assert "Drops from `CLAUDE.md`:\n\n> Old\n" in body
    assert "*drop:* Old" in body


def test_regressions_are_counted_at_the_top_and_listed() -> None:
    """A proposal that helps on the whole still names each task it hurt, with the rule that did it."""
    page = rendered(pull_request(a_proposal(an_edit(), an_edit(rows=(*ROWS, WORSE), verdict="suggestive"), draft=True)))
    top = words(page.split("<ul>")[0])
    assert "2 rules: 1 strong, 1 suggestive." in top
    assert "1 held-out result got worse" in top
    assert "This is a draft" in top
    assert table(page, "What got worse") == [["2", "t1-dddddddddddddddd", "1.00", "0.25", "-0.75"]]


def test_a_simulated_body_says_so_before_anything_else() -> None:
    """The first words a reader meets are that no model gave these figures."""
    page = rendered(pull_request(a_proposal(simulated=True)))
    assert words(page).startswith("Simulated: every figure here comes from a simulation, not from a model.")


def test_what_was_not_measured_is_not_shown_as_zero() -> None:
    """Missing figures, tokens and prices are called so."""
    edit = an_edit(rows=(MISSING,), baseline=None, candidate=float("nan"), verdict="ungated")
    page = rendered(pull_request(a_proposal(edit, ungated=True, tokens=None, cost_usd=None)))
    assert table(page, "Rules")[0][4:] == ["not measured", "not measured", "not measured", "0 / 0 of 1"]
    assert "tokens not measured, price not measured" in words(page)
    assert "No held-out task was measured." in words(page)
    assert "the gate was off, so nothing is proven" in words(page)
    assert "0.00" not in page


def test_a_small_figure_is_not_rounded_to_zero() -> None:
    """A thousandth of a point is still a change, and a tenth of a cent still a price."""
    page = words(rendered(pull_request(a_proposal(an_edit(baseline=0.5, candidate=0.501), cost_usd=0.001))))
    assert "(+0.001 over 3 held-out tasks)" in page
    assert "price under 0.01 USD" in page


def test_edits_on_trial_are_listed_apart() -> None:
    """They are no part of the branch, and the body says so."""
    page = rendered(pull_request(a_proposal(on_trial=(an_edit(text="Write tests first"),))))
    assert "On trial" in headings(page)
    assert "Write tests first (CLAUDE.md): 0.50 to 1.00 over 3 tasks" in words(page)


def test_the_metadata_stands_first_and_cannot_be_closed_from_inside() -> None:
    """It reads back as JSON from the one comment of the page, whatever a branch is called."""
    body = pull_request(a_proposal(branch="x--><img>@alice---#1"))
    first, rest = body.split("\n", 1)
    found = re.fullmatch(r"<!-- skillopt: (.*) -->", first)
    assert found
    assert json.loads(found[1])["branch"] == "x--><img>@alice---#1"
    assert not re.search(r"--|[<>@#&]", found[1])
    assert "<!--" not in rest


def test_a_branch_with_a_pipe_in_its_name_stays_in_its_cell() -> None:
    """Git allows one; a table would end there."""
    page = rendered(pull_request(a_proposal(branch="sleep/@a|b")))

    assert table(page, "By hand")[1] == ["adopt", "skillopt-git adopt 'sleep/@a|b'"]
    assert_tame(page)


@pytest.mark.no_cover  # much work, and no line that others do not reach
def test_a_long_table_loses_rows_before_anything_else() -> None:
    """Two thousand rows: the ten worst stay, the rest is counted; every section is there."""
    rows = tuple(TaskRow(task=f"t1-{number:016x}", base=0.5, cand=number / 2000) for number in range(2000))
    page = rendered(pull_request(a_proposal(an_edit(rows=rows), on_trial=(an_edit(),))))
    assert len(table(page, "Rule 1")) == 11
    assert "1,990 more rows in the evidence" in words(page)
    assert "1,000 held-out results got worse" in words(page)
    assert len(table(page, "What got worse")) == 10
    assert "990 more regressions in the evidence" in words(page)
    assert {"Rules", "Rule 1", "On trial", "How it was measured", "By hand"} <= set(headings(page))
    assert "Left out here" not in page


def test_golden_tasks_stand_below_the_mean_they_are_no_part_of() -> None:
    """In the table of the rule, never among the held-out tasks; too many of them are counted."""
    guards = tuple(replace(WORSE, task=f"t1-{number:016x}", ask="say hello") for number in range(2000))
    edit = an_edit(golden=guards[:1])

    *held_out, mean, guard = table(rendered(pull_request(a_proposal(edit))), "Rule 1")

    assert len(held_out) == len(ROWS)
    assert mean[0] == "All 3"
    assert guard == ["Golden, not in the mean: t1-0000000000000000", "1.00", "0.25", "-0.75"]
    assert (edit.measured, edit.regressed) == (3, ())
    page = rendered(pull_request(a_proposal(replace(edit, golden=guards))))
    assert "1,990 more golden tasks in the evidence" in words(page)


MEASURED = (
    TaskRow(task="t1-aaaaaaaaaaaaaaaa", base=0.0, cand=1.0, passes=(Passes(0, 5), Passes(5, 5))),
    TaskRow(task="t1-bbbbbbbbbbbbbbbb", base=1.0, cand=0.75, passes=(Passes(4, 4), Passes(3, 4))),
    TaskRow(task="t1-cccccccccccccccc", base=None, cand=1.0, passes=(Passes(0, 0), Passes(5, 5))),
)
TWO_NIGHTS = (
    NightRow(run="20260101T030000Z-1a2b3c4d", base_passes=1, base_rollouts=4, cand_passes=3, cand_rollouts=4, e=1.2),
    NightRow(run="20260102T030000Z-1a2b3c4d", base_passes=3, base_rollouts=5, cand_passes=5, cand_rollouts=5, e=4.5),
)


def test_a_body_draws_below_its_tables_what_they_say() -> None:
    """Folded, the change of each task that was measured in pairs of bars, and the nights of the trial."""
    body = pull_request(a_proposal(an_edit(rows=MEASURED, nights=TWO_NIGHTS)))
    palette = '"themeVariables": {"xyChart": {"plotColorPalette": '

    tasks, nights = drawings(rendered(body))

    assert tasks == (
        f'%%{{init: {{"xyChart": {{"height": 158}}, {palette}"#5b8dc9"}}}}}}}}%%\n'
        "xychart-beta horizontal\n"
        '    x-axis ["t1-bbbbbb without", "t1-bbbbbb with", "t1-aaaaaa without", "t1-aaaaaa with"]\n'
        "    y-axis 0 --> 100\n"
        "    bar [100, 75, 0, 100]\n"
    )
    assert nights == (
        f'%%{{init: {{"xyChart": {{"height": 260}}, {palette}"#8fb0d9, #c2570c"}}}}}}}}%%\n'
        "xychart-beta\n"
        '    x-axis ["01-01", "01-02"]\n'
        "    y-axis 0 --> 100\n"
        "    bar [25, 60]\n"
        "    line [75, 100]\n"
    )
    told = words(rendered(body))
    assert "Drawn: the change of each task, the nights of its trial" in told
    assert "1 more not measured on both sides." in told
    assert body.index("All 3") < body.index("<details><summary>Drawn") < body.index("## How it was measured")
    assert body.count("</details>") == 1


def test_a_body_draws_nothing_where_nothing_was_measured() -> None:
    """Neither an empty chart nor a word of one, and a single night is no course."""
    body = pull_request(a_proposal(an_edit(rows=MEASURED[2:], nights=TWO_NIGHTS[:1])))

    assert "mermaid" not in body
    assert "Drawn" not in body


def test_a_chart_in_a_body_has_room_for_the_worst_tasks_only_and_says_so() -> None:
    """A thousand tasks are a chart of twelve."""
    rows = tuple(replace(MEASURED[0], task=f"t1-{number:06d}") for number in range(1000))

    page = rendered(pull_request(a_proposal(an_edit(rows=rows))))

    (tasks,) = drawings(page)
    assert tasks.count(" without") == 12
    assert "988 more tasks left out, none worse than these." in words(page)


def test_the_report_for_a_terminal_draws_nothing() -> None:
    """Mermaid is for a forge."""
    assert "mermaid" not in report(a_run(reason="improved", edits=(an_edit(rows=MEASURED, nights=TWO_NIGHTS),)))


@pytest.mark.no_cover  # much work, and no line that others do not reach
def test_a_body_that_is_still_too_long_loses_whole_sections_and_says_which() -> None:
    """Charts go first, then the list of what is on trial, then the method; totals and meaning never do."""
    page = rendered(pull_request(a_proposal(an_edit(), on_trial=(an_edit(text="日本" * 100),) * 300)))
    assert "On trial" not in headings(page)
    assert "Left out here for its length: charts, on trial." in words(page)
    assert "model-a" in words(page)


def proposals(text: st.SearchStrategy[str]) -> st.SearchStrategy[ProposalView]:
    figure = st.none() | st.floats(0, 1) | st.just(float("nan"))
    count = st.integers(-1, 6)
    passed = st.builds(Passes, count, count)
    row = st.builds(
        TaskRow,
        task=text,
        family=text,
        ask=text,
        base=figure,
        cand=figure,
        passes=st.none() | st.tuples(passed, passed),
    )
    night = st.builds(
        NightRow,
        run=text,
        **dict.fromkeys(("base_passes", "base_rollouts", "cand_passes", "cand_rollouts"), count),
        e=st.floats(0, 100),
    )
    edit = st.builds(
        EditView,
        **dict.fromkeys(("id", "rule", "target", "text", "anchor", "reason", "why", "night", "run", "evidence"), text),
        op=st.sampled_from(get_args(EditOp)),
        need=text,
        need_sessions=st.integers(0, 3),
        verdict=st.sampled_from(get_args(Verdict)),
        rows=st.lists(row, max_size=3).map(tuple),
        nights=st.lists(night, max_size=3).map(tuple),
        baseline=figure,
        candidate=figure,
        gate_numbers=st.dictionaries(text, st.none() | text | st.integers() | st.floats(allow_nan=False), max_size=1),
        simulated=st.booleans(),
    )
    edits = st.lists(edit, min_size=1, max_size=2).map(tuple)
    names = ("branch", "base_branch", "base_commit", "opened", "gate_rule", "metric", "target_model")
    more = ("optimizer_model", "judge", "version", "ledger_ref")
    return st.builds(
        ProposalView,
        **dict.fromkeys(names + more, text),
        simulated=st.booleans(),
        ungated=st.booleans(),
        draft=st.booleans(),
        edits=edits,
        on_trial=edits,
        tokens=st.none() | st.integers(0, 10**9),
        cost_usd=figure,
    )


EXPECTED_TAGS = {
    "!--",
    "p",
    "br",
    "strong",
    "em",
    "ul",
    "li",
    "h1",
    "h2",
    "h3",
    "table",
    "thead",
    "tbody",
    "tr",
    "th",
    "td",
}
EXPECTED_TAGS |= {"blockquote", "code", "details", "summary", "pre"}


def assert_tame(page: str) -> None:
    found = tags(page)
    assert {tag.lstrip("/") for tag in found} <= EXPECTED_TAGS
    assert found.count("details") == found.count("/details")
    assert not re.search(r"@\w|(?i:\bgh-\d)|://", html.unescape(re.sub(r"<!--.*?-->|<code>.*?</code>", "", page)))
    assert not re.search(r"[\u202a-\u202e\u2066-\u2069\x00-\x08\x1b]", page)
    assert all(DRAWING.fullmatch(drawing) for drawing in drawings(page))
    assert page.count("<pre>") == len(drawings(page))


LABELS = r'"[A-Za-z0-9-]{1,20}(?: with(?:out)?)?"'
DRAWING = re.compile(
    r'%%\{init: \{"xyChart": \{"height": \d+\}, "themeVariables": \{"xyChart": '
    r'\{"plotColorPalette": "#[0-9a-f]{6}(, #[0-9a-f]{6})?"\}\}\}\}%%\n'
    r"xychart-beta(?: horizontal)?\n"
    rf"    x-axis \[{LABELS}(?:, {LABELS})*\]\n"
    r"    y-axis 0 --> 100\n"
    r"    bar \[\d{1,3}(?:, \d{1,3})*\]\n"
    r"(?:    line \[\d{1,3}(?:, \d{1,3})*\]\n)?"
)


def drawings(page: str) -> list[str]:
    """What a forge hands to Mermaid."""
    found = re.findall(r'<pre><code class="language-mermaid">(.*?)</code>', page, re.DOTALL)
    return [html.unescape(text) for text in found]


@pytest.mark.no_cover  # much work, and no line that others do not reach
@settings(max_examples=40, deadline=None)
@given(proposals(texts))
def test_no_field_of_a_proposal_breaks_its_body(view: ProposalView) -> None:
    """Whatever stands in any field, the body has its sections and tables and not one tag or link more."""
    page = rendered(pull_request(view))
    assert_tame(page)
    assert page.count("<!--") == 1
    assert len(table(page, "Rules")) == len(view.edits)
    expected = ["Rules", *(["What got worse"] if view.regressed else [])]
    expected += [f"Rule {number}" for number in range(1, len(view.edits) + 1)]
    assert headings(page) == [*expected, "On trial", "How it was measured", "By hand"]


def filled(text: str) -> ProposalView:
    """A proposal of twenty edits with the text in every field."""
    names = {"id", "rule", "target", "text", "anchor", "reason", "why", "night", "run", "evidence", "need"}
    passed = (Passes(1, 2), Passes(0, 2))
    rows = tuple(
        TaskRow(task=text, family=text, ask=text, base=1.0, cand=cand, passes=passed) for cand in (0.0, 0.5, None) * 5
    )
    night = NightRow(run=text, base_passes=1, base_rollouts=2, cand_passes=2, cand_rollouts=2, e=1.0)
    edit = an_edit(**dict.fromkeys(names, text), rows=rows, nights=(night,) * 14, gate_numbers={text: text})
    strings = {item.name: text for item in fields(ProposalView) if item.type in {"str", "Metric"}}
    edits = (edit, replace(edit, op="replace"), replace(edit, op="delete", text=None, verdict="ungated"))
    return a_proposal(*edits * 7, **strings, on_trial=edits * 7)


@pytest.mark.no_cover  # much work, and no line that others do not reach
@pytest.mark.parametrize(
    "text",
    [
        *("word ", "</details>", "```", "𝕏", "\n\n"),
        *(pytest.param(text, marks=pytest.mark.e2e) for text in ("-->", "|", "'", "@a", "#1", "3f786850", "\u202e")),
    ],
)
def test_a_body_of_huge_fields_keeps_within_the_limit(text: str) -> None:
    """Characters and bytes stay below the limit; verdict, meaning, totals and regressions stay in."""
    body = pull_request(filled((text * 1100)[:1100]))
    assert len(body.encode()) <= BODY_LIMIT
    page = rendered(body)
    assert_tame(page)
    assert "21 rules: 14 strong, 7 ungated." in words(page)
    assert "210 held-out results got worse" in words(page)
    assert "Merging adopts" in words(page)
    assert len(table(page, "Rules")) == len(table(page, "What got worse")) == 10
    assert "11 more rules in the commits of this branch" in words(page)


# --- report ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("reason", get_args(Reason))
def test_every_night_explains_itself(reason: Reason) -> None:
    """Each reason has a sentence of its own, also when the night has no number."""
    first = words(rendered(report(a_run(reason=reason, night=None))).split("<h2>")[0])
    others = [words(rendered(report(a_run(reason=other, night=None)))) for other in get_args(Reason) if other != reason]
    said = first.split("held back.")[1].strip()
    assert len(said) > 40
    assert not any(said in other for other in others)


def test_a_report_of_an_empty_night_is_short_and_shows_no_figures() -> None:
    """Nothing was tried, so nothing is claimed to be measured."""
    page = rendered(report(a_run(skipped={"sub-agent": 4})))
    assert headings(page) == ["Night 4, 2026-01-02 03:00 UTC", "What was read", "The run"]
    assert "Skipped: 4 (sub-agent)" in words(page)
    assert "0.00" not in page


@pytest.mark.parametrize("verdict", get_args(Verdict))
def test_a_report_explains_each_verdict(verdict: Verdict) -> None:
    """A refused edit is shown with the verdict, its meaning and the gate's own words."""
    page = words(rendered(report(a_run(reason="gate", rejected=(an_edit(verdict=verdict, why="0.5 to 0.4"),)))))
    assert re.search(rf"Gate: {verdict}, [a-z ,-]{{20,}} \(0\.5 to 0\.4\); night 4", page)


def test_a_report_tells_the_whole_night() -> None:
    """What was read, asked for, proposed, refused, held back and noted, each under its heading."""
    view = a_run(
        reason="improved",
        verdict="strong",
        simulated=True,
        dry_run=True,
        ended="2026-01-02 03:04 UTC",
        split={"train": 5, "val": 7},
        needs=(
            NeedView(
                text="Use pnpm, not npm",
                sessions=3,
                tasks=4,
                machines=2,
                days=("2025-12-30", "2026-01-02"),
                state="proposed",
            ),
            NeedView(text="Be brief", sessions=1, tasks=0, state="waits for a second session", quotes=(SAID,)),
        ),
        hints=(replace(SAID, text="the changelog", day=None, ask=None),),
        edits=(an_edit(quotes=(replace(SAID, text="No, pnpm!"),)),),
        rejected=(an_edit(text="Never say why", verdict="harmful", rows=(WORSE,), baseline=1.0, candidate=0.25),),
        on_trial=(an_edit(text="Write tests first", verdict="suggestive"),),
        unmatched=(LeftOut(text="Use tabs", why="no such rule to replace"),),
        suppressed=(LeftOut(text="Use yarn", why="rejected on 2026-01-01"),),
        documents=(DocumentView(path="CLAUDE.md", verdict="strong", baseline=0.5, candidate=1.0),),
        baseline=0.5,
        candidate=1.0,
        branch="sleep/2026-01-02",
        commits=("ab" * 20, "cd" * 20),
        tokens=100,
        notes=("CLAUDE.md differs in the working tree",),
    )
    page = rendered(report(view))
    assert headings(page)[1:] == [
        "Proposed",
        "Rule 1",
        "Refused by the gate",
        "Rule 1",
        "On trial",
        "Rule 1",
        "Held back by memory",
        "Edits that fit nowhere",
        "What was read",
        "What was said",
        "Notes",
        "How it was measured",
    ]
    body = words(page)
    for said in (
        "2026-01-02, session …0a1b2c3d: “No, pnpm!”, about “Add lodash”",
        "Be brief (waits for a second session)",
        "2026-01-02, session …0a1b2c3d: “not so long”, about “Add lodash”",
        "Heard once, and counted as soon as the like is said again",
        "session …0a1b2c3d: “the changelog”",
        "Simulated: every figure here comes from a simulation, not from a model.",
        "Dry run: nothing was written.",
        "Strong: 1 rule proposed, 1 refused, 1 held back.",
        "skillopt-git adopt sleep/2026-01-02",
        "7 sessions, which with what was known before makes 12 tasks (5 train, 7 val)",
        "Use yarn: rejected on 2026-01-01",
        "Use tabs: no such rule to replace",
        "CLAUDE.md differs in the working tree",
        "tokens 100, price not measured",
        f"{'ab' * 20}, {'cd' * 20}",
    ):
        assert said in body
    assert table(page, "What was read") == [
        ["Use pnpm, not npm", "3 on 2 machines", "2025-12-30 to 2026-01-02", "4", "proposed"],
        ["Be brief", "1", "–", "0", "waits for a second session"],
    ]


def test_a_published_page_holds_no_word_that_somebody_typed() -> None:
    """Quotes are for the report, which stays on its machine."""
    edit = an_edit(quotes=(SAID,))
    assert SAID.text in words(rendered(report(a_run(reason="improved", edits=(edit,)))))

    page = pull_request(a_proposal(edit))

    assert SAID.text not in words(rendered(page))
    assert SAID.session not in page
    assert SAID.text not in commit_message(edit, trailers=TRAILERS)


def test_a_long_quote_is_cut() -> None:
    """At two hundred characters."""
    page = words(rendered(report(a_run(reason="gate", hints=(replace(SAID, text="a b" * 200),)))))

    assert "a b" * 20 in page
    assert "a b" * 70 not in page


@pytest.mark.no_cover  # much work, and no line that others do not reach
@settings(max_examples=25, deadline=None)
@given(proposals(texts), texts)
def test_no_field_of_a_run_breaks_its_report(view: ProposalView, text: str) -> None:
    """Whatever stands in any field, the report holds not one tag or link more than its own."""
    page = rendered(report(a_run_that_says(text, view)))
    assert_tame(page)
    assert len(table(page, "What was read")) == 1


# --- templates ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("value", ["text", 0.5, None, True, ["x"]])
@pytest.mark.parametrize(
    "source", ["{{ value }}", "{{ value | one_line(9) }}", "{{ value ~ '' }}", "{{ (value | md_text).upper() }}"]
)
def test_a_page_refuses_to_show_what_no_filter_made_safe(source: str, value: object) -> None:
    """Forgetting a filter, or changing what one made, is an error and not a hole."""
    with pytest.raises((TypeError, AttributeError)):
        _templates("markdown").from_string(source).render(value=value)


def test_a_page_refuses_a_name_that_is_not_there() -> None:
    """A misspelt name is an error, never a blank."""
    with pytest.raises(UndefinedError, match="valeu"):
        _templates("text").from_string("{{ valeu }}").render(value=md_text("x"))


def test_filters_for_messages_and_for_pages_do_not_mix() -> None:
    """What is harmless in a commit message is not so in Markdown, and cannot be used there."""
    with pytest.raises(TemplateAssertionError, match="plain"):
        _templates("markdown").from_string("{{ 'x' | plain }}")


def test_a_prompt_is_rendered_with_its_values_as_they_are() -> None:
    """A prompt is no page: nothing is escaped, but a missing value is an error."""
    values = {"ask": "<a> & *b*", "context": "", "rubric": "short", "reference": "", "answer": "@c"}
    assert "<a> & *b*" in SHIPPED("judge", **values)
    with pytest.raises(ConfigError, match="answer"):
        SHIPPED("judge", ask="a", context="", rubric="b", reference="")


def test_a_sample_is_given_as_it_is() -> None:
    """The demonstration's sessions are JSON, not a template."""
    assert json.loads(sample("demo/sessions.json"))


def test_a_settings_file_offers_each_default_unchanged() -> None:
    """All settings are commented out; with the comment sign gone they are the defaults, an address included."""
    items = [{"name": "author_email", "help": "Author's\naddress.", "default": '"alice@example.invalid"'}]
    text = settings_file([("propose", items)])
    assert tomllib.loads(text) == {"propose": {}}
    assert "# Author's address.\n" in text
    assert tomllib.loads(text.replace("# author_email", "author_email")) == {
        "propose": {"author_email": "alice@example.invalid"}
    }
