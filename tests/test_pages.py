"""The report as a page for the browser: one file, well-formed, with the words of the report and nothing that acts."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given, settings

from skillopt_git.charts import Chart, Point
from skillopt_git.pages import _html, report_page
from skillopt_git.views import ProposalView
from tests.test_render import MEASURED, TWO_NIGHTS, a_run, a_run_that_says, an_edit, proposals, texts

XHTML, SVG = "{http://www.w3.org/1999/xhtml}", "{http://www.w3.org/2000/svg}"
PAST = Chart(
    kind="scores",
    points=tuple(
        Point(label=f"01-0{day}", base=0.5, cand=0.75, base_told="0.50", cand_told="0.75") for day in range(1, 4)
    ),
)
TAGS = {"html", "head", "meta", "title", "style", "body", "main", "h1", "h2", "h3", "p", "strong", "code", "blockquote"}
TAGS |= {"ul", "li", "table", "thead", "tbody", "tr", "th", "td", "figure", "em"}
DRAWN = {"svg", "title", "desc", "text", "line", "circle"}
ATTRIBUTES = {"lang", "charset", "name", "content", "http-equiv", "style"}


def parsed(page: str) -> ET.Element:
    """By a parser that forgives nothing. The page is well-formed XML, but for its first line, which is HTML's own."""
    return ET.fromstring(page.removeprefix("<!DOCTYPE html>\n"))


def words(root: ET.Element) -> str:
    main = root.find(f"{XHTML}body/{XHTML}main")
    assert main is not None
    return " ".join("".join(main.itertext()).split())


def assert_tame(page: str) -> None:
    """Only our own elements and attributes, as XML and as a browser reads it; nothing is loaded, run or led to."""
    root = parsed(page)
    for item in root.iter():
        known = TAGS if item.tag.startswith(XHTML) else DRAWN
        assert item.tag.partition("}")[2] in known
        if item.tag.startswith(XHTML):
            assert item.attrib.keys() <= ATTRIBUTES
            assert item.attrib.get("style", "text-align:right") in {"text-align:right", "text-align:left"}
    reader = _Seen()
    reader.feed(page)
    assert sorted(reader.tags) == sorted(item.tag.partition("}")[2] for item in root.iter())
    assert not re.search(r"url\(|@import", page.partition("</style>")[0])
    assert not re.search(r"[\u200b\u202a-\u202e\u2066-\u2069\x00-\x08\x1b]", page)


class _Seen(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.tags.append(tag)

    def handle_startendtag(self, tag: str, attrs: object) -> None:
        self.tags.append(tag)


def test_a_page_says_what_the_report_says_and_draws_it() -> None:
    """The nights so far come before the edits; each edit has its charts below its tables, nothing folded away."""
    refused = an_edit(text="Never say <b>why</b>", verdict="harmful", rows=MEASURED[:2] * 6)
    view = a_run(
        reason="improved",
        verdict="strong",
        night=4,
        simulated=True,
        edits=(an_edit(rows=MEASURED, nights=TWO_NIGHTS),),
        rejected=(refused,),
    )

    root = parsed(report_page(view, PAST, str))

    assert root.findtext(f"{XHTML}head/{XHTML}title") == "Night 4 of 2026-01-02 03:00 UTC (simulated), skillopt-git"
    told = words(root)
    order = [
        "Simulated: every figure here comes from a simulation",
        "Night by night",
        "Held-out score by night",
        "Proposed",
        "Use pnpm, not npm.",
        "t1-aaaaaaaaaaaaaaaa",
        "t1-aaaaaa: 0 of 5 without the rule, 5 of 5 with it",
        "01-01: 1 of 4 without the rule, 3 of 4 with it; 01-02: 3 of 5 without the rule, 5 of 5 with it",
        "Refused by the gate",
        "Never say <b>why</b>",
        "What was read",
    ]
    places = [told.index(said) for said in order]
    assert places == sorted(places)
    assert len(root.findall(f".//{SVG}svg")) == 4
    names = [item.attrib["id"] for item in root.iter() if "id" in item.attrib]
    assert len(names) == len(set(names)) == 8


def test_a_night_without_figures_is_a_page_without_pictures() -> None:
    """Nothing is drawn of nothing."""
    page = report_page(a_run(night=None), None, str)

    assert_tame(page)
    assert "<figure" not in page
    assert "Nothing to read" in words(parsed(page))


def test_a_page_needs_nothing_but_itself_and_forbids_the_rest() -> None:
    """A browser is told so too."""
    root = parsed(report_page(a_run(edits=(an_edit(rows=MEASURED),)), PAST, str))

    metas = {item.get("http-equiv") or item.get("name"): item.get("content") for item in root.iter(f"{XHTML}meta")}
    assert metas["Content-Security-Policy"] == "default-src 'none'; style-src 'unsafe-inline'"
    assert metas["viewport"] == "width=device-width, initial-scale=1"
    style = root.findtext(f"{XHTML}head/{XHTML}style") or ""
    assert "@media (prefers-color-scheme: dark)" in style
    assert "@media print" in style


def test_what_slips_through_as_markdown_is_still_not_active() -> None:
    """Raw HTML, links, images and addresses stay text even where nothing escaped them; a strange fence stays one."""
    source = (
        "a <b onclick=x>b</b> [c](javascript:d) ![e](https://f.example/g) <https://h.example> [i]\n\n"
        "[i]: https://j.example\n\n<script>k()</script>\n\n```html\n<img src=l>\n```\n\n```figure\n7\n```\n"
    )

    made = _html(source, {"0": "<svg/>"})

    assert set(re.findall(r"<(\w+)", made)) == {"p", "pre", "code"}
    assert not re.search(r"<[^>]*(?:href|src|onclick)", made)


def test_a_redaction_that_meets_a_number_costs_the_figure_only() -> None:
    """The night is recorded by then; its page may lack a picture, and must not fail."""
    view = a_run(edits=(an_edit(rows=MEASURED),))

    page = report_page(view, None, lambda text: text.replace("0\n```", "[gone]\n```"))

    assert "<svg" not in page
    assert "[gone]" in page


def test_a_page_can_be_read_in_light_in_dark_and_on_paper() -> None:
    """Each scheme has every colour; text stands out from its ground by 4.5 to 1, the marks of charts by 3 to 1."""
    style = parsed(report_page(a_run(), None, str)).findtext(f"{XHTML}head/{XHTML}style") or ""
    schemes = [dict(re.findall(r"--(\w+): #([0-9a-f]{6});", found)) for found in re.findall(r":root \{(.*)\}", style)]

    assert len(schemes) == 3
    for scheme in schemes:
        assert scheme.keys() == set(re.findall(r"var\(--(\w+)\)", style))
        assert contrast(scheme["text"], scheme["page"]) >= 4.5
        assert contrast(scheme["text"], scheme["shade"]) >= 4.5
        assert contrast(scheme["base"], scheme["page"]) >= 3
        assert contrast(scheme["cand"], scheme["page"]) >= 3


def contrast(one: str, other: str) -> float:
    """As the Web Content Accessibility Guidelines have it."""
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def luminance(colour: str) -> float:
    parts = [int(colour[place : place + 2], 16) / 255 for place in (0, 2, 4)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def test_a_page_is_redacted_like_the_report() -> None:
    """Before it is turned into HTML, where a secret would look different."""
    view = a_run(reason="gate", notes=("the key is <hunter2>",))

    page = report_page(view, None, lambda text: text.replace("hunter2", "[gone]"))

    assert "hunter2" not in page
    assert "the key is <[gone]>" in words(parsed(page))


@pytest.mark.no_cover  # much work, and no line that others do not reach
@settings(max_examples=40, deadline=None)
@given(proposals(texts), texts)
def test_no_field_of_a_run_breaks_its_page(view: ProposalView, text: str) -> None:
    """Whatever stands in any field, the page is well-formed and holds not one element more than its own."""
    assert_tame(report_page(a_run_that_says(text, view), None, str))
