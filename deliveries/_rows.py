"""Counting the data records of a file from the bytes that flow by while it is being hashed."""

from __future__ import annotations

import importlib.util
import re
from pathlib import PurePosixPath

from ._rows_base import NotCounted, RowCounter
from ._rows_csv import CsvCounter
from ._rows_gzip import GzipCounter
from ._rows_json import JsonLinesCounter
from ._rows_parquet import ParquetCounter

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


def row_counter(
    path: str,
    *,
    header_rows: int = 0,
    media_type: str | None = None,
    content_encoding: str | None = None,
) -> RowCounter | NotCounted:
    """What counts the rows of a file, chosen from its media type, else from its name's extension.

    CSV is counted as ``csv.reader`` with the dialect ``excel`` reads it, tab-separated values as with
    ``excel-tab``; JSON lines by their lines; Parquet by its footer. Any of them may be gzip, which the
    content encoding, the media type or the extension ``.gz`` tells. A trailer looks like any record: it
    is part of the count.

    :param path: of the file; only its last part is looked at.
    :param header_rows: records before the data; a media type's ``header`` parameter is not looked at.
    :param media_type: such as ``text/csv; charset=utf-8``; one that is not known here, or ``None``,
        leaves the choice to the extension.
    :param content_encoding: ``gzip``, ``identity`` or ``None``.
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
    if chosen is None:
        told = f"media type {_shown(kind)}" if kind else f"name {_shown(name)}"
        return NotCounted(f"rows are counted in CSV, TSV, JSON lines and Parquet; the {told} is none of them")
    counter = _counter(chosen, header_rows=header_rows, charset=_charset(parameters))
    return GzipCounter(counter) if is_gzip and isinstance(counter, RowCounter) else counter


def _counter(chosen: str, *, header_rows: int, charset: str) -> RowCounter | NotCounted:
    if chosen in _DELIMITERS:
        if header_rows < 0:
            return NotCounted(f"{header_rows} header rows cannot be")
        if not _CHARSET.fullmatch(charset):
            return NotCounted(f"rows cannot be counted in the character set {_shown(charset)}")
        return CsvCounter(delimiter=_DELIMITERS[chosen], header_rows=header_rows)
    if header_rows:
        return NotCounted(f"{header_rows} header rows are declared, but {chosen} files have none")
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
