"""Trailer rows, delimiters, and exact sums of columns, counted from the bytes that flow by."""

from __future__ import annotations

import csv
import gzip
import io
import tracemalloc
from decimal import Decimal
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from airflow_landmark.deliveries import row_counter
from airflow_landmark.deliveries._rows import NotCounted, RowCounter
from airflow_landmark.deliveries._rows_base import BLOCK_BYTES, RECORD_LIMIT_BYTES
from airflow_landmark.deliveries._rows_csv import CsvCounter
from airflow_landmark.deliveries._rows_sums import Columns, CsvSums
from airflow_landmark.markers import Interval, exact_decimal

DAY = Interval.parse("2024-10-01T00:00:00Z/2024-10-02T00:00:00Z")
PIECES = st.lists(
    st.sampled_from(
        ['"', '""', ";", "\n", "\r\n", "\r", "1", "-2.5", "x", " ", '"3"', '"4\n5"', "$", "\u00e9"]
    ),
    max_size=30,
).map("".join)


def feed(counter: RowCounter, data: bytes, cuts: list[int]) -> int | NotCounted:
    """The outcome of a file that is handed over in pieces."""
    edges = [0, *sorted(min(cut, len(data)) for cut in cuts), len(data)]
    for start, end in pairwise(edges):
        counter.update(data[start:end])
    return counter.finish()


def count(data: bytes | str, path: str = "a.csv", **declared: Any) -> tuple[Any, dict[str, Decimal]]:
    """Rows, or why they were not counted, and sums."""
    counter = row_counter(path, **declared)
    if isinstance(counter, NotCounted):
        return counter.reason, {}
    counter.update(data.encode() if isinstance(data, str) else data)
    counted = counter.finish()
    return (counted.reason, {}) if isinstance(counted, NotCounted) else (counted, dict(counter.sums))


def expected(text: str, column: int, header: int, trailer: int) -> tuple[int, Decimal] | None:
    """What csv.reader and Decimal make of a text; ``None`` when no sum can be told."""
    *rows, last = csv.reader(io.StringIO(text + "\n$", newline=""), delimiter=";")
    records = [row for row in rows if row]
    if last != ["$"] or len(records) < header + trailer:
        return None
    total = Decimal(0)
    for row in records[header : len(records) - trailer]:
        if column >= len(row):
            return None
        number = exact_decimal(row[column].strip()) if row[column].strip() else Decimal(0)
        if number is None:
            return None
        total += number
    return len(records) - header - trailer, total


@settings(max_examples=600, deadline=None)
@given(
    PIECES,
    st.integers(0, 1),
    st.integers(0, 2),
    st.integers(0, 2),
    st.integers(4, 9),
    st.lists(st.integers(0, 60), max_size=5),
)
@example('"1\n2"\n3\n', 0, 0, 0, 4, [])
@example('1\n"$', 0, 0, 0, 4, [])
@example("1\n$\n", 0, 0, 1, 4, [])
@example("1\r\n2\r\n", 0, 0, 0, 4, [2])
@example('1;"a""\n"\n', 0, 0, 0, 4, [])
def test_equals_csv_reader(
    text: str, column: int, header: int, trailer: int, block_bytes: int, cuts: list[int]
) -> None:
    """Any text adds up as csv.reader reads it, however it is cut; elsewhere nothing is told."""
    counter = CsvSums(
        Columns([str(column + 1)]),
        delimiter=b";",
        header_rows=header,
        trailer_rows=trailer,
        block_bytes=block_bytes,
    )
    counted = feed(counter, text.encode(), cuts)
    wanted = expected(text, column, header, trailer)
    if wanted is None or isinstance(counted, NotCounted):
        assert isinstance(counted, NotCounted)
        assert wanted is None or "header" in counted.reason
    else:
        assert (counted, counter.sums[str(column + 1)]) == wanted


@settings(max_examples=300, deadline=None)
@given(PIECES, st.integers(0, 2), st.integers(0, 2))
def test_counts_as_the_fast_counter_does(text: str, header: int, trailer: int) -> None:
    """Where both can tell, adding up counts the same records as counting alone."""
    fast = CsvCounter(delimiter=b";", header_rows=header, trailer_rows=trailer)
    slow = CsvSums(Columns(["1"]), delimiter=b";", header_rows=header, trailer_rows=trailer)
    counted, added = feed(fast, text.encode(), []), feed(slow, text.encode(), [])
    if isinstance(counted, NotCounted):
        assert isinstance(added, NotCounted)
    else:
        assert isinstance(added, NotCounted) or added == counted


def test_exactness() -> None:
    """Sums are exact to the last digit, whatever the sizes."""
    numbers = ["0.1"] * 10 + ["99999999999999999999999999.99", "-0.00000000000000000000000001"]
    data = "n\n" + "\n".join(numbers)
    rows, sums = count(data, header_rows=1, sum_columns=["n"])
    assert rows == 12
    assert str(sums["n"]) == "100000000000000000000000000.98999999999999999999999999"


def test_the_largest_sums_are_exact() -> None:
    """Numbers of the greatest length, far apart in size, lose nothing."""
    large, small = "9" * 64, "." + "0" * 62 + "1"
    _, sums = count(f"{large}\n{small}\n{large}\n", sum_columns=["1"])
    assert str(sums["1"]) == f"{int(large) * 2}.{'0' * 62}1"


def test_several_columns_by_name_and_number() -> None:
    """Columns are named as in the last header row, or by their number."""
    data = "Report;\n id ; net;gross\n1;2;3\n4;5;6\n"
    rows, sums = count(data, header_rows=2, delimiter=";", sum_columns=["gross", "1", "net"])
    assert (rows, sums) == (2, {"gross": 9, "1": 5, "net": 7})


def test_names_before_numbers() -> None:
    """A header that is called 2 is meant before the second column is."""
    assert count("2,x\n5,7\n", header_rows=1, sum_columns=["2"])[1] == {"2": 5}


def test_empty_cells_add_nothing() -> None:
    """An empty cell counts as a row and adds nothing; no rows add up to zero."""
    assert count("n,x\n,a\n 2 ,b\n   ,c\n", header_rows=1, sum_columns=["n"]) == (3, {"n": 2})
    assert count("n\n", header_rows=1, sum_columns=["n"]) == (0, {"n": 0})
    assert count("", sum_columns=["1"]) == (0, {"1": 0})


@pytest.mark.parametrize("sum_columns", [[], ["1"]])
@pytest.mark.parametrize(
    ("data", "header", "trailer", "rows"),
    [
        ("n\n1\n2\nTRL;2\n", 1, 1, 2),
        ("n\n1\n2\nTRL;2", 1, 1, 2),
        ("n\n1\nTRL;2\n\nEND", 1, 2, 1),
        ("n\nTRL", 1, 1, 0),
        ('n\n1\n"TRL\n2"\n', 1, 1, 1),
    ],
)
def test_trailer_rows(data: str, header: int, trailer: int, rows: int, sum_columns: list[str]) -> None:
    """The last records are left out, whatever they look like."""
    declared = {"header_rows": header, "trailer_rows": trailer, "sum_columns": sum_columns}
    assert count(data, delimiter=";", **declared)[0] == rows


@pytest.mark.parametrize("sum_columns", [[], ["1"]])
def test_too_few_records(sum_columns: list[str]) -> None:
    """A file of fewer records than header and trailer is not counted."""
    for data in ("", "1\n", "1\n2\n"):
        reason = count(data, header_rows=1, trailer_rows=2, sum_columns=sum_columns)[0]
        assert "record" in reason


@pytest.mark.parametrize(
    ("data", "declared", "text"),
    [
        ("n\n1,234.50\n", {"delimiter": ";"}, "record 2, column 'n': no plain number with ."),
        ("n\n1.5\n", {"decimal": ","}, "no plain number with ,"),
        ("n\njones\n", {}, "no plain number"),
        ("n\n1e5\n", {}, "no plain number"),
        ("n,m\n1,2\n", {"sum_columns": ["m", "k"]}, "column 'k' stands 0 times"),
        ("n,n\n1,2\n", {}, "stands 2 times"),
        ("m,n\n1,2\n3\n", {}, "record 3 has no column 'n'"),
        ("n\n1\n", {"header_rows": 0}, "column 'n' stands 0 times"),
        ("n\n1\n", {"sum_columns": ["0"]}, "stands 0 times"),
        ('n\n"1\n', {}, "ends within quotes, in record 2"),
        ("n\n" + "x" * 200_000 + "\n", {}, "record 2 cannot be read"),
        ("n\n1\0\n", {}, "NUL"),
        ("n\n1\n", {"sum_columns": ["ü"], "media_type": "text/csv; charset=ascii"}, "cannot be named"),
        ("n\n1\n", {"sum_columns": ["n"], "media_type": "text/csv; charset=latin-0"}, "cannot be named"),
    ],
)
def test_sums_that_cannot_be_told(data: str, declared: dict[str, Any], text: str) -> None:
    """What cannot be added up ends the counting with a reason that names record and column."""
    reason, _ = count(data, **{"header_rows": 1, "sum_columns": ["n"], **declared})
    assert text in reason
    assert "jones" not in reason


def test_decimal_commas() -> None:
    """A comma before the decimals has to be declared, and stands in quotes where it also delimits."""
    assert count("n;m\n1,5;x\n-2,25;x\n", delimiter=";", decimal=",", header_rows=1, sum_columns=["n"])[
        1
    ] == {"n": Decimal("-0.75")}
    assert count('"1,5",x\n', decimal=",", sum_columns=["1"])[1] == {"1": Decimal("1.5")}


@pytest.mark.parametrize("charset", ["utf-8", "latin-1", "shift_jis"])
def test_names_in_other_encodings(charset: str) -> None:
    """A column's name is looked for in the file's own encoding."""
    name = "金額" if charset == "shift_jis" else "Größe"
    data = f"id,{name}\n1,2.5\n".encode(charset)
    media_type = f"text/csv; charset={charset}"
    assert count(data, header_rows=1, sum_columns=[name], media_type=media_type) == (
        1,
        {name: Decimal("2.5")},
    )


def test_a_byte_order_mark() -> None:
    """A mark before the first name is no part of it."""
    assert count("\ufeffn\n1\n", header_rows=1, sum_columns=["n"]) == (1, {"n": 1})


def test_compressed_files() -> None:
    """The sums of a gzip file are those of its text."""
    data = gzip.compress(b"n\n1.5\n2\n")
    assert count(data, "a.csv.gz", header_rows=1, sum_columns=["n"]) == (2, {"n": Decimal("3.5")})


@pytest.mark.parametrize(("path", "delimiter"), [("a.dat", "|"), ("a.csv", ";"), ("a.tsv", ","), ("A", "\t")])
def test_declared_delimiters(path: str, delimiter: str) -> None:
    """A declared delimiter makes a file CSV whatever its name, and goes before the usual one."""
    data = f'"a{delimiter}b\nc"{delimiter}2\n'
    assert count(data, path, delimiter=delimiter, sum_columns=["2"]) == (1, {"2": 2})
    assert count(data, path, delimiter=delimiter)[0] == 1


@pytest.mark.parametrize(
    ("path", "declared", "text"),
    [
        ("a.csv", {"delimiter": "x"}, "is no delimiter"),
        ("a.csv", {"delimiter": '"'}, "is no delimiter"),
        ("a.csv", {"delimiter": "\n"}, "is no delimiter"),
        ("a.csv", {"delimiter": "é"}, "is no delimiter"),
        ("a.csv", {"delimiter": ";;"}, "is no delimiter"),
        ("a.csv", {"delimiter": ""}, "is no delimiter"),
        ("a.csv", {"delimiter": "\ud800"}, "is no delimiter"),
        (
            "a.csv",
            {"delimiter": "|", "media_type": "text/csv; charset=shift_jis"},
            "may be part of a character",
        ),
        (
            "a.csv",
            {"delimiter": "|", "media_type": "text/csv; charset=gb18030"},
            "may be part of a character",
        ),
        ("a.csv", {"trailer_rows": -1}, "cannot be"),
        ("a.csv", {"sum_columns": ["1"], "decimal": "'"}, "no mark before decimals"),
        ("a.jsonl", {"trailer_rows": 1}, "1 trailer rows are declared"),
        ("a.jsonl", {"delimiter": ";"}, "not delimited text"),
        ("a.parquet", {"sum_columns": ["n"]}, "not delimited text"),
    ],
)
def test_files_that_cannot_be_so(path: str, declared: dict[str, Any], text: str) -> None:
    """What a kind of file cannot have is refused before it is read."""
    assert text in count("", path, **declared)[0]


def test_semicolons_are_no_part_of_a_character() -> None:
    """A delimiter below @ is safe in every character set that is counted."""
    data = "金;1\n".encode("gb18030")
    assert count(data, delimiter=";", media_type="text/csv; charset=gb18030", sum_columns=["2"]) == (
        1,
        {"2": 1},
    )


def test_constant_memory() -> None:
    """However long the file, what is held stays within a few blocks."""
    counter = row_counter("a.csv", sum_columns=["1"], trailer_rows=3)
    assert isinstance(counter, RowCounter)
    block = b"1.25,some text\n" * 20_000
    tracemalloc.start()
    try:
        counter.update(block)
        first = tracemalloc.get_traced_memory()[1]
        for _ in range(4):
            counter.update(block)
        assert tracemalloc.get_traced_memory()[1] < 2 * first
    finally:
        tracemalloc.stop()
    assert counter.finish() == 5 * 20_000 - 3
    assert counter.sums["1"] == Decimal("1.25") * (5 * 20_000 - 3)


def test_an_open_quote_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Text within open quotes is parsed again only as often as it doubles, and ends at the limit."""
    counter = CsvSums(Columns(["1"]), delimiter=b",")
    parsed: list[int] = []
    parse = counter._parse
    monkeypatch.setattr(counter, "_parse", lambda whole: parsed.append(len(whole)) or parse(whole))
    chunk = b'a\n","' * (BLOCK_BYTES // 5)
    counter.update(b'1,"')
    for _ in range(4 * RECORD_LIMIT_BYTES // len(chunk)):
        counter.update(chunk)
    counted = counter.finish()
    assert isinstance(counted, NotCounted)
    assert "longer than" in counted.reason
    assert len(parsed) < 12
    assert sum(parsed) < 3 * RECORD_LIMIT_BYTES
