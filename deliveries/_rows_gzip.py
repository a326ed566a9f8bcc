"""Counting the records of a gzip file (RFC 1952) while it is inflated, a bounded block at a time."""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from decimal import Decimal

from ._rows_base import BLOCK_BYTES, NotCounted, RowCounter

__all__ = ["FREE_BYTES", "INFLATED_LIMIT_BYTES", "RATIO_LIMIT", "GzipCounter"]

RATIO_LIMIT = 200
"""Inflated bytes per stored byte; deflate itself reaches 1032. Holds once ``FREE_BYTES`` came out."""

FREE_BYTES = 64 * 1024 * 1024
"""Inflated bytes up to which any ratio is taken."""

INFLATED_LIMIT_BYTES = 1024**4
"""Inflated bytes of one file, whatever the ratio."""

_INPUT_BYTES = 16 * 1024
_GZIP_WINDOW = 31


class GzipCounter(RowCounter):
    """Inflates all members of a gzip file into another counter.

    A member's header, CRC-32 and length are checked. What follows the last member must be a member too:
    zero padding, which some readers pass over, is not counted. An empty file is a cut one.

    :param inner: counts what comes out.
    """

    def __init__(self, inner: RowCounter) -> None:
        super().__init__(block_bytes=_INPUT_BYTES)
        self._inner = inner
        self._member = zlib.decompressobj(wbits=_GZIP_WINDOW)
        self._stored_bytes = 0
        self._inflated_bytes = 0

    @property
    def sums(self) -> Mapping[str, Decimal]:
        """Those of the inflated text."""
        return self._inner.sums

    def _take(self, block: bytes) -> NotCounted | None:
        self._stored_bytes += len(block)
        rest, more = block, True
        while more:
            if self._member.eof:
                self._member = zlib.decompressobj(wbits=_GZIP_WINDOW)
            try:
                inflated = self._member.decompress(rest, BLOCK_BYTES)
            except zlib.error as error:
                return NotCounted(f"not gzip, or damaged, or followed by other bytes: {error}")
            problem = self._pass_on(inflated)
            if problem is not None:
                return problem
            rest = self._member.unused_data if self._member.eof else self._member.unconsumed_tail
            more = bool(rest) or (len(inflated) == BLOCK_BYTES and not self._member.eof)
        return None

    def _end(self) -> int | NotCounted:
        if not self._member.eof:
            return NotCounted("the gzip file is cut: its last member does not end")
        return self._inner.finish()

    def _pass_on(self, inflated: bytes) -> NotCounted | None:
        self._inflated_bytes += len(inflated)
        if self._inflated_bytes > INFLATED_LIMIT_BYTES:
            return NotCounted(f"the gzip file inflates to more than {INFLATED_LIMIT_BYTES} bytes")
        if self._inflated_bytes > max(FREE_BYTES, RATIO_LIMIT * self._stored_bytes):
            return NotCounted(f"the gzip file inflates beyond a ratio of {RATIO_LIMIT}:1")
        self._inner.update(inflated)
        return self._inner.outcome if isinstance(self._inner.outcome, NotCounted) else None
