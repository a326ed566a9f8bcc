"""Entries as JSON documents: what was written is read again, and nothing else is."""

from __future__ import annotations

import json
from datetime import datetime, timezone
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_landmark.deliveries import Entry, Held, LedgerEvent
from airflow_landmark.deliveries._ledger_document import MAX_BYTES, EntryDocument, read_entry, write_entry
from airflow_landmark.markers import Interval

DAY = Interval.parse("2024-10-01T00:00:00Z/2024-10-02T00:00:00Z")
ORDERS = "sales/orders"
owners = st.text(
    st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="\u2028\u2029"), min_size=1, max_size=60
)
instants = st.datetimes(timezones=st.just(timezone.utc))
helds = st.builds(
    Held,
    version=st.integers(1, 2**53 - 1),
    identity=st.from_regex(r"\A[0-9a-f]{64}\Z"),
    owner=owners,
    at=instants,
    uri=st.just("s3://drop/_delivery.json"),
)
HELD = Held(3, "c" * 64, "alice", datetime(2024, 10, 2, tzinfo=timezone.utc), "/drop/_delivery.json")


def events_of(held: Held, number: int) -> tuple[LedgerEvent, ...]:
    """As many events."""
    return (LedgerEvent(ORDERS, DAY, "claimed", held),) * number


@given(st.none() | helds, st.integers(0, 3), helds)
def test_what_was_written_is_read(claim: Held | None, events: int, held: Held) -> None:
    """An entry with its history comes back as it was, whatever its owner is called and whenever that was."""
    document = EntryDocument(Entry(ORDERS, DAY, claim=claim), events, events_of(held, events))
    data = write_entry(document)
    assert data.isascii()
    assert read_entry(data, dataset=ORDERS, interval=DAY) == document


def test_history_is_bounded() -> None:
    """The oldest events go first, by number and by size; the entry itself always stays."""
    long_one = Held(3, "c" * 64, "\U0001f600" * 1024, HELD.at, "\U0001f600" * 2048)
    for held, most in ((HELD, 50), (long_one, 6)):
        document = EntryDocument(Entry(ORDERS, DAY, claim=held), 7, events_of(held, 500))
        data = write_entry(document)
        assert len(data) <= MAX_BYTES
        read = read_entry(data, dataset=ORDERS, interval=DAY)
        assert (read.entry, read.revision) == (document.entry, 7)
        assert 0 < len(read.history) <= most


GOOD = json.loads(write_entry(EntryDocument(Entry(ORDERS, DAY, taken=HELD), 1, events_of(HELD, 1))))


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        ({"landmark_ledger": 2}, "landmark_ledger"),
        ({"landmark_ledger": True}, "landmark_ledger"),
        ({"revision": -1}, "revision"),
        ({"revision": 1.0}, "revision"),
        ({"dataset": "other"}, "sales/orders"),
        ({"interval": {"start": "2024-10-01T00:00:00Z", "end": "2024-10-03T00:00:00Z"}}, "sales/orders"),
        ({"history": None}, "history"),
        ({"history": [1] * 51}, "history"),
        ({"history": [GOOD["history"][0] | {"word": "eaten"}]}, "word"),
        ({"history": ["claimed"]}, "found 'claimed'"),
        ({"taken": 3}, "found 3"),
        ({"taken": GOOD["taken"] | {"version": "3"}}, "version"),
        ({"taken": GOOD["taken"] | {"at": "yesterday"}}, "yesterday"),
        ({"taken": GOOD["taken"] | {"at": 1}}, "at is missing"),
        ({"taken": {"version": 3}}, "identity, owner, at, uri is missing"),
        ({"claim": GOOD["taken"] | {"version": 2}}, "version 2 is claimed below version 3"),
    ],
)
def test_other_documents_are_refused(changes: dict[str, Any], word: str) -> None:
    """A document that this package did not write is refused, and the text says where it differs."""
    assert read_entry(json.dumps(GOOD).encode(), dataset=ORDERS, interval=DAY).entry.taken == HELD
    with pytest.raises(ValueError, match=r"[ -~]+") as caught:
        read_entry(json.dumps(GOOD | changes).encode(), dataset=ORDERS, interval=DAY)
    assert word in str(caught.value)


@pytest.mark.parametrize(
    ("data", "word"),
    [
        (b"", "not JSON"),
        (b"[" * 200_000, "nested too deeply"),
        (b'{"a": 1, "a": 2}', "twice"),
        (b'{"a": NaN}', "NaN"),
        (b"\xff", "not UTF-8"),
        (b" " * (MAX_BYTES + 1), "larger than"),
        (b"[1]", "expected an object"),
        (b'{"landmark_ledger": 1' + b"0" * 4000 + b"}", "landmark_ledger must be 1"),
    ],
)
def test_other_bytes_are_refused(data: bytes, word: str) -> None:
    """Bytes that are no such document end in one short text."""
    with pytest.raises(ValueError, match=word) as caught:
        read_entry(data, dataset=ORDERS, interval=DAY)
    assert len(str(caught.value)) < 300


@given(st.binary(max_size=300))
def test_any_bytes(data: bytes) -> None:
    """Any bytes are read or refused: nothing else happens."""
    with pytest.raises(ValueError, match=r"^[ -~]+$"):
        read_entry(data, dataset=ORDERS, interval=DAY)
