"""Problems and how foreign values are shown."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from airflow_landmark.markers import Problem, UnreadableMarker, UnsafePath, show


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "null"),
        (True, "true"),
        (False, "false"),
        (7, "7"),
        (7.0, "7.0"),
        ("a\nb", "'a\\nb'"),
        ("é\ud800", "'\\xe9\\ud800'"),
        ({"secret": 1}, "an object with 1 members"),
        (["secret"], "a list of 1"),
        pytest.param(10**5000, "a whole number of 16610 bits", id="huge"),
    ],
)
def test_show(value: Any, text: str) -> None:
    """Values are shown as JSON people know them; objects and lists only by their size."""
    assert show(value) == text


@given(st.one_of(st.text(st.characters(exclude_categories=())), st.integers(), st.floats(), st.binary()))
@settings(max_examples=300, deadline=None)
def test_show_is_fit_for_logs(value: Any) -> None:
    """Whatever the value, what is shown is printable ASCII and bounded."""
    for limit in (20, 80):
        text = show(value, limit=limit)
        assert text.isascii()
        assert text.isprintable()
        assert len(text) <= limit


def test_long_values_are_cut() -> None:
    """A long value ends in dots."""
    assert show("x" * 10_000_000, limit=10) == "'xxxxxx..."
    assert show(10**100, limit=10) == "1000000..."


def test_problem() -> None:
    """A problem is a sentence for people and plain JSON for machines."""
    problem = Problem("wrong type", "files[3].size", "a whole number", "'7'")
    assert problem.text == "files[3].size: expected a whole number, found '7'"
    assert problem.to_json() == {
        "kind": "wrong type",
        "place": "files[3].size",
        "expected": "a whole number",
        "found": "'7'",
    }


def test_error_texts() -> None:
    """An error's text names the first problem and counts the others."""
    problem = Problem("empty", "document", "a marker", "nothing")
    one = UnreadableMarker([problem], total=1, identity="", size=0)
    three = UnreadableMarker([problem, problem], total=3, identity="", size=0)
    assert str(one) == "not a valid marker (0 bytes): document: expected a marker, found nothing"
    assert str(three) == f"{one} (and 2 more)"
    assert str(UnsafePath("a\nb", "it is odd")) == "path 'a\\nb' refused: it is odd"
