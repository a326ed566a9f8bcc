"""Judging a marker against an expectation."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from airflow_landmark.markers import (
    Expectation,
    Interval,
    InvalidExpectation,
    Manifest,
    Marker,
    Taken,
    UnreadableMarker,
    VerdictKind,
    judge,
    read_marker,
)

DAY = Interval.parse("2024-05-01T00:00:00Z/2024-05-02T00:00:00Z")
DAY_BEFORE = Interval.parse("2024-04-30T00:00:00Z/2024-05-01T00:00:00Z")
MARKER = Marker("orders", DAY, 2, Manifest.of(()), identity="1" * 64)
SAME, OTHER = "1" * 64, "2" * 64


@pytest.mark.parametrize(
    ("change", "least", "taken", "kind"),
    [
        ({}, 1, None, VerdictKind.ARRIVED),
        ({}, 2, None, VerdictKind.ARRIVED),
        ({}, 1, Taken(1, OTHER), VerdictKind.ARRIVED),
        ({"version": 10}, 9, None, VerdictKind.ARRIVED),
        ({"version": 10}, 1, Taken(9, OTHER), VerdictKind.ARRIVED),
        ({"dataset": "returns"}, 1, None, VerdictKind.OTHER_DATASET),
        ({"dataset": "Orders"}, 1, None, VerdictKind.OTHER_DATASET),
        ({"interval": DAY_BEFORE}, 1, None, VerdictKind.OTHER_INTERVAL),
        (
            {"interval": Interval(DAY.start, DAY_BEFORE.end.replace(hour=5))},
            1,
            None,
            VerdictKind.OTHER_INTERVAL,
        ),
        ({}, 3, None, VerdictKind.OLDER_VERSION),
        ({"version": 9}, 10, None, VerdictKind.OLDER_VERSION),
        ({}, 1, Taken(3, SAME), VerdictKind.OLDER_VERSION),
        ({}, 3, Taken(2, SAME), VerdictKind.OLDER_VERSION),
        ({"status": "withdrawn"}, 1, None, VerdictKind.WITHDRAWN),
        ({"status": "withdrawn"}, 1, Taken(1, SAME), VerdictKind.WITHDRAWN),
        ({"status": "withdrawn"}, 3, None, VerdictKind.OLDER_VERSION),
        ({}, 1, Taken(2, SAME), VerdictKind.ALREADY_TAKEN),
        ({}, 1, Taken(2, OTHER), VerdictKind.REUSED_VERSION),
        ({"status": "withdrawn"}, 1, Taken(2, OTHER), VerdictKind.REUSED_VERSION),
        ({"dataset": "returns"}, 1, Taken(2, OTHER), VerdictKind.OTHER_DATASET),
        ({"interval": DAY_BEFORE}, 1, Taken(2, OTHER), VerdictKind.OTHER_INTERVAL),
    ],
)
def test_table(change: dict[str, Any], least: int, taken: Taken | None, kind: VerdictKind) -> None:
    """Dataset and interval come first, then the version, then the ledger, then the status."""
    verdict = judge(replace(MARKER, **change), Expectation("orders", DAY, least), taken)
    assert verdict.kind is kind
    assert verdict.arrived is (kind is VerdictKind.ARRIVED)


def test_unreadable() -> None:
    """The reader's report is judged as unreadable and quoted."""
    with pytest.raises(UnreadableMarker) as caught:
        read_marker(b'{"interval": {"sta')
    verdict = judge(caught.value, Expectation("orders", DAY), Taken(1, SAME))
    assert verdict.kind is VerdictKind.UNREADABLE
    assert "18 bytes" in verdict.text


def test_texts_name_both_sides() -> None:
    """A verdict's sentence says what was expected and what is there."""
    text = judge(replace(MARKER, interval=DAY_BEFORE), Expectation("orders", DAY)).text
    assert text == f"other interval: expected interval {DAY}, found interval {DAY_BEFORE}"
    assert judge(MARKER, Expectation("orders", DAY)).text == "arrived: version 2"


def test_kinds_are_words() -> None:
    """A kind prints as the word used in events and reports."""
    assert str(VerdictKind.REUSED_VERSION) == f"{VerdictKind.REUSED_VERSION}" == "reused version"
    assert VerdictKind("older version") is VerdictKind.OLDER_VERSION


@pytest.mark.parametrize(
    "change",
    [
        {"dataset": ""},
        {"dataset": "a b"},
        {"dataset": "orders\n"},
        {"dataset": "x" * 201},
        {"dataset": None},
        {"interval": "2024-05-01"},
        {"min_version": 0},
        {"min_version": 2**53},
        {"min_version": 10**5000},
        {"min_version": True},
        {"min_version": 1.0},
        {"min_version": "1"},
    ],
)
def test_hopeless_expectations(change: dict[str, Any]) -> None:
    """What no valid marker could ever meet is refused at once."""
    with pytest.raises(InvalidExpectation) as caught:
        replace(Expectation("orders", DAY), **change)
    assert len(str(caught.value)) < 200
