"""Pictures inside pages: places, axes, escaped labels."""

import itertools
import re
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jrr.reporting.svg_bars import Bar, axis_ticks, draw_bars


def drawn(*rows: Bar, **options: object) -> ElementTree.Element:
    text = draw_bars(rows, title="T", description="D", **options)  # type: ignore[arg-type]
    return ElementTree.fromstring(text)


def of_class(picture: ElementTree.Element, kind: str) -> list[ElementTree.Element]:
    return [part for part in picture if part.get("class") == kind]


def percent(part: ElementTree.Element, name: str) -> float:
    return float(str(part.get(name)).removesuffix("%"))


@given(st.floats(-1e6, 1e6), st.floats(1e-6, 1e6))
def test_an_axis_covers_its_numbers_in_a_few_even_steps(low: float, width: float) -> None:
    high = low + width
    ticks = axis_ticks(low, high)
    slack = 1e-8 * (abs(low) + width)
    assert ticks[0] <= low + slack
    assert ticks[-1] >= high - slack
    assert 2 <= len(ticks) <= 8
    steps = [b - a for a, b in itertools.pairwise(ticks)]
    assert max(steps) == pytest.approx(min(steps), rel=1e-3, abs=slack)


@pytest.mark.parametrize(
    ("low", "high", "ticks"),
    [
        (0.0, 0.37, [0.0, 0.1, 0.2, 0.3, 0.4]),
        (0.0, 1.0, [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]),
        (-0.05, 0.3, [-0.1, 0.0, 0.1, 0.2, 0.3]),
        (0.0, 0.0, [-0.5, 0.0, 0.5]),
        (15.0, 80.0, [0.0, 20.0, 40.0, 60.0, 80.0]),
    ],
)
def test_axes_with_known_steps(low: float, high: float, ticks: list[float]) -> None:
    assert axis_ticks(low, high)[: len(ticks)] == pytest.approx(ticks)


def test_bars_reach_from_nothing_to_their_value_on_the_scale_of_the_axis() -> None:
    picture = drawn(
        Bar(label="a", value=0.5, low=0.25, high=0.75), Bar(label="b", value=1.0, low=0.9, high=1.0)
    )
    first, second = of_class(picture, "bar")
    assert (percent(first, "x"), percent(first, "width")) == (0, 50)
    assert (percent(second, "x"), percent(second, "width")) == (0, 100)
    line = of_class(picture, "error")[0]
    assert (percent(line, "x1"), percent(line, "x2")) == (25, 75)


def test_a_bar_below_nothing_ends_at_the_line_of_nothing() -> None:
    picture = drawn(Bar(label="a", value=-0.1, low=-0.2, high=0.2))
    (bar,) = of_class(picture, "bar")
    (zero,) = of_class(picture, "zero")
    assert percent(bar, "x") + percent(bar, "width") == pytest.approx(percent(zero, "x1"))
    assert percent(bar, "width") > 0


def test_means_are_marks_between_the_ends() -> None:
    picture = drawn(Bar(label="m", value=5.0, low=4.0, high=6.0), ends=(0.0, 20.0))
    (mark,) = of_class(picture, "mark")
    assert percent(mark, "cx") == 25
    assert not of_class(picture, "bar")


def test_everything_is_inside_the_picture() -> None:
    rows = [Bar(label=str(at), value=at - 3.0, low=at - 4.5, high=at + 0.5) for at in range(9)]
    picture = drawn(*rows)
    height = float(str(picture.get("height")))
    for part in picture:
        for name, value in part.attrib.items():
            if name in ("x", "x1", "x2", "cx") and value.endswith("%"):
                assert 0 <= float(value[:-1]) <= 100
            if name in ("y", "y1", "y2", "cy"):
                assert 0 <= float(value) <= height


def test_labels_are_escaped_and_long_ones_are_cut() -> None:
    bad = '<script>alert("1")</script> & more'
    picture = drawn(Bar(label=bad, value=0.1, low=0.0, high=0.2))
    assert of_class(picture, "label")[0].text == bad
    text = draw_bars([Bar(label="x" * 99, value=0, low=0, high=1)], title=bad, description=bad)
    assert "<script" not in text
    assert ElementTree.fromstring(text).get("aria-label") == bad
    assert re.search(r"<title>x{99}</title>x{45}…", text)
