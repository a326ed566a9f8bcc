"""What the row counters of all formats share: blocks, bounds, and an outcome that stays."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal

__all__ = ["BLOCK_BYTES", "RECORD_LIMIT_BYTES", "NotCounted", "RowCounter", "TextCounter"]

BLOCK_BYTES = 256 * 1024
"""Bytes that are counted at once; they stay in a processor's cache."""

RECORD_LIMIT_BYTES = 16 * 1024 * 1024
"""A text record that goes on through more than this many bytes of whole blocks is not counted."""

_BOM = b"\xef\xbb\xbf"
_NOT_TEXT = {
    b"\xff\xfe": "UTF-16 or UTF-32",
    b"\xfe\xff": "UTF-16",
    b"\x1f\x8b": "gzip that is not declared",
    b"\x28\xb5\x2f\xfd": "Zstandard that is not declared",
}


@dataclass(frozen=True, slots=True)
class NotCounted:
    """The rows of a file could not be counted: neither a yes nor a no to a promised number.

    :param reason: why, for people.
    """

    reason: str


class RowCounter(ABC):
    """Takes the bytes of one file in order and tells at their end how many data records they held.

    A counter never raises on account of the bytes, and holds a bounded part of them. The bytes are cut
    into blocks of one size, so that the outcome does not depend on how they were handed over.

    :param block_bytes: bytes that are looked at together.
    """

    def __init__(self, *, block_bytes: int = BLOCK_BYTES) -> None:
        self._block_bytes = block_bytes
        self._held = bytearray()
        self._outcome: int | NotCounted | None = None

    @property
    def outcome(self) -> int | NotCounted | None:
        """What is settled: ``None`` while counting, ``NotCounted`` as soon as that is sure."""
        return self._outcome

    @property
    def sums(self) -> Mapping[str, Decimal]:
        """The exact sums of the columns that were to be added up; of use once the rows are counted."""
        return {}

    def update(self, chunk: bytes, /) -> None:
        """Take the next bytes; once the outcome is settled, pass them over."""
        offset = 0
        while self._outcome is None and offset < len(chunk):
            piece = chunk[offset : offset + self._block_bytes - len(self._held)]
            offset += len(piece)
            if len(piece) == self._block_bytes:
                self._outcome = self._take(piece)
                continue
            self._held += piece
            if len(self._held) == self._block_bytes:
                self._outcome = self._take_held()

    def finish(self) -> int | NotCounted:
        """The number of data records, or why they were not counted; the same when asked again."""
        if self._outcome is None and self._held:
            self._outcome = self._take_held()
        if self._outcome is None:
            self._outcome = self._end()
        return self._outcome

    def _take_held(self) -> NotCounted | None:
        block = bytes(self._held)
        self._held.clear()
        return self._take(block)

    @abstractmethod
    def _take(self, block: bytes) -> NotCounted | None:
        """Count a block: of ``block_bytes``, the last one shorter, none empty."""

    @abstractmethod
    def _end(self) -> int | NotCounted:
        """The outcome after the last block."""


class TextCounter(RowCounter):
    """Counts records of text in UTF-8 or another encoding that holds ASCII bytes as they are.

    A UTF-8 byte order mark is passed over. NUL bytes are in no such text, but in UTF-16, UTF-32 and
    binary data, whose line ends would be miscounted.
    """

    _begun = False

    def _take(self, block: bytes) -> NotCounted | None:
        if not self._begun:
            self._begun = True
            for start, name in _NOT_TEXT.items():
                if block.startswith(start):
                    return NotCounted(f"the bytes are no plain text but {name}")
            block = block.removeprefix(_BOM)
        if b"\0" in block:
            return NotCounted("the text holds NUL bytes: binary data, UTF-16 or UTF-32")
        return self._take_text(block)

    @abstractmethod
    def _take_text(self, block: bytes) -> NotCounted | None:
        """Count a block without a byte order mark and NUL bytes; the first may be empty."""
