"""Whatever the bytes: a marker, or one kind of error with a fit report."""

from __future__ import annotations

import json
import random
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from airflow_landmark.markers import MAX_PROBLEMS, Marker, UnreadableMarker, read_marker

DOCUMENT: dict[str, Any] = {
    "spec": "landmark/1",
    "dataset": "sales/orders",
    "interval": {
        "start": "2024-10-01T00:00:00Z",
        "end": "2024-10-02T00:00:00Z",
        "timezone": "UTC",
        "label": "x",
    },
    "version": 2,
    "status": "complete",
    "created_at": "2024-10-02T01:00:00+02:00",
    "producer": "tills",
    "totals": {"files": 1, "bytes": 100, "rows": 10},
    "files": [
        {
            "path": "orders/part 1.csv",
            "size": 100,
            "digests": {"sha256": "ab" * 32, "md5": "cd" * 16},
            "rows": 10,
            "header_rows": 1,
            "media_type": "text/csv",
            "content_encoding": "gzip",
        }
    ],
    "extensions": {"a": [1, {"b": None}]},
}
VALID = json.dumps(DOCUMENT).encode()

texts = st.text(st.characters(exclude_categories=()), max_size=8)
scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.integers(2**53 - 2, 2**64),
    st.floats(),
    texts,
    st.sampled_from(["landmark/1", "2024-10-01T00:00:00", "..", "complete", "ab" * 32, 10**400]),
)
keys = st.one_of(texts, st.sampled_from([*DOCUMENT, *DOCUMENT["interval"], *DOCUMENT["files"][0], "sha256"]))
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(keys, inner, max_size=4),
    max_leaves=12,
)


def read(data: bytes, name: str | None = None) -> Marker | None:
    """The marker, or ``None`` after a look at the report on what is none."""
    try:
        return read_marker(data, name=name)
    except UnreadableMarker as error:
        check_report(error, size=len(data))
        return None


def check_report(error: UnreadableMarker, *, size: int) -> None:
    """A report is bounded, printable ASCII, and names what it counted."""
    assert error.size == size
    assert 1 <= len(error.problems) <= MAX_PROBLEMS
    assert error.total >= len(error.problems)
    for problem in error.problems:
        for text in problem.to_json().values():
            assert text
            assert text.isascii()
            assert text.isprintable()
            assert len(text) <= 250


@given(st.binary(max_size=200))
@settings(max_examples=300, deadline=None)
def test_any_bytes(data: bytes) -> None:
    """Arbitrary bytes are no marker, and never another error."""
    assert read(data) is None


@given(st.text('{}[]",:\\ \n0-.eE+aunlrtsd\ufeff', max_size=60))
@settings(max_examples=300, deadline=None)
def test_json_like_text(text: str) -> None:
    """Text made of JSON's own characters is no marker, and never another error."""
    assert read(text.encode()) is None


@given(st.lists(st.tuples(st.integers(0, len(VALID) - 1), st.integers(0, 255)), min_size=1, max_size=4))
@settings(max_examples=400, deadline=None)
def test_flipped_bytes(changes: list[tuple[int, int]]) -> None:
    """A damaged marker is another marker or refused."""
    data = bytearray(VALID)
    for position, byte in changes:
        data[position] = byte
    read(bytes(data))


def test_cut_and_spliced() -> None:
    """A marker cut short is refused at every length; a piece missing or doubled gives no other error."""
    source = random.Random(7)
    for size in range(len(VALID)):
        assert read(VALID[:size]) is None
    for _ in range(1000):
        start, end = sorted(source.sample(range(len(VALID)), 2))
        read(VALID[:start] + VALID[end:])
        read(VALID[:end] + VALID[start:])


@given(values)
@settings(max_examples=300, deadline=None)
def test_any_json(value: Any) -> None:
    """Arbitrary JSON is no marker, and never another error."""
    assert read(json.dumps(value).encode()) is None


@given(st.data())
@settings(max_examples=500, deadline=None)
def test_one_value_replaced(data: st.DataObject) -> None:
    """A marker with one value replaced, removed or added anywhere is a marker or refused."""
    document = json.loads(VALID)
    holder = document
    while True:
        key = data.draw(st.sampled_from(sorted(holder) if isinstance(holder, dict) else range(len(holder))))
        if not isinstance(holder[key], (dict, list)) or data.draw(st.booleans()):
            break
        holder = holder[key]
    action = data.draw(st.sampled_from(["replace", "remove", "add"]))
    if action == "remove":
        del holder[key]
    elif action == "add" and isinstance(holder, dict):
        holder[data.draw(keys)] = data.draw(values)
    else:
        holder[key] = data.draw(values)
    marker = read(json.dumps(document).encode(), name="orders")
    assert marker is None or marker.identity


@given(st.dictionaries(keys, values, max_size=5))
@settings(max_examples=300, deadline=None)
def test_any_extensions(extensions: dict[str, Any]) -> None:
    """Extensions are kept as they are or refused."""
    marker = read(json.dumps(DOCUMENT | {"extensions": extensions}).encode())
    assert marker is None or marker.extensions == extensions
