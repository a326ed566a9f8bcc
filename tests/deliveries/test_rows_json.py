from __future__ import annotations

import json
import tracemalloc
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_landmark.deliveries._rows import NotCounted
from airflow_landmark.deliveries._rows_base import BLOCK_BYTES, RECORD_LIMIT_BYTES
from airflow_landmark.deliveries._rows_json import LAST_LINE_LIMIT_BYTES, JsonLinesCounter

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)
OBJECTS = st.dictionaries(st.text(max_size=3), VALUES, max_size=3)
ENDS = st.sampled_from(["\n", "\r\n", " \n", "\n\n", "\n \t\r\n"])


def count(data: bytes, *, cuts: tuple[int, ...] = (), **options: int) -> int | NotCounted:
    """The outcome of a file that is handed over in pieces."""
    counter = JsonLinesCounter(**options)
    edges = [0, *sorted(min(cut, len(data)) for cut in cuts), len(data)]
    for start, end in pairwise(edges):
        counter.update(data[start:end])
    return counter.finish()


def reason(result: object) -> str:
    """Why a file was not counted."""
    assert isinstance(result, NotCounted)
    return result.reason


@given(
    st.lists(st.tuples(VALUES | OBJECTS, ENDS), max_size=8),
    st.integers(4, 40),
    st.lists(st.integers(0, 200), max_size=5),
    st.booleans(),
)
def test_counts_values(
    lines: list[tuple[object, str]], block_bytes: int, cuts: list[int], ascii_only: bool
) -> None:
    """Each line with a value counts once, blank lines do not, however the bytes are cut."""
    text = "".join(json.dumps(value, ensure_ascii=ascii_only) + end for value, end in lines)
    data = text.encode("utf-8", "surrogatepass")
    assert count(data, cuts=tuple(cuts), block_bytes=block_bytes) == len(lines)
    assert count(data) == len(lines)


@given(st.lists(OBJECTS, min_size=1, max_size=6), st.sampled_from(["\n", "\r\n"]), st.data())
def test_a_cut_file_counts_whole_lines_only(records: list[object], end: str, data: st.DataObject) -> None:
    """Wherever a file of objects is cut, what is counted is whole, and a half record is not counted."""
    whole = "".join(json.dumps(record) + end for record in records).encode()
    cut = whole[: data.draw(st.integers(0, len(whole)))]
    *ended, last = cut.split(b"\n")
    result = count(cut)
    if not last.strip():
        assert result == len(ended)
    elif last.strip() + end.encode() in [json.dumps(record).encode() + end.encode() for record in records]:
        assert result == len(ended) + 1
    else:
        assert "is cut" in reason(result)


@pytest.mark.parametrize(
    ("data", "rows"),
    [
        (b"", 0),
        (b" \r\n\t\n", 0),
        (b"\xef\xbb\xbf", 0),
        (b'\xef\xbb\xbf{"a":1}\n', 1),
        (b'{"a":1}', 1),
        (b'{"a":1}\r', 1),
        (b'[1]\n"a"\ntrue\nnull\n-1.5e3\n', 5),
        (b' {"a":1} \n{"a":2}\n', 2),
    ],
)
def test_lines(data: bytes, rows: int) -> None:
    """Any JSON value is a record, with white space around it, and the last line needs no end."""
    assert count(data) == rows


@pytest.mark.parametrize(
    "data",
    [
        b'{\n  "a": 1\n}\n',
        b'[\n{"a": 1},\n{"a": 2}\n]\n',
        b'{"a": 1},\n{"a": 2},\n',
        b"<html>\n",
        b"a,b\n1,2\n",
        b'{"a": 1\n',
        b'"\n',
        b"NaN\n",
        b"01\n",
        b'{"a":1}\r{"a":2}\r\n',
        b'{"a":1}\r{"a":2}\n',
        b'{"a":1}\n\0\n',
        '{"a":1}\n'.encode("utf-16"),
    ],
)
def test_other_texts_are_not_counted(data: bytes) -> None:
    """Indented documents, arrays over lines, lone carriage returns, CSV, HTML and UTF-16 are refused."""
    assert isinstance(count(data), NotCounted)
    assert count(data) == count(data, block_bytes=4)


@pytest.mark.parametrize(
    "last",
    [
        b'{"a":',
        b'{"a": "}',
        b"[1,2",
        b"12",
        b"-1.5",
        b'"abc',
        b"tru",
        b'{"a":\xff}',
        b"{]}",
        b"[" * 9999 + b"]",
    ],
)
def test_cut_last_line(last: bytes) -> None:
    """A last line without an end counts only when it is whole; a number may lack digits."""
    assert "record 2, is cut" in reason(count(b'{"a":1}\n' + last))


def test_long_numbers_cost_no_quadratic_time() -> None:
    """A last line of many digits is parsed without being turned into a number."""
    assert count(b"[" + b"1" * 1_000_000 + b"]") == 1


def test_last_line_beyond_its_limit() -> None:
    """A last line without an end that is too long to be parsed is not counted; with an end it is."""
    line = b'{"a":"' + b"x" * LAST_LINE_LIMIT_BYTES + b'"}'
    assert "has no end" in reason(count(line))
    assert count(line + b"\n") == 1


def test_record_beyond_the_limit() -> None:
    """A line that never ends stops the count at the limit, and no more than that is held."""
    counter = JsonLinesCounter()
    tracemalloc.start()
    for _ in range(RECORD_LIMIT_BYTES // BLOCK_BYTES + 1):
        counter.update(b"{" * BLOCK_BYTES)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert "is longer than" in reason(counter.outcome)
    assert peak < 2 * RECORD_LIMIT_BYTES


@given(st.binary(max_size=300), st.integers(4, 9))
def test_any_bytes_end_in_an_outcome(data: bytes, block_bytes: int) -> None:
    """Any bytes are counted or not, and never raise."""
    assert isinstance(count(data, block_bytes=block_bytes), (int, NotCounted))
