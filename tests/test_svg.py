"""Charts as SVG: well-formed whatever stands in them, every figure in words, and each mark where it belongs."""

from __future__ import annotations

from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillopt_git.charts import Chart, Point
from skillopt_git.svg import FIRST, FROM, HIGH, LAST, LOW, TO, svg

NS = "{http://www.w3.org/2000/svg}"
KINDS = ("tasks", "nights", "scores")


def point(base: float | None, cand: float | None, label: str = "a") -> Point:
    told = ("not measured" if side is None else f"{side * 4:.0f} of 4" for side in (base, cand))
    return Point(label=label, base=base, cand=cand, base_told=next(told), cand_told=next(told))


def drawn(kind: str, *points: Point) -> ET.Element:
    return ET.fromstring(svg(Chart(kind=kind, points=points), "chart-1"))  # type: ignore[arg-type]


def marks(picture: ET.Element, side: str) -> list[tuple[float, float]]:
    """Where its rings or dots are, but for the legend's."""
    found = picture.findall(f"{NS}circle[@class='{side}']")
    return [(float(item.attrib["cx"]), float(item.attrib["cy"])) for item in found][1:]


def texts(picture: ET.Element) -> list[str]:
    return [item.text or "" for item in picture.findall(f"{NS}text")]


def test_a_chart_of_tasks_has_a_ring_a_dot_and_the_figures_of_each() -> None:
    """From none to all along the axis; better, worse and the same have signs of their own."""
    picture = drawn("tasks", point(1.0, 0.0, "one"), point(0.5, 0.5, "two"), point(0.0, 1.0, "three"))

    assert [x for x, _ in marks(picture, "base")] == [TO, (FROM + TO) / 2, FROM]
    assert [x for x, _ in marks(picture, "cand")] == [FROM, (FROM + TO) / 2, TO]
    assert [y for _, y in marks(picture, "base")] == [41.0, 63.0, 85.0]
    assert texts(picture) == [
        *("without the rule", "with it", "0 %", "50 %", "100 %"),
        *("one", "4/4 → 0/4 ▼", "two", "2/4 → 2/4 =", "three", "0/4 → 4/4 ▲"),
    ]
    assert len(picture.findall(f"{NS}line[@class='step']")) == 3


def test_a_task_that_was_not_measured_on_one_side_says_so() -> None:
    """It has the mark that is known, no step and no 0."""
    picture = drawn("tasks", point(None, 1.0))

    assert (marks(picture, "base"), len(marks(picture, "cand"))) == ([], 1)
    assert picture.findall(f"{NS}line[@class='step']") == []
    assert texts(picture)[-1] == "not measured"


def test_nights_run_from_left_to_right_and_a_gap_stays_one() -> None:
    """No line leads over a night without a figure."""
    picture = drawn("nights", point(0.0, 1.0), point(None, 1.0), point(0.0, 0.5), point(1.0, 0.5))

    width = LAST - FIRST
    assert marks(picture, "base") == [
        (FIRST, LOW),
        (round(FIRST + width * 2 / 3, 1), LOW),
        (LAST, HIGH),
    ]
    assert [y for _, y in marks(picture, "cand")] == [HIGH, HIGH, (HIGH + LOW) / 2, (HIGH + LOW) / 2]
    assert len(picture.findall(f"{NS}line[@class='base']")) == 1
    assert len(picture.findall(f"{NS}line[@class='cand']")) == 3


def test_many_nights_have_few_labels() -> None:
    """At most eight, which do not run into each other."""
    picture = drawn("scores", *(point(0.5, 0.5, f"label-{number}") for number in range(30)))

    named = [text for text in texts(picture) if text.startswith("label-")]
    assert named == [f"label-{number}" for number in range(0, 30, 4)]
    assert len(marks(picture, "base")) == 30


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ("tasks", "a: 1 of 4 without the rule, not measured with it"),
        ("nights", "a: 1 of 4 without the rule, not measured with it"),
        ("scores", "a: 1 of 4 as it was, not measured with what was accepted"),
    ],
)
def test_who_sees_no_picture_is_told_every_figure(kind: str, said: str) -> None:
    """Title and description are named by the picture itself."""
    picture = drawn(kind, point(0.25, None))

    assert picture.attrib["role"] == "img"
    named = {item.attrib["id"]: item.text for item in picture if "id" in item.attrib}
    assert picture.attrib["aria-labelledby"].split() == list(named) == ["chart-1-title", "chart-1-desc"]
    assert named["chart-1-desc"] == said
    assert named["chart-1-title"]


shares = st.none() | st.floats(0, 1)
words = st.text(st.characters(exclude_categories=("Cc", "Cs", "Cn"))) | st.sampled_from(
    ("</text><script>", "]]>", "&amp;", '" onload="x', "<!--", "--", "'")
)


@given(
    st.sampled_from(KINDS),
    st.lists(st.builds(Point, label=words, base=shares, cand=shares, base_told=words, cand_told=words), max_size=40),
)
def test_no_text_and_no_number_breaks_out_of_a_picture(kind: str, points: list[Point]) -> None:
    """An XML parser reads just our elements and attributes, all within the frame, and the labels as they are."""
    picture = drawn(kind, *points)

    assert {item.tag.removeprefix(NS) for item in picture.iter()} <= {"svg", "title", "desc", "text", "line", "circle"}
    allowed = {"class", "cx", "cy", "r", "x1", "y1", "x2", "y2", "x", "y", "text-anchor", "id"}
    assert {name for item in picture for name in item.attrib} <= allowed
    _, _, width, height = map(float, picture.attrib["viewBox"].split())
    for item in picture.iter(f"{NS}circle"):
        assert 0 <= float(item.attrib["cx"]) <= width
        assert 0 <= float(item.attrib["cy"]) <= height
    if kind == "tasks":
        assert [one.label for one in points] == texts(picture)[5::2]
