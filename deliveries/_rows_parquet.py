"""Telling the rows of a Parquet file from its footer, which comes last in the stream.

A file is ``PAR1``, data, the footer, the footer's length (4 bytes, little endian), ``PAR1``; see
https://parquet.apache.org/docs/file-format/. No column is read: the footer's number is believed when
that of its row groups agrees.
"""

from __future__ import annotations

import importlib
from collections import deque
from io import BytesIO
from typing import Any

from ._rows_base import BLOCK_BYTES, NotCounted, RowCounter

__all__ = ["FOOTER_LIMIT_BYTES", "ParquetCounter"]

FOOTER_LIMIT_BYTES = 16 * 1024 * 1024
"""The largest footer; as much of a file's end, or less of a smaller file, is held in memory."""

_MAGIC = b"PAR1"
_ENCRYPTED_MAGIC = b"PARE"
_TRAILER_BYTES = 8


class ParquetCounter(RowCounter):
    """Holds the end of a Parquet file and reads the footer from it; needs pyarrow when it finishes."""

    def __init__(self) -> None:
        super().__init__()
        self._seen_bytes = 0
        self._tail: deque[bytes] = deque(maxlen=FOOTER_LIMIT_BYTES // BLOCK_BYTES + 2)

    def _take(self, block: bytes) -> NotCounted | None:
        if not self._seen_bytes and not block.startswith(_MAGIC):
            if block.startswith(_ENCRYPTED_MAGIC):
                return NotCounted("the Parquet file's footer is encrypted")
            return NotCounted("not a Parquet file: it does not begin with PAR1")
        self._seen_bytes += len(block)
        self._tail.append(block)
        return None

    def _end(self) -> int | NotCounted:
        trailer = self._last(_TRAILER_BYTES)
        if not trailer.endswith(_MAGIC):
            return NotCounted("the Parquet file is cut: it does not end with PAR1")
        footer_bytes = int.from_bytes(trailer[:4], "little")
        if footer_bytes + len(_MAGIC) + _TRAILER_BYTES > self._seen_bytes:
            return NotCounted(f"the Parquet file is cut: a footer of {footer_bytes} bytes does not fit in it")
        if footer_bytes > FOOTER_LIMIT_BYTES:
            return NotCounted(f"the Parquet footer is longer than {FOOTER_LIMIT_BYTES} bytes")
        return _rows_of(BytesIO(_MAGIC + self._last(footer_bytes + _TRAILER_BYTES)))

    def _last(self, count: int) -> bytes:
        pieces: deque[bytes] = deque()
        missing = count
        while missing > 0 and self._tail:
            pieces.appendleft(self._tail.pop())
            missing -= len(pieces[0])
        self._tail.extend(pieces)
        return b"".join(pieces)[-count:]


def _rows_of(file: BytesIO) -> int | NotCounted:
    try:
        parquet: Any = importlib.import_module("pyarrow.parquet")
    except ImportError as error:
        return NotCounted(f"pyarrow cannot be imported: {type(error).__name__}")
    try:
        metadata = parquet.read_metadata(file)
        groups = [metadata.row_group(number).num_rows for number in range(metadata.num_row_groups)]
        rows = int(metadata.num_rows)
    except Exception as error:  # noqa: BLE001  the bytes are anyone's, and so is what the parser raises on them
        return NotCounted(f"the Parquet footer is damaged: {type(error).__name__}")
    if rows != sum(groups) or min(groups, default=0) < 0:
        return NotCounted("the Parquet footer contradicts itself on the number of rows")
    return rows
