from __future__ import annotations

import gzip
import sys

import pytest

from airflow_landmark.deliveries._rows import NotCounted, RowCounter, row_counter

CSV = b"a,b\n1,2\n3,4\n"
JSON_LINES = b'{"a": 1}\n{"a": 2}\n'


def rows(data: bytes, path: str, **declared: object) -> int | NotCounted:
    """The outcome of a file that is handed over at once."""
    counter = row_counter(path, **declared)  # type: ignore[arg-type]
    if isinstance(counter, NotCounted):
        return counter
    counter.update(data)
    return counter.finish()


def reason(result: object) -> str:
    """Why a file was not counted."""
    assert isinstance(result, NotCounted)
    return result.reason


@pytest.mark.parametrize(
    ("path", "data", "count"),
    [
        ("a.csv", CSV, 3),
        ("in/2024.01/A.CSV", CSV, 3),
        ("a.csv.gz", gzip.compress(CSV, mtime=0), 3),
        ("a.tsv", b'a\t"b\n"\nc\td\n', 2),
        ("a.tsv.gz", gzip.compress(b"a\tb\n", mtime=0), 1),
        ("a.jsonl", JSON_LINES, 2),
        ("a.ndjson", JSON_LINES, 2),
        ("a.jsonl.gz", gzip.compress(JSON_LINES, mtime=0), 2),
    ],
)
def test_extension_chooses(path: str, data: bytes, count: int) -> None:
    """Without a media type the extension chooses the format, in any case of letters."""
    assert rows(data, path) == count


@pytest.mark.parametrize(
    ("media_type", "data", "count"),
    [
        ("text/csv", CSV, 3),
        ("Text/CSV; header=present; charset=UTF-8", CSV, 3),
        ('text/csv;charset="iso-8859-1"', CSV, 3),
        ("application/csv", CSV, 3),
        ("text/tab-separated-values", b'"a\n"\t1\n', 1),
        ("application/jsonl", JSON_LINES, 2),
        ("application/x-ndjson", JSON_LINES, 2),
    ],
)
def test_media_type_goes_first(media_type: str, data: bytes, count: int) -> None:
    """A known media type chooses the format, whatever the name says."""
    assert rows(data, "a.parquet", media_type=media_type) == count
    assert rows(data, "part-0000", media_type=media_type) == count


def test_unknown_media_type_leaves_it_to_the_extension() -> None:
    """A media type that names no known format is passed over."""
    assert rows(CSV, "a.csv", media_type="application/octet-stream") == 3
    assert rows(JSON_LINES, "a.jsonl", media_type="application/json") == 2


@pytest.mark.parametrize(
    "declared",
    [
        {"path": "a.csv", "content_encoding": "gzip"},
        {"path": "a.csv", "content_encoding": " X-GZIP "},
        {"path": "a.csv", "media_type": "application/gzip"},
        {"path": "a.csv.gz", "media_type": "application/x-gzip", "content_encoding": "gzip"},
        {"path": "a.gz", "media_type": "text/csv"},
        {"path": "a.csv.gz", "content_encoding": "identity"},
    ],
)
def test_gzip_is_told_by_encoding_type_or_extension(declared: dict[str, str]) -> None:
    """Content encoding, media type and extension each declare gzip, and together declare it once."""
    assert rows(gzip.compress(CSV), **declared) == 3


@pytest.mark.parametrize("path", ["a.txt", "a", "csv", ".csv", "a.csv.zip", "a.json", "", "gz", ".gz"])
def test_unknown_format_is_not_counted(path: str) -> None:
    """A name without a known extension is not counted, and the reason repeats the name."""
    assert "none of them" in reason(row_counter(path))


def test_reason_shows_a_hostile_name_escaped_and_short() -> None:
    """What a manifest says stands in a reason as bounded printable ASCII."""
    for result in (
        row_counter("x" * 5000 + "\u202e\ud800"),
        row_counter("a", media_type="é\x00" * 5000),
        row_counter("a.csv", content_encoding="x\n" * 5000),
        row_counter("a.csv", media_type="text/csv; charset=" + "\x1b" * 5000),
    ):
        text = reason(result)
        assert text.isascii()
        assert text.isprintable()
        assert len(text) < 600


@pytest.mark.parametrize("encoding", ["br", "zstd", "deflate", "gzip, gzip", "compress"])
def test_other_content_encodings_are_not_counted(encoding: str) -> None:
    """Only gzip is undone."""
    assert encoding in reason(row_counter("a.csv", content_encoding=encoding))


@pytest.mark.parametrize(
    "charset", ["utf-16", "UTF-16LE", "utf-32", "utf-7", "iso-2022-jp", "cp037", "hz", ""]
)
def test_charsets_that_hide_ascii_are_not_counted(charset: str) -> None:
    """A declared character set in which a quote or line end may be part of another character is refused."""
    assert "character set" in reason(row_counter("a.csv", media_type=f"text/csv; charset={charset}"))


@pytest.mark.parametrize("path", ["a.jsonl", "a.parquet"])
def test_header_rows_need_a_format_with_headers(path: str) -> None:
    """Header rows of JSON lines and Parquet are a contradiction, not a subtraction."""
    assert "header rows are declared" in reason(row_counter(path, header_rows=1))


def test_negative_header_rows_are_not_counted() -> None:
    """Header rows below zero never add to a count."""
    assert "-1" in reason(row_counter("a.csv", header_rows=-1))


def test_missing_pyarrow_tells_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without pyarrow a Parquet file is not counted, and the reason is the line that helps."""
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert 'pip install "airflow-landmark[parquet]"' in reason(row_counter("a.parquet"))


class Untouchable(bytes):
    def __getitem__(self, key: object) -> bytes:  # type: ignore[override]
        raise AssertionError(key)


@pytest.mark.parametrize("path", ["a.csv", "a.jsonl", "a.csv.gz", "a.jsonl.gz"])
def test_updates_after_the_outcome_cost_nothing(path: str) -> None:
    """Once the outcome is settled, further bytes are not looked at, and the outcome stays."""
    counter = row_counter(path)
    assert isinstance(counter, RowCounter)
    counter.update(b"\0" * 300_000)
    first = counter.outcome
    assert isinstance(first, NotCounted)
    counter.update(Untouchable(b"1\n" * 10))
    assert counter.finish() == first
    assert counter.finish() == first


def test_finish_is_repeatable_and_ends_the_count() -> None:
    """After the end the count stays, whatever is handed over."""
    counter = row_counter("a.csv")
    assert isinstance(counter, RowCounter)
    counter.update(CSV)
    assert counter.outcome is None
    assert counter.finish() == 3
    counter.update(CSV)
    assert counter.finish() == counter.outcome == 3
