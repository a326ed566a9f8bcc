"""The check of what a destination holds."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_landmark.testing import DestinationWrong, check_rows

ROWS = [{"order": "o1", "amount": 10}, {"order": "o2", "amount": 20}]
VALUES = st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 2)), max_size=6)


def look(found: list[object], *expected: list[object]) -> None:
    """Check with a rule, a place and advice."""
    check_rows(rule="once", found=found, expected=expected, where="table orders", advice="replace it")


@given(rows=VALUES, seed=st.randoms())
def test_order_does_not_matter(rows: list[object], seed: object) -> None:
    """The same rows in another order are the same."""
    shuffled = list(rows)
    seed.shuffle(shuffled)  # type: ignore[attr-defined]
    look(shuffled, rows)


@given(rows=VALUES, extra=VALUES)
def test_one_row_more_is_seen(rows: list[object], extra: list[object]) -> None:
    """Rows more than expected are refused, and rows less, however they repeat others."""
    if not extra:
        look(rows, rows)
        return
    with pytest.raises(DestinationWrong):
        look(rows + extra, rows)
    with pytest.raises(DestinationWrong):
        look(rows, rows + extra)


def test_text_says_what_where_and_what_to_do() -> None:
    """The error tells rule, expected, found by kind of difference, place and advice."""
    found = [ROWS[0], ROWS[0], {"order": "o3", "amount": 30}]
    with pytest.raises(DestinationWrong) as caught:
        look(found, ROWS)
    first, expected, told, where, advice = str(caught.value).splitlines()
    assert (first, expected) == ("once", "expected: 2 rows")
    assert told.startswith("found: 3 rows: missing (('amount', 20), ('order', 'o2')); repeated ")
    assert "(2 times); unexpected (('amount', 30), ('order', 'o3'))" in told
    assert (where, advice) == ("where: table orders", "what to do: replace it")


def test_either_of_several_is_right() -> None:
    """Where two contents are right, both are accepted, and a mixture is not."""
    look([1, 2], [1, 2], [3])
    look([3], [1, 2], [3])
    with pytest.raises(DestinationWrong, match=r"expected: 2 rows or 1 rows\nfound: 2 rows: "):
        look([1, 3], [1, 2], [3])


def test_long_differences_are_cut() -> None:
    """An error about a large table stays readable."""
    with pytest.raises(DestinationWrong, match="and 995 more") as caught:
        look(list(range(1000)), [])
    assert len(str(caught.value)) < 500


def test_unhashable_values_are_compared() -> None:
    """Rows may hold lists and mappings."""
    look([{"a": [1, {"b": 2}]}], [{"a": [1, {"b": 2}]}])
