"""Building events: whatever was seen, the payload harms neither triggerer nor database."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime, timedelta, timezone
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from airflow_landmark.deliveries import Looks, Outcome, Stamp
from airflow_landmark.markers import MAX_VERSION, Interval
from airflow_landmark.stores import Pin
from airflow_landmark.triggers import MAX_EVENT_BYTES, InvalidEvent, build_event, parse_event

NOON = datetime(2024, 5, 1, 12, tzinfo=timezone.utc)
DAY = Interval.parse("2024-05-01T00:00:00Z/2024-05-02T00:00:00Z")
SHA = "0123456789abcdef" * 4

HARMFUL = [
    "\x00",
    "\ud800",
    "\udfff" * 900,
    "\\" * 2000,
    '"' * 2000,
    "\u202e",
    "\U0001f600" * 900,
    "\r\n\x1b[2J",
]
KEYS = ["__type", "__var", "__classname__", "__id__", "__data__", "__version__"]
texts = st.text(st.characters(exclude_categories=()), max_size=40) | st.sampled_from(HARMFUL + KEYS)
numbers = st.integers() | st.sampled_from([2**63, 2**64, -(2**63) - 1, MAX_VERSION, 10**4200])
instants = st.none() | st.datetimes(timezones=st.just(timezone.utc))
intervals = st.tuples(
    st.datetimes(timezones=st.just(timezone.utc)).filter(lambda start: start.year < 9000),
    st.timedeltas(min_value=timedelta(microseconds=1), max_value=timedelta(days=3650)),
).map(lambda pair: Interval(pair[0], pair[0] + pair[1]))
any_looks = st.builds(
    Looks,
    first_at=instants,
    last_at=instants,
    count=numbers,
    seen=st.dictionaries(texts, numbers, max_size=40),
    last=texts,
)
any_pins = st.builds(Pin, etag=st.none() | texts, version_id=st.none() | texts, inode=st.none() | texts)
any_stamps = st.builds(
    Stamp,
    uri=texts,
    sha256=texts,
    size=numbers,
    pin=any_pins,
    dataset=texts,
    interval=intervals,
    version=numbers,
    files=numbers,
    size_bytes=st.none() | numbers | st.just(math.nan),
    rows=st.none() | numbers | st.just(math.inf),
)
any_outcomes = st.builds(
    Outcome,
    kind=st.sampled_from(["arrived", "deadline", "failed"]),
    looks=any_looks,
    stamp=st.none() | any_stamps,
    word=texts,
    text=texts,
)

counts = st.integers(0, MAX_VERSION)
plain = st.text(st.characters(min_codepoint=32, max_codepoint=126), max_size=100)
words = st.text("abcdefghijklmnopqrstuvwxyz ", min_size=1, max_size=20)
good_looks = st.builds(
    Looks,
    first_at=instants,
    last_at=instants,
    count=counts,
    seen=st.dictionaries(words, counts, max_size=8),
    last=plain,
)
good_stamps = st.builds(
    Stamp,
    uri=plain,
    sha256=st.just(SHA),
    size=counts,
    pin=st.builds(Pin, etag=st.none() | plain, inode=st.none() | plain, modified=st.none() | plain),
    dataset=st.from_regex(r"\A[A-Za-z0-9._/-]{1,200}\Z"),
    interval=intervals,
    version=st.integers(1, MAX_VERSION),
    files=counts,
    size_bytes=st.none() | counts,
    rows=st.none() | counts,
)


def nodes(value: Any) -> Iterator[Any]:
    """Every value and every key below a value."""
    yield value
    if isinstance(value, dict):
        yield from value
        for entry in value.values():
            yield from nodes(entry)
    elif isinstance(value, list):
        for entry in value:
            yield from nodes(entry)


@given(any_outcomes)
def test_event_is_small_printable_json(outcome: Outcome) -> None:
    """Whatever an outcome holds, its event is plain JSON below 8 KiB, in printable ASCII."""
    event = build_event(outcome)
    text = json.dumps(event, allow_nan=False, ensure_ascii=False)
    assert json.loads(text) == event
    assert len(text.encode()) < MAX_EVENT_BYTES
    for node in nodes(event):
        assert type(node) in (dict, str, int, type(None))
        assert not isinstance(node, str) or all(" " <= c <= "~" for c in node)


@given(any_outcomes)
def test_event_numbers_fit_databases(outcome: Outcome) -> None:
    """Whole numbers of an event fit 64 bits and JSON readers that know only floating point."""
    assert all(abs(node) <= MAX_VERSION for node in nodes(build_event(outcome)) if isinstance(node, int))


@given(any_outcomes)
def test_event_has_no_keys_that_airflow_interprets(outcome: Outcome) -> None:
    """No key of an event begins with two underscores, as those that are read as types do."""
    dicts = [node for node in nodes(build_event(outcome)) if isinstance(node, dict)]
    assert not [key for node in dicts for key in node if key.startswith("__")]


@given(any_outcomes)
def test_event_is_well_formed_or_refused(outcome: Outcome) -> None:
    """An event says the same kind as its outcome, or is refused; parsing never fails otherwise."""
    with suppress(InvalidEvent):
        assert parse_event(json.loads(json.dumps(build_event(outcome)))).kind == outcome.kind


@given(good_looks, good_stamps)
def test_arrival_survives_the_way(looks: Looks, stamp: Stamp) -> None:
    """A resume gets the stamp and the looks of an arrival as the trigger had them."""
    outcome = Outcome("arrived", looks, stamp, "arrived", looks.last)
    parsed = parse_event(json.loads(json.dumps(build_event(outcome))))
    assert parsed.stamp == stamp
    for name in ("first_at", "last_at", "count", "seen", "last"):
        assert getattr(parsed.looks, name) == getattr(looks, name)


@given(good_looks, words, plain, st.sampled_from(["deadline", "failed"]))
def test_reason_survives_the_way(looks: Looks, word: str, text: str, kind: Any) -> None:
    """A resume gets the word and the sentence of a wait that ended without a delivery."""
    parsed = parse_event(json.loads(json.dumps(build_event(Outcome(kind, looks, None, word, text)))))
    assert (parsed.kind, parsed.word, parsed.text, parsed.stamp) == (kind, word, text, None)


def stamp_of(**changes: Any) -> Stamp:
    """A stamp with some fields changed."""
    fields: dict[str, Any] = {
        "uri": "/in/_delivery.json", "sha256": SHA, "size": 300, "pin": Pin(inode="1:2"), "dataset": "orders",
        "interval": DAY, "version": 2, "files": 1, "size_bytes": 5, "rows": None,
    }  # fmt: skip
    return Stamp(**fields | changes)


def test_event_of_an_arrival_in_full() -> None:
    """The event's fields and their names are those of version 1."""
    looks = Looks(NOON, NOON, 3, {"absent": 2, "arrived": 1}, "it is there")
    assert build_event(Outcome("arrived", looks, stamp_of(), "arrived", "it is there")) == {
        "landmark": 1,
        "outcome": "arrived",
        "marker": {"uri": "/in/_delivery.json", "sha256": SHA, "size": 300, "inode": "1:2"},
        "dataset": "orders",
        "interval": {"start": "2024-05-01T00:00:00Z", "end": "2024-05-02T00:00:00Z"},
        "version": 2,
        "manifest": {"files": 1, "bytes": 5, "rows": None},
        "looks": {
            "first_at": "2024-05-01T12:00:00Z",
            "last_at": "2024-05-01T12:00:00Z",
            "count": 3,
            "seen": {"absent": 2, "arrived": 1},
            "last": "it is there",
        },
    }


def test_event_without_a_look() -> None:
    """A wait that never looked says so."""
    event = build_event(Outcome("deadline", Looks(), word="absent", text="no look was made"))
    assert event["looks"] == {
        "first_at": None, "last_at": None, "count": 0, "seen": {}, "last": "no look was made"
    }  # fmt: skip
    assert event["error"] == {"kind": "absent", "text": "no look was made"}


def test_event_worst_case_is_below_the_bound() -> None:
    """Every text at its longest, each character escaped twice: still below 8 KiB."""
    worst = "\\" * 3000
    looks = Looks(NOON, NOON, MAX_VERSION, {f"{n}{worst}": MAX_VERSION for n in range(40)}, worst)
    pin = Pin(worst, worst, worst, worst, worst)
    stamp = stamp_of(uri=worst, pin=pin, dataset="x" * 200, version=MAX_VERSION, size=MAX_VERSION)
    event = build_event(Outcome("failed", looks, stamp, worst, worst))
    assert len(json.dumps(event)) < MAX_EVENT_BYTES


def test_texts_are_cut_with_a_mark() -> None:
    """A long text is cut, and says so."""
    text = build_event(Outcome("failed", Looks(), word="trouble", text="x" * 5000))["error"]["text"]
    assert text.endswith("x...")
    assert len(text) <= 1000
