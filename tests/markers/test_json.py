"""Strict JSON: bytes that are no document, and what other readers take silently."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from typing import Any

import pytest

from airflow_landmark.markers import MAX_DOCUMENT_BYTES, MAX_PROBLEMS, UnreadableMarker, read_marker

Problems = Callable[..., list[tuple[str, str]]]


def error_of(data: bytes) -> UnreadableMarker:
    """The error that reading these bytes raises."""
    with pytest.raises(UnreadableMarker) as caught:
        read_marker(data)
    return caught.value


@pytest.mark.parametrize("line_end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
@pytest.mark.parametrize("end", ["", "\n", "\r\n", "\n\n  "])
def test_editors_traces(document: dict[str, Any], line_end: str, mark: bytes, end: str) -> None:
    """A byte-order mark, any line ends and a missing last newline make no difference but the identity."""
    plain = read_marker(json.dumps(document).encode())
    text = json.dumps(document, indent=1).replace("\n", line_end) + end
    marker = read_marker(mark + text.encode())
    assert marker.manifest == plain.manifest
    assert (marker.dataset, marker.interval, marker.version) == (plain.dataset, plain.interval, plain.version)
    assert marker.identity != plain.identity


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-le", "utf-32-be"])
def test_wide_encodings(document: dict[str, Any], encoding: str) -> None:
    """UTF-16 and UTF-32 are refused by name, with and without their mark."""
    (problem,) = error_of(json.dumps(document).encode(encoding)).problems
    assert (problem.kind, problem.expected) == ("encoding", "UTF-8")
    assert problem.found.startswith("UTF-16 or UTF-32")


@pytest.mark.parametrize("data", [b"", b"\n", b" \r\n\t", b"\xef\xbb\xbf", b"\xef\xbb\xbf\n", b"\0" * 512])
def test_empty(data: bytes) -> None:
    """Nothing, blanks, a lone mark and zeros from an unfinished copy are called empty."""
    (problem,) = error_of(data).problems
    assert problem.kind == "empty"
    assert f"{len(data)} bytes" in problem.found


@pytest.mark.parametrize(
    ("data", "place"),
    [
        (b'{"producer": "\xff"}', "line 1, column 15"),
        ('{"label": "\u00fc\n'.encode() + b"\xed\xa0\x80", "line 2, column 1"),
        ('{"label": "\u00fc'.encode("latin-1"), "line 1, column 12"),
        (b'{"label": "\xc0\xaf"}', "line 1, column 12"),
    ],
)
def test_not_utf_8(problems: Problems, data: bytes, place: str) -> None:
    """Other encodings, overlong forms and encoded surrogates are refused at their place."""
    assert problems(data) == [("encoding", place)]


@pytest.mark.parametrize(
    ("data", "place"),
    [
        (b'{"interval": {"sta', "line 1, column 15"),
        (b'{\n  "spec": "landmark/1",\n  "dataset":', "line 3, column 13"),
        (b'{"spec": "landmark/1"', "line 1, column 22"),
        (b'{"a": 1}{', "line 1, column 9"),
        (b'{"a": 1} x', "line 1, column 10"),
        (b"{'a': 1}", "line 1, column 2"),
        (b'{"a": 1 /* one */}', "line 1, column 9"),
        (b'{"a": "\x01"}', "line 1, column 8"),
        (b'{"a": "x\ny"}', "line 1, column 9"),
        (b'{"a": 01}', "line 1, column 8"),
        (b'{"a": .5}', "line 1, column 7"),
        (b'{"a": +5}', "line 1, column 7"),
        (b'{"a": True}', "line 1, column 7"),
        (b'{"a": [1}', "line 1, column 9"),
        (b"]", "line 1, column 1"),
        (b"\xef\xbb\xbf\xef\xbb\xbf{}", "line 1, column 1"),
    ],
)
def test_syntax(problems: Problems, data: bytes, place: str) -> None:
    """Cut and malformed documents are refused at their place."""
    assert problems(data) == [("syntax", place)]


def test_cut_documents_keep_their_content() -> None:
    """The report on a document cut anywhere tells position and size, and nothing of what it holds."""
    data = b'{"spec": "SECRET", "dataset": ["SECRET", -1.5e3, {"SECRET": null}]}'
    for size in range(1, len(data)):
        error = error_of(data[:size])
        assert f"({size} bytes)" in str(error)
        assert "SECRET" not in str(error)
        assert "SECRET" not in repr(error.problems)
        assert error.__context__ is None


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ('{"spec": 1, "spec": 2}', "spec"),
        ('{"spec": 1, "sp\\u0065c": 2}', "spec"),
        ('{"interval": {"start": 1, "end": 2, "start": 1}}', "interval.start"),
        ('{"files": [{}, {"digests": {"sha256": 1, "md5": 2, "sha256": 1}}]}', "files[1].digests.sha256"),
        ('{"extensions": {"a": [0, 1, {"b": 1, "b": 1}]}}', "extensions.a[2].b"),
        ('{"extensions": {"two words": {"b": 1, "b": 1}}}', "extensions['two words'].b"),
        ('{"unknown": {"b": 1, "b": 1}}', "unknown.b"),
    ],
)
def test_repeated_keys(problems: Problems, text: str, place: str) -> None:
    """A key that occurs twice in one object is refused at any depth, also when spelled differently."""
    assert [where for kind, where in problems(text.encode()) if kind == "repeated key"] == [place]


@pytest.mark.parametrize(
    "number",
    [
        "NaN",
        "Infinity",
        "-Infinity",
        "1e400",
        "-1e400",
        "9007199254740992",
        "-9007199254740992",
        "9" * 30,
        "-" + "9" * 30,
        "9" * 5000,
        "9" * 1_000_000,
        "1e16",
        "0." + "1" * 1000,
    ],
)
def test_refused_numbers(document: dict[str, Any], problems: Problems, number: str) -> None:
    """What other readers would round, overflow or not know is refused wherever it stands, once."""
    for place, holder in (("extensions.a[1]", {"a": [0, "@"]}), ("version", None), ("files[0].size", None)):
        changed = json.loads(json.dumps(document))
        if holder:
            changed["extensions"] = holder
        elif place == "version":
            changed["version"] = "@"
        else:
            changed["files"][0]["size"] = "@"
        text = json.dumps(changed).replace('"@"', number)
        assert problems(text.encode()) == [("refused number", place)]
    assert problems(number.encode()) == [("refused number", "document")]


@pytest.mark.parametrize("number", ["9007199254740991", "-9007199254740991", "0.5", "-0.0", "1E2", "1e-400"])
def test_kept_numbers(number: str) -> None:
    """In extensions, numbers that every reader understands alike are kept."""
    text = (
        '{"spec": "landmark/1", "dataset": "a", "interval": {"start": "2024-10-01T00:00:00Z", '
        '"end": "2024-10-02T00:00:00Z"}, "version": 1, "files": [], "totals": {"files": 0}, '
        f'"extensions": {{"n": {number}}}}}'
    )
    assert read_marker(text.encode()).extensions == {"n": json.loads(number)}


@pytest.mark.parametrize(
    ("data", "column"),
    [
        (b"[" * 100_000, 33),
        (b'{"a":' * 100_000, 161),
        (b'{"a":[' * 100_000, 97),
        (b"[" * 100_000 + b"]" * 100_000, 33),
        (b'{"a":' * 100_000 + b"1" + b"}" * 100_000, 161),
        (b'{"]": ' + b"[" * 32 + b"]" * 32 + b"}", 38),
        (b'{"\\"]": ' + b"[" * 32 + b"]" * 32 + b"}", 40),
        (b'{"]\\\\": ' + b"[" * 32 + b"]" * 32 + b"}", 40),
        ('{"\u00fc": '.encode() + b"[" * 32 + b"]" * 32 + b"}", 38),
    ],
)
def test_too_deep(problems: Problems, data: bytes, column: int) -> None:
    """Deep nesting is refused before it is parsed, at the place of the first bracket too many."""
    assert problems(data) == [("too deep", f"line 1, column {column}")]
    assert problems(b"\n" + data) == [("too deep", f"line 2, column {column}")]


def test_deep_enough(document: dict[str, Any]) -> None:
    """Nesting of 32 is read, whatever brackets the texts hold."""
    inner: Any = "]]}}\\[[{{" * 20
    for level in range(31):
        inner = [inner, "]"] if level % 2 else {"[": inner, '"{': 1}
    document["extensions"] = inner
    assert read_marker(json.dumps(document).encode()).extensions == inner
    document["extensions"] = {"one more": inner}
    assert "inside each other" in str(error_of(json.dumps(document).encode()))


def test_too_deep_in_a_deep_stack() -> None:
    """A document too deep is refused, not tried, where half of the stack is used up."""
    data = b"[" * 100_000
    limit = sys.getrecursionlimit()

    def dive(level: int) -> UnreadableMarker:
        return dive(level - 1) if level else error_of(data)

    assert dive(limit // 2).problems[0].kind == "too deep"


def test_too_many_containers(problems: Problems) -> None:
    """A document of more lists and objects than any marker needs is refused before it is parsed."""
    data = b'{"files": [' + b"[]," * 250_000 + b"[]]}"
    assert problems(data) == [("too large", f"line 1, column {12 + 3 * (250_000 - 2)}")]


def test_too_many_bytes(problems: Problems) -> None:
    """A document above 16 MiB is refused unread, one of just that size is read."""
    assert problems(b" " * (MAX_DOCUMENT_BYTES + 1)) == [("too large", "document")]
    assert problems(b"1".rjust(MAX_DOCUMENT_BYTES)) == [("wrong type", "document")]


@pytest.mark.parametrize("value", [None, True, 7, 7.0, "text", [], [1]])
def test_no_object(problems: Problems, value: Any) -> None:
    """JSON that is no object is refused."""
    assert problems(value) == [("wrong type", "document")]


@pytest.mark.parametrize(
    "unit",
    [
        b'"\\"',
        b'\\"',
        b"\\",
        b'"',
        b'"a":1,',
        b"[1],",
        b"{},",
        b"[[",
        b"{[",
        b'{"',
        b'{"a":1},',
        b'"[",',
        b'"]["',
        b"1,",
        b"NaN,",
        b"-",
        b"\n",
        b"\xf0\x9f\x98\x80",
        b'"\xf0\x9f\x98\x80",',
        b"\\ud800",
    ],
)
@pytest.mark.parametrize(
    "frame", [(b"", b""), (b"[", b"0]"), (b'{"files":[', b"0]}"), (b'{"extensions":{"a":[', b"0]}}")]
)
def test_hostile_repetition(unit: bytes, frame: tuple[bytes, bytes]) -> None:
    """No repeated piece of text costs more than its length asks for."""
    start, end = frame
    data = start + unit * (1_000_000 // len(unit)) + end
    before = time.process_time()
    error = error_of(data)
    assert time.process_time() - before < 5
    assert len(error.problems) == min(error.total, MAX_PROBLEMS)
    assert len(str(error)) < 1000
