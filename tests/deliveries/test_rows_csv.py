from __future__ import annotations

import csv
import io
import tracemalloc
from itertools import pairwise
from random import Random

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from airflow_landmark.deliveries._rows import NotCounted
from airflow_landmark.deliveries._rows_base import BLOCK_BYTES, RECORD_LIMIT_BYTES
from airflow_landmark.deliveries._rows_csv import CsvCounter

STRUCTURE = st.text(alphabet='"",,\r\n\t x\u00e9\u2028\x85\ufeff', max_size=40)
PIECES = st.lists(
    st.sampled_from(
        ['"', '""', '"""', ",", '","', "\n", "\r\n", "\r", "a", " ", '"a"', '"a\nb"', '"x""y"', 'a"b']
    ),
    max_size=30,
).map("".join)
ANY = st.text(alphabet=st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=200)
TEXTS = STRUCTURE | PIECES | ANY


def count(data: bytes, *, cuts: tuple[int, ...] = (), **options: object) -> int | NotCounted:
    """The outcome of a file that is handed over in pieces."""
    counter = CsvCounter(**options)  # type: ignore[arg-type]
    edges = [0, *sorted(min(cut, len(data)) for cut in cuts), len(data)]
    for start, end in pairwise(edges):
        counter.update(data[start:end])
    return counter.finish()


def reason(result: object) -> str:
    """Why a file was not counted."""
    assert isinstance(result, NotCounted)
    return result.reason


def python_rows(text: str, delimiter: str = ",") -> int | None:
    """What csv.reader counts; ``None`` when the text ends within quotes."""
    *_, last = csv.reader(io.StringIO(text + "\n$", newline=""), delimiter=delimiter)
    if last != ["$"]:
        return None
    return sum(1 for row in csv.reader(io.StringIO(text, newline=""), delimiter=delimiter) if row)


@settings(max_examples=500)
@given(TEXTS, st.integers(4, 9), st.lists(st.integers(0, 60), max_size=6), st.sampled_from(",\t"))
@example('"a""', 4, [], ",")
@example('abc"d,"\n"\n', 4, [], ",")
@example('"ab"x"\n"\n', 4, [], ",")
@example("abc\r\n\r\n", 4, [], ",")
@example("\ufeff", 4, [], ",")
@example('\ufeff"a\n"', 4, [1, 2], ",")
def test_equals_csv_reader(text: str, block_bytes: int, cuts: list[int], delimiter: str) -> None:
    """Any text counts as csv.reader counts it, however it is cut; one that ends within quotes does not."""
    expected = python_rows(text.removeprefix("\ufeff"), delimiter)
    data = text.encode()
    result = count(data, cuts=tuple(cuts), delimiter=delimiter.encode(), block_bytes=block_bytes)
    assert result == expected if expected is not None else "within quotes" in reason(result)
    assert result == count(data, delimiter=delimiter.encode())


@given(ANY, st.sampled_from(["utf-8", "shift_jis", "gb18030", "big5", "cp1252"]), st.integers(4, 9))
def test_ascii_compatible_encodings(text: str, encoding: str, block_bytes: int) -> None:
    """Encodings that keep ASCII bytes for ASCII characters are counted without being decoded."""
    text = "$" + text.encode(encoding, "ignore").decode(encoding)
    expected = python_rows(text)
    result = count(text.encode(encoding), block_bytes=block_bytes)
    assert result == expected if expected is not None else isinstance(result, NotCounted)


@pytest.mark.slow
@settings(max_examples=8)
@given(st.randoms(use_true_random=True))
def test_equals_csv_reader_over_real_blocks(chance: Random) -> None:
    """A file of several blocks with plain, quoted and odd stretches counts as csv.reader counts it."""
    kinds = ["1,2,3", '"a","b\r\nc",""', 'a "b", "c"', "", "é,€,\u2028", '"x""y",z', '"', '"a"b"c"']
    lines: list[str] = []
    while len(lines) < 60_000:
        lines += chance.choices(kinds[: chance.randint(1, len(kinds))], k=chance.randint(1, 4_000))
    text = "".join(line + chance.choice(["\n", "\r\n", "\r"]) for line in lines)
    text += '\n"\n' * (python_rows(text) is None)
    data = text.encode()
    cuts = tuple(chance.randrange(len(data)) for _ in range(20))
    assert count(data, cuts=cuts) == count(data) == python_rows(text)


@pytest.mark.parametrize(
    ("data", "rows"),
    [
        (b"", 0),
        (b"\n\r\n\r", 0),
        (b"\xef\xbb\xbf", 0),
        (b"\xef\xbb\xbf\n", 0),
        (b"a", 1),
        (b"a\rb\nc\r\nd", 4),
        (b'"a\n\r\r\nb"\n', 1),
        (b'""', 1),
        (b" \n", 1),
        (b",\n", 1),
        (b'"a""\n"""', 1),
        (b'a"\n"b"\n', 2),
        (b'"a" "\nb', 2),
    ],
)
def test_records(data: bytes, rows: int) -> None:
    """Line ends, blank lines, quotes and the last line follow the rules of the csv module."""
    assert count(data) == rows


def test_header_rows_are_records_before_the_data() -> None:
    """Header rows are subtracted as records, so that a quoted line break in one counts once."""
    assert count(b'\n"a\nb",c\n1,2\n', header_rows=1) == 1
    assert count(b"a,b\n", header_rows=1) == 0


def test_fewer_records_than_header_rows() -> None:
    """A file that lacks its header is not counted, rather than below zero."""
    assert "fewer than the 1 header rows" in reason(count(b"", header_rows=1))


@pytest.mark.parametrize(
    "data",
    [
        b"a\0b\n",
        b"a\n" * BLOCK_BYTES + b"\0",
        "a,b\n".encode("utf-16"),
        "a,b\n".encode("utf-16-be"),
        "\ufeffa".encode("utf-16-be"),
        "\u6f22".encode("utf-16"),
        "a".encode("utf-32"),
        b"\x1f\x8b\x08\x01",
        b"\x28\xb5\x2f\xfdabc",
    ],
)
def test_what_is_no_plain_text(data: bytes) -> None:
    """NUL bytes, UTF-16, UTF-32 and undeclared compression are not counted."""
    assert isinstance(count(data), NotCounted)


@pytest.mark.parametrize("data", [b'a\n"b', b'"', b'"a""', b'"a"\n"b""c\nd\n', b'a"b\n,"c', b'"""'])
def test_open_quote_at_the_end(data: bytes) -> None:
    """A text that ends within quotes may be cut: it is not counted, and the record is named."""
    assert "ends within quotes, in record" in reason(count(data))


@pytest.mark.parametrize("start", [b"a\n", b'a\n"b\n', b'a"\n,"b\n'])
def test_record_beyond_the_limit(start: bytes) -> None:
    """A record that never ends stops the count at the limit, without being held in memory."""
    counter = CsvCounter()
    counter.update(start)
    tracemalloc.start()
    line = b"x" * BLOCK_BYTES if start == b"a\n" else b"x,\n" * (BLOCK_BYTES // 3)
    for _ in range(RECORD_LIMIT_BYTES // BLOCK_BYTES + 3):
        counter.update(line)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert "is longer than" in reason(counter.outcome)
    assert peak < 16 * BLOCK_BYTES


@pytest.mark.parametrize(
    "pattern", [b'"', b'""', b',"', b'",', b'a"', b'\n"', b'"a"b"', b"\n", b"\r", b"\n\r", b'"\n']
)
def test_hostile_repetition_is_bounded(pattern: bytes) -> None:
    """No repeated pattern of quotes and line ends makes a counter raise or hold much more than a block."""
    data = pattern * (2 * BLOCK_BYTES // len(pattern) + 1)
    counter = CsvCounter()
    tracemalloc.start()
    counter.update(data)
    result = counter.finish()
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert result == count(data, block_bytes=997)
    assert peak < 128 * BLOCK_BYTES


@given(st.binary(max_size=300), st.integers(4, 9))
def test_any_bytes_end_in_an_outcome(data: bytes, block_bytes: int) -> None:
    """Any bytes are counted or not, and never raise."""
    assert isinstance(count(data, block_bytes=block_bytes), (int, NotCounted))
