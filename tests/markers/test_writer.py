"""Writing marker documents."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from airflow_landmark.markers import (
    STATUSES,
    STRONG_ALGORITHMS,
    WEAK_ALGORITHMS,
    FileEntry,
    Interval,
    Manifest,
    Marker,
    UnreadableMarker,
    UnsafePath,
    check_path,
    format_instant,
    path_key,
    read_marker,
    write_marker,
)

DAY = Interval.parse("2024-05-01T00:00:00Z/2024-05-02T00:00:00Z")
FILE = FileEntry("a.csv", 3, {"sha256": "ab" * 32}, rows=2)
MARKER = Marker("orders", DAY, 1, Manifest.of((FILE,)), identity="7" * 64)
LARGEST = 2**53 - 1


def is_safe(path: str) -> bool:
    """Whether a path is accepted."""
    try:
        return bool(check_path(path))
    except UnsafePath:
        return False


def hex_of(length: int) -> st.SearchStrategy[str]:
    """Lower-case hex of one length."""
    return st.integers(0, 16**length - 1).map(lambda number: f"{number:0{length}x}")


lines = st.text(st.characters(exclude_categories=["Cc", "Cs", "Zl", "Zp"]), min_size=1, max_size=20)
instants = st.datetimes(datetime(1, 1, 1), datetime(9999, 12, 30), timezones=st.just(timezone.utc))  # noqa: DTZ001
spans = st.timedeltas(timedelta(microseconds=1), timedelta(days=1))
intervals = st.builds(lambda start, span: Interval(start, start + span), instants, spans)
digests = st.builds(
    lambda strong, weak: strong | weak,
    st.one_of([st.fixed_dictionaries({name: hex_of(length)}) for name, length in STRONG_ALGORITHMS.items()]),
    st.one_of(
        st.just({}),
        *[st.fixed_dictionaries({name: hex_of(length)}) for name, length in WEAK_ALGORITHMS.items()],
    ),
)
paths = st.lists(st.one_of(lines, st.sampled_from(["data", "x.csv"])), min_size=1, max_size=3).map("/".join)
entries = st.builds(
    FileEntry,
    path=paths.filter(is_safe).map(lambda path: f"d/{path}"),
    size=st.integers(0, 2**50),
    digests=digests,
    rows=st.none() | st.integers(0, 2**50),
    header_rows=st.integers(0, 1_000_000),
    media_type=st.none() | lines,
    content_encoding=st.none() | lines,
)
numbers = st.integers(-LARGEST, LARGEST) | st.floats(-LARGEST, LARGEST)
own_texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=8)
own = st.recursive(
    st.none() | st.booleans() | numbers | own_texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(own_texts, inner, max_size=3),
    max_leaves=6,
)


def apart(files: list[FileEntry]) -> bool:
    """Whether no file of the list is another, or another's folder."""
    keys = [path_key(entry.path) for entry in files]
    return not any(
        left == right or right.startswith(f"{left}/")
        for index, left in enumerate(keys)
        for right in keys[:index] + keys[index + 1 :]
    )


markers = st.builds(
    Marker,
    dataset=st.from_regex(r"[A-Za-z0-9._/-]{1,20}", fullmatch=True),
    interval=intervals,
    version=st.integers(1, LARGEST),
    manifest=st.lists(entries, max_size=4).filter(apart).map(lambda files: Manifest.of(tuple(files))),
    status=st.sampled_from(STATUSES),
    created_at=st.none() | instants.map(format_instant),
    producer=st.none() | lines,
    timezone=st.none() | st.sampled_from(["UTC", "Europe/Berlin", "Etc/GMT+5"]),
    label=st.none() | lines,
    extensions=st.dictionaries(own_texts, own, max_size=3),
)


@given(markers)
@settings(max_examples=150, deadline=None)
def test_round_trip(marker: Marker) -> None:
    """What is written is read back equal, its identity apart, and writes the same bytes again."""
    data = write_marker(marker)
    back = read_marker(data, name="_delivery.json")
    assert replace(back, identity=marker.identity) == marker
    assert write_marker(back) == data


def test_layout() -> None:
    """The document is for people too: fixed order, totals, one file a line, a newline at the end."""
    files = (FILE, FileEntry("ü.csv", 4, {"sha256": "cd" * 32, "md5": "ab" * 16}, rows=1, header_rows=1))
    marker = replace(
        MARKER, manifest=Manifest.of(files), extensions={"b": 1, "a": {"d": 2, "c": 3}}, timezone="UTC"
    )
    assert write_marker(marker).decode() == (
        "{\n"
        '  "spec": "landmark/1",\n'
        '  "dataset": "orders",\n'
        '  "interval": {"start": "2024-05-01T00:00:00Z", "end": "2024-05-02T00:00:00Z", "timezone": "UTC"},\n'
        '  "version": 1,\n'
        '  "status": "complete",\n'
        '  "totals": {"files": 2, "bytes": 7, "rows": 3},\n'
        '  "files": [\n'
        f'    {{"path": "a.csv", "size": 3, "digests": {{"sha256": "{"ab" * 32}"}}, "rows": 2}},\n'
        f'    {{"path": "ü.csv", "size": 4, "digests": {{"md5": "{"ab" * 16}", "sha256": "{"cd" * 32}"}}, '
        '"rows": 1, "header_rows": 1}\n'
        "  ],\n"
        '  "extensions": {"a": {"c": 3, "d": 2}, "b": 1}\n'
        "}\n"
    )


def test_equal_markers_equal_bytes() -> None:
    """The order in which dicts were filled does not show."""
    first = replace(FILE, digests={"md5": "ab" * 16, "sha256": "ab" * 32})
    second = replace(FILE, digests={"sha256": "ab" * 32, "md5": "ab" * 16})
    left = replace(MARKER, manifest=Manifest.of((first,)), extensions={"a": 1, "b": 2})
    right = replace(MARKER, manifest=Manifest.of((second,)), extensions={"b": 2, "a": 1})
    assert write_marker(left) == write_marker(right)


def test_unknown_rows() -> None:
    """Totals leave rows out when any file does not tell them."""
    manifest = Manifest.of((FILE, FileEntry("b.csv", 1, FILE.digests)))
    assert json.loads(write_marker(replace(MARKER, manifest=manifest)))["totals"] == {"files": 2, "bytes": 4}


def test_empty_delivery() -> None:
    """An empty delivery is written as one that is meant."""
    data = write_marker(replace(MARKER, manifest=Manifest.of(())))
    assert json.loads(data)["totals"] == {"files": 0, "bytes": 0, "rows": 0}


def changed_file(**changes: Any) -> dict[str, Any]:
    """A manifest of one file that is not as it should be."""
    return {"manifest": Manifest.of((replace(FILE, **changes),))}


@pytest.mark.parametrize(
    ("change", "place"),
    [
        ({"dataset": "a b"}, "dataset"),
        ({"version": 0}, "version"),
        ({"version": True}, "version"),
        ({"version": 2**53}, "version"),
        ({"version": 10**5000}, "marker"),
        ({"status": "partial"}, "status"),
        ({"created_at": "today"}, "created_at"),
        ({"producer": ""}, "producer"),
        ({"producer": "a\nb"}, "producer"),
        ({"producer": "\ud800"}, "producer"),
        ({"label": "\0"}, "interval.label"),
        ({"timezone": "+02:00"}, "interval.timezone"),
        ({"extensions": {"a": [float("nan")]}}, "extensions.a[0]"),
        ({"extensions": {"a": 2**53}}, "extensions.a"),
        ({"extensions": {"a": {1, 2}}}, "marker"),
        ({"extensions": {"a": b"x"}}, "marker"),
        ({"extensions": {"a": (1, 2)}}, "extensions"),
        ({"extensions": {1: 2}}, "extensions"),
        ({"extensions": {1: 2, "1": 2}}, "marker"),
        (changed_file(path="../x"), "files[0].path"),
        (changed_file(path="a\ud800"), "files[0].path"),
        (changed_file(path="_delivery.json"), "files[0].path"),
        (changed_file(size=None), "files[0].size"),
        (changed_file(size=-1), "files[0].size"),
        (changed_file(digests={}), "files[0].digests"),
        (changed_file(digests={"sha256": "AB" * 32}), "files[0]"),
        (changed_file(header_rows=-1), "files[0].header_rows"),
        (changed_file(url="s3://bucket/a.csv"), "files[0]"),
        ({"manifest": Manifest.of((FILE, FILE))}, "files[1].path"),
        ({"manifest": Manifest((FILE,), 4, 2)}, "totals.bytes"),
        ({"manifest": Manifest((FILE,), None, 2)}, "manifest"),
        ({"extensions": {"a": "x" * 2**24}}, "document"),
    ],
)
def test_refused(change: dict[str, Any], place: str) -> None:
    """What would not be read back as the same marker is not written."""
    with pytest.raises(UnreadableMarker) as caught:
        write_marker(replace(MARKER, **change), name="_delivery.json")
    assert caught.value.problems[0].place == place
    assert caught.value.problems[0].text.isascii()


def test_loops() -> None:
    """Extensions that hold themselves, or are far too deep, are not written."""
    loop: list[Any] = []
    loop.append(loop)
    deep: list[Any] = []
    for _ in range(50):
        deep = [deep]
    for extension in (loop, deep):
        with pytest.raises(UnreadableMarker):
            write_marker(replace(MARKER, extensions={"a": extension}))


def test_all_problems() -> None:
    """All problems of a marker are told together."""
    with pytest.raises(UnreadableMarker) as caught:
        write_marker(replace(MARKER, version=0, producer="", **changed_file(path="/x", size=None)))
    assert caught.value.total == 4


def test_read_documents_are_writable(
    document: dict[str, Any], read: Callable[[dict[str, Any]], Marker]
) -> None:
    """A marker that was read can be written again with a higher version."""
    marker = read(document)
    higher = replace(marker, version=marker.version + 1)
    assert replace(read_marker(write_marker(higher)), identity="") == replace(higher, identity="")
