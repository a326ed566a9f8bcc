"""The drawing of the profile."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_landmark.capacity import Series
from airflow_landmark.capacity._svg import COLORS, MOST_DAGS, Level, chart, daily_peaks, largest_dags

DAY = 86_400.0
VALUES = st.lists(st.floats(0, 1e7, allow_nan=False), min_size=1, max_size=60)


def _drawn(series: Series, *levels: Level) -> ET.Element:
    return ET.fromstring(chart(series, levels, ident="c", title="<&>", text="\"'"))  # noqa: S314 - our own


@given(VALUES, st.integers(0, 12), st.floats(1, 1e6), st.floats(0, 1e8))
def test_always_well_formed_and_inside(values: list[float], dags: int, step: float, level: float) -> None:
    """Whatever is drawn, it is XML, and no place lies outside the drawing."""
    parts = {f"d{number}": tuple(value / max(1, dags) for value in values) for number in range(dags)}
    root = _drawn(Series(start=0.0, step=step, total=tuple(values), dags=parts), Level(level, "l", "whole"))
    for path in root.iter("path"):
        places = [tuple(map(float, pair)) for pair in re.findall(r"([\d.-]+) ([\d.-]+)", path.attrib["d"])]
        assert all(0 <= x <= 960 and -1 <= y <= 360 for x, y in places)
    for line in root.iter("line"):
        assert 0 <= float(line.attrib["y1"]) <= 360


def test_areas_add_up() -> None:
    """The highest edge of the last area is the total; what no shown Dag has is an area of its own."""
    series = Series(start=0.0, step=60.0, total=(10.0, 4.0), dags={"a": (6.0, 1.0), "b": (1.0, 2.0)})
    root = _drawn(series)
    classes = [path.attrib["class"] for path in root.iter("path")]
    assert classes == ["area a0", "area a1", f"area a{COLORS - 1}"]
    tops = [
        min(float(y) for _, y in re.findall(r"([\d.]+) ([\d.]+)", path.attrib["d"]))
        for path in root.iter("path")
    ]
    assert tops == sorted(tops, reverse=True)


def test_the_largest_dags_have_areas() -> None:
    """By their own peaks; the rest share one."""
    parts = {f"d{number}": (float(number),) for number in range(MOST_DAGS + 5)}
    found = largest_dags(Series(start=0.0, step=1.0, total=(99.0,), dags=parts))
    assert found == [f"d{number}" for number in range(MOST_DAGS + 4, 4, -1)]


def test_far_lines_are_said_and_not_drawn() -> None:
    """A capacity far above all waits would flatten them."""
    series = Series(start=0.0, step=60.0, total=(10.0,))
    levels = [Level(20.0, "near", "whole"), Level(9_000.0, "far", "left")]
    root = _drawn(series, *levels)
    lines = [line.attrib["class"] for line in root.iter("line") if "level" in line.attrib["class"]]
    assert lines == ["level whole"]
    assert any("far (above this drawing)" in (text.text or "") for text in root.iter("text"))


@pytest.mark.parametrize(("days", "most"), [(1, 10), (7, 10), (35, 10), (366, 10)])
def test_a_few_marks_of_time(days: int, most: int) -> None:
    """However long the time."""
    root = _drawn(Series(start=0.0, step=DAY / 4, total=(1.0,) * 4 * days))
    marks = [line for line in root.iter("line") if line.attrib["class"] == "day"]
    assert 2 <= len(marks) <= most


def test_daily_peaks() -> None:
    """The highest of each day, UTC."""
    series = Series(start=DAY / 2, step=DAY / 2, total=(1.0, 5.0, 2.0, 3.0))
    assert daily_peaks(series) == {"1970-01-01": 1.0, "1970-01-02": 5.0, "1970-01-03": 3.0}
