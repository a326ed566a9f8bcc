"""Parsing events: strict, since anything may resume a task."""

from __future__ import annotations

import copy
import json
import math
from datetime import datetime, timezone
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_landmark.deliveries import Looks, Outcome, Stamp
from airflow_landmark.markers import Interval
from airflow_landmark.stores import Pin
from airflow_landmark.triggers import InvalidEvent, build_event, parse_event

NOON = datetime(2024, 5, 1, 12, tzinfo=timezone.utc)
LOOKS = Looks(NOON, NOON, 2, {"absent": 1, "arrived": 1}, "arrived: version 2")
STAMP = Stamp(
    uri="/in/_delivery.json",
    sha256="ab" * 32,
    size=300,
    pin=Pin(inode="1:2"),
    dataset="orders",
    interval=Interval.parse("2024-05-01T00:00:00Z/2024-05-02T00:00:00Z"),
    version=2,
    files=1,
    size_bytes=5,
    rows=None,
)
ARRIVED = build_event(Outcome("arrived", LOOKS, STAMP, "arrived", LOOKS.last))
LATE = build_event(Outcome("deadline", LOOKS, None, "absent", "nothing there"))

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=12), inner, max_size=4),
    max_leaves=12,
)


def paths(value: Any, path: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    """The way to every member of an object."""
    if not isinstance(value, dict):
        return []
    return [p for key in value for p in ((*path, key), *paths(value[key], (*path, key)))]


def changed(event: dict[str, Any], path: tuple[str, ...], value: Any) -> dict[str, Any]:
    """The event with another value at one place; without the place for ``...``."""
    event = copy.deepcopy(event)
    inner = event
    for key in path[:-1]:
        inner = inner[key]
    if value is ...:
        del inner[path[-1]]
    else:
        inner[path[-1]] = value
    return event


@given(json_values)
def test_any_json_is_refused_in_one_way(value: Any) -> None:
    """Whatever JSON value resumes a task, it is refused as not being an event, and nothing else happens."""
    with pytest.raises(InvalidEvent):
        parse_event(value)


@given(st.sampled_from([(e, p) for e in (ARRIVED, LATE) for p in paths(e)]), json_values)
def test_any_damage_is_refused_in_one_way(place: tuple[Any, Any], value: Any) -> None:
    """An event with any value at any place is parsed or refused: no other error is raised."""
    event, path = place
    try:
        parsed = parse_event(changed(event, path, value))
    except InvalidEvent:
        return
    assert isinstance(parsed.text, str)
    assert isinstance(parsed.word, str)
    assert isinstance(parsed.looks.last, str)


@pytest.mark.parametrize(
    "payload",
    [
        None,
        False,
        True,
        0,
        1,
        "",
        "text",
        [],
        {},
        {"status": "error"},
        {"status": "success", "message": "done"},
        {"landmark": 1},
        {"landmark": True, "outcome": "arrived"},
        {"landmark": 1, "outcome": "arrived"},
        {"landmark": 1, "outcome": "arrived", "looks": None},
        {"landmark": 2, **{k: v for k, v in ARRIVED.items() if k != "landmark"}},
        object(),
        {1, 2},
        b"bytes",
        datetime(2024, 5, 1, tzinfo=timezone.utc),
    ],
)
def test_foreign_payloads_are_refused(payload: Any) -> None:
    """What other triggers send, or nothing at all, is no event of ours."""
    with pytest.raises(InvalidEvent):
        parse_event(payload)


@pytest.mark.parametrize(
    "path", [path for path in paths(ARRIVED) if path[-1] not in ("inode", "absent", "arrived")]
)
def test_missing_fields_of_an_arrival_are_refused(path: tuple[str, ...]) -> None:
    """An arrival that lacks any field is refused."""
    with pytest.raises(InvalidEvent):
        parse_event(changed(ARRIVED, path, ...))


@pytest.mark.parametrize("path", [path for path in paths(LATE) if path[-1] not in ("absent", "arrived")])
def test_missing_fields_of_a_missed_deadline_are_refused(path: tuple[str, ...]) -> None:
    """An event of a missed deadline that lacks any field is refused."""
    with pytest.raises(InvalidEvent):
        parse_event(changed(LATE, path, ...))


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("outcome",), "skipped"),
        (("outcome",), ["arrived"]),
        (("version",), 0),
        (("version",), -1),
        (("version",), 2**53),
        (("version",), 2.0),
        (("version",), "2"),
        (("version",), True),
        (("dataset",), ""),
        (("dataset",), "orders\n"),
        (("dataset",), "a b"),
        (("marker", "sha256"), "AB" * 32),
        (("marker", "sha256"), "ab" * 31),
        (("marker", "sha256"), "ab" * 32 + "\n"),
        (("marker", "uri"), {"__type": "set"}),
        (("marker", "uri"), 7),
        (("marker", "inode"), ["1:2"]),
        (("marker", "size"), -1),
        (("interval", "start"), "2024-05-01"),
        (("interval", "start"), "2024-05-01T00:00:00"),
        (("interval", "end"), "2024-05-01T00:00:00Z"),
        (("interval",), "2024-05-01T00:00:00Z/2024-05-02T00:00:00Z"),
        (("manifest", "files"), None),
        (("manifest", "bytes"), -1),
        (("manifest", "rows"), math.nan),
        (("looks", "count"), None),
        (("looks", "first_at"), 0.0),
        (("looks", "seen"), ["absent"]),
        (("looks", "seen"), {"absent": "1"}),
        (("looks", "last"), None),
        (("looks", "last"), "x" * 9000),
    ],
)
def test_wrong_values_are_refused(path: tuple[str, ...], value: Any) -> None:
    """Each field has one kind of value; none is converted."""
    with pytest.raises(InvalidEvent):
        parse_event(changed(ARRIVED, path, value))


@pytest.mark.parametrize("path", [("error", "kind"), ("error", "text"), ("error",)])
def test_error_must_be_two_texts(path: tuple[str, ...]) -> None:
    """The reason of a missed deadline is a word and a sentence."""
    for value in (None, 7, ["trouble"], {"text": {}}):
        with pytest.raises(InvalidEvent):
            parse_event(changed(LATE, path, value))


def test_deeply_nested_payload_is_refused() -> None:
    """A payload nested without end is refused, not followed."""
    deep: Any = {}
    for _ in range(100_000):
        deep = {"a": deep}
    with pytest.raises(InvalidEvent):
        parse_event({**ARRIVED, "extra": deep})
    while deep:  # taken apart by hand: Python would use its C stack
        deep = deep.pop("a")


def test_fields_of_a_newer_release_are_passed_over() -> None:
    """A triggerer may be newer than the worker: fields that are not known do no harm."""
    event = {**ARRIVED, "partner": {"name": "tills"}, "marker": {**ARRIVED["marker"], "generation": "7"}}
    assert parse_event(event).stamp == STAMP


def test_event_of_thousands_of_files_is_small() -> None:
    """Only counts travel of a manifest, so its size does not matter."""
    stamp = Stamp(
        **{n: getattr(STAMP, n) for n in STAMP.__slots__} | {"files": 100_000, "size_bytes": 10**15}
    )
    assert len(json.dumps(build_event(Outcome("arrived", LOOKS, stamp)))) < 1500
