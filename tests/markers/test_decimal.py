"""Decimal numbers."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_landmark.markers import exact_decimal


@pytest.mark.parametrize(
    ("text", "mark", "number"),
    [
        ("0", ".", "0"),
        ("-1.50", ".", "-1.50"),
        ("+.5", ".", "0.5"),
        ("5.", ".", "5"),
        ("0001234.5", ".", "1234.5"),
        ("1234,50", ",", "1234.50"),
        ("1,234", ",", "1.234"),
        ("9" * 64, ".", "9" * 64),
    ],
)
def test_numbers(text: str, mark: str, number: str) -> None:
    """Digits with at most one mark, and a sign before them, are a number."""
    assert exact_decimal(text, mark=mark) == Decimal(number)


@pytest.mark.parametrize(
    ("text", "mark"),
    [
        ("1,234.50", "."),
        ("1.234,50", ","),
        ("1,234", "."),
        ("1.5", ","),
        ("12-", "."),
        ("1e5", "."),
        ("NaN", "."),
        ("1_000", "."),
        (" 1", "."),
        ("1\n", "."),
        ("\u0661", "."),
        (".", "."),
        ("", "."),
        ("-", "."),
        ("9" * 65, "."),
    ],
)
def test_no_numbers(text: str, mark: str) -> None:
    """What could be read in two ways, or only by some readers, is no number."""
    assert exact_decimal(text, mark=mark) is None


@given(st.decimals(allow_nan=False, allow_infinity=False, places=4, min_value=-(10**20), max_value=10**20))
def test_exact(number: Decimal) -> None:
    """A number is kept to its last digit, with either mark."""
    text = format(number, "f")
    assert exact_decimal(text) == number
    assert exact_decimal(text.replace(".", ","), mark=",") == number
