"""Counting the data records of a file from the bytes that flow by while it is being hashed."""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from ._rows_base import NotCounted, RowCounter
from ._rows_csv import CsvCounter
from ._rows_gzip import GzipCounter
from ._rows_json import JsonLinesCounter
from ._rows_parquet import ParquetCounter
from ._rows_sums import Columns, CsvSums

__all__ = ["NotCounted", "RowCounter", "row_counter"]

_FORMATS_BY_MEDIA_TYPE = {
    "text/csv": "csv",
    "application/csv": "csv",
    "text/tab-separated-values": "tsv",
    "application/jsonl": "jsonl",
    "application/jsonlines": "jsonl",
    "application/x-jsonlines": "jsonl",
    "application/ndjson": "jsonl",
    "application/x-ndjson": "jsonl",
    "application/vnd.apache.parquet": "parquet",
}
_FORMATS_BY_EXTENSION = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".parquet": "parquet",
}
_DELIMITERS = {"csv": b",", "tsv": b"\t"}
_GZIP_MEDIA_TYPES = frozenset({"application/gzip", "application/x-gzip"})
_GZIP_ENCODINGS = frozenset({"gzip", "x-gzip"})
_NO_ENCODINGS = frozenset({"", "identity"})

# Encodings in which no part of a longer character looks like a quote, a delimiter or a line end.
_CHARSET = re.compile(
    r"utf-?8|(us-)?ascii|iso-?8859-\d{1,2}|latin-?\d|(windows-|cp)(125\d|874|932|936|949|950)|koi8-[ru]"
    r"|shift_?jis|euc-(jp|kr|tw)|gbk|gb2312|gb18030|big5"
)

# In the others a later byte of a character may be any ASCII byte from @ on.
_SINGLE_BYTES = re.compile(r"utf|us|ascii|iso|latin|windows-125|cp125|windows-874|cp874|koi8|euc")
_DELIMITER = re.compile(rb"[\t !#-/:-@\[-`{-~]")  # no letter, digit, quote or line end


def row_counter(
    path: str,
    *,
    header_rows: int = 0,
    trailer_rows: int = 0,
    media_type: str | None = None,
    content_encoding: str | None = None,
    delimiter: str | None = None,
    sum_columns: Sequence[str] = (),
    decimal: str = ".",
) -> RowCounter | NotCounted:
    """What counts the rows of a file, chosen from its media type, else from its name's extension.

    CSV is counted as ``csv.reader`` with the dialect ``excel`` reads it, tab-separated values as with
    ``excel-tab``; JSON lines by their lines; Parquet by its footer. Any of them may be gzip, which the
    content encoding, the media type or the extension ``.gz`` tells. A trailer looks like any record: it
    is part of the count unless it is declared.

    :param path: of the file; only its last part is looked at.
    :param header_rows: records before the data; a media type's ``header`` parameter is not looked at.
    :param trailer_rows: records after the data.
    :param media_type: such as ``text/csv; charset=utf-8``; one that is not known here, or ``None``,
        leaves the choice to the extension.
    :param content_encoding: ``gzip``, ``identity`` or ``None``.
    :param delimiter: one ASCII character between fields, which makes the file CSV; ``None`` leaves it to
        media type and extension.
    :param sum_columns: names or numbers of the columns of CSV that are added up on the way.
    :param decimal: mark before the decimals of their numbers, ``.`` or ``,``.
    """
    kind, _, parameters = (media_type or "").lower().partition(";")
    kind = kind.strip()
    encoding = (content_encoding or "").strip().lower()
    if encoding not in _GZIP_ENCODINGS | _NO_ENCODINGS:
        return NotCounted(f"rows cannot be counted under the content encoding {_shown(encoding)}")
    name = PurePosixPath(path.lower()).name
    is_gzip = encoding in _GZIP_ENCODINGS or kind in _GZIP_MEDIA_TYPES or name.endswith(".gz")
    extension = PurePosixPath(name.removesuffix(".gz")).suffix
    chosen = _FORMATS_BY_MEDIA_TYPE.get(kind) or _FORMATS_BY_EXTENSION.get(extension)
    if chosen is None and delimiter is not None:
        chosen = "csv"
    if chosen is None:
        told = f"media type {_shown(kind)}" if kind else f"name {_shown(name)}"
        return NotCounted(f"rows are counted in CSV, TSV, JSON lines and Parquet; the {told} is none of them")
    shape = _Shape(header_rows, trailer_rows, delimiter, tuple(sum_columns), decimal)
    if chosen in _DELIMITERS:
        counter = _csv_counter(shape, _DELIMITERS[chosen], charset=_charset(parameters))
    else:
        counter = _other_counter(shape, chosen)
    return GzipCounter(counter) if is_gzip and isinstance(counter, RowCounter) else counter


@dataclass(frozen=True, slots=True)
class _Shape:
    """What is declared of a file's records."""

    header_rows: int
    trailer_rows: int
    delimiter: str | None
    sum_columns: tuple[str, ...]
    decimal: str


def _csv_counter(shape: _Shape, usual: bytes, *, charset: str) -> RowCounter | NotCounted:
    """Counts delimited text; adds up columns only where that is asked for, since it is far slower."""
    if shape.header_rows < 0 or shape.trailer_rows < 0:
        return NotCounted(f"{shape.header_rows} header and {shape.trailer_rows} trailer rows cannot be")
    if not _CHARSET.fullmatch(charset):
        return NotCounted(f"rows cannot be counted in the character set {_shown(charset)}")
    delimiter = usual if shape.delimiter is None else shape.delimiter.encode("utf-8", "surrogatepass")
    if not _DELIMITER.fullmatch(delimiter):
        return NotCounted(f"{_shown(shape.delimiter or '')} is no delimiter: one ASCII mark or a tab is")
    if delimiter >= b"@" and not _SINGLE_BYTES.match(charset):
        return NotCounted(f"{_shown(delimiter.decode())} may be part of a character of {_shown(charset)}")
    if not shape.sum_columns:
        return CsvCounter(delimiter=delimiter, header_rows=shape.header_rows, trailer_rows=shape.trailer_rows)
    if shape.decimal not in (".", ","):
        return NotCounted(f"{_shown(shape.decimal)} is no mark before decimals")
    return CsvSums(
        Columns(shape.sum_columns, shape.decimal, charset),
        delimiter=delimiter,
        header_rows=shape.header_rows,
        trailer_rows=shape.trailer_rows,
    )


def _other_counter(shape: _Shape, chosen: str) -> RowCounter | NotCounted:
    if shape.header_rows:
        return NotCounted(f"{shape.header_rows} header rows are declared, but {chosen} files have none")
    if shape.trailer_rows:
        return NotCounted(f"{shape.trailer_rows} trailer rows are declared, but {chosen} files have none")
    if shape.delimiter is not None or shape.sum_columns:
        return NotCounted(f"a delimiter or sums are declared, but {chosen} files are not delimited text")
    if chosen == "jsonl":
        return JsonLinesCounter()
    if importlib.util.find_spec("pyarrow") is None:
        return NotCounted('Parquet rows need pyarrow: pip install "airflow-landmark[parquet]"')
    return ParquetCounter()


def _charset(parameters: str) -> str:
    for parameter in parameters.split(";"):
        key, _, value = parameter.partition("=")
        if key.strip() == "charset":
            return value.strip().strip('"')
    return "utf-8"


def _shown(text: str) -> str:
    return ascii(text[:80])
