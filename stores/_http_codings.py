"""Content codings: bodies are asked for as they are, and some servers compress them all the same."""

from __future__ import annotations

import zlib
from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing
from typing import Protocol

from anyio import to_thread

from airflow_landmark.markers import show

from ._errors import LastingTrouble, PassingTrouble
from ._http_client import HttpAnswer

__all__ = ["Decoder", "coding_of", "damaged", "decoded", "decoder_of"]

_GZIP = frozenset({"gzip", "x-gzip"})
_PIECE_BYTES = 1 << 20
"""So much is decoded at once: a small body may stand for a huge one."""


class Decoder(Protocol):
    """Turns a body into what was encoded, piece by piece. Blocks for about a millisecond a piece."""

    def pieces(self, chunk: bytes) -> Iterator[bytes]:
        """What the next bytes of the body stand for, in pieces of at most 1 MiB.

        :raises zlib.error: when they are no such coding.
        """

    def finish(self) -> None:
        """The body has ended.

        :raises zlib.error: when the coding has not.
        """


def coding_of(answer: HttpAnswer) -> str:
    """The coding of the body; empty when it comes as it is."""
    coding = (answer.header("content-encoding") or "").strip().lower()
    return "" if coding == "identity" else coding


def decoder_of(coding: str, place: str) -> Decoder:
    """A decoder for one body.

    :param coding: as :func:`coding_of` has it, not empty.
    :raises LastingTrouble: when this release does not know it.
    """
    if coding in _GZIP:
        return _Gzip()
    if coding == "deflate":
        return _Deflate()
    raise LastingTrouble(
        place, f"the body comes encoded as {show(coding)}, unasked: of those gzip and deflate can be read"
    )


def damaged(place: str, coding: str) -> PassingTrouble:
    """The error that bytes are which are no such coding."""
    return PassingTrouble(place, f"the body says that it is {show(coding)}, and is not, or not all of it")


async def decoded(answer: HttpAnswer, place: str) -> AsyncGenerator[bytes, None]:
    """The body without its coding, in pieces of at most 1 MiB; decoded in threads.

    :raises PassingTrouble, LastingTrouble: when it cannot be decoded.
    :raises HttpFault: when it does not come to its end.
    """
    coding = coding_of(answer)
    decoder = decoder_of(coding, place) if coding else None
    try:
        async with aclosing(answer.chunks()) as chunks:
            async for chunk in chunks:
                if decoder is None:
                    yield chunk
                    continue
                pieces = decoder.pieces(chunk)
                while piece := await to_thread.run_sync(next, pieces, b""):
                    yield piece
        if decoder is not None:
            decoder.finish()
    except zlib.error:
        raise damaged(place, coding) from None


class _Inflate:
    """One zlib stream after another."""

    def __init__(self, window: int) -> None:
        self._window = window
        self._inflate = zlib.decompressobj(window)
        self._begun = False

    def pieces(self, chunk: bytes) -> Iterator[bytes]:
        while chunk:
            if self._inflate.eof:
                self._inflate = zlib.decompressobj(self._window)
            self._begun = True
            piece = self._inflate.decompress(chunk, _PIECE_BYTES)
            chunk = self._inflate.unused_data if self._inflate.eof else self._inflate.unconsumed_tail
            if piece:
                yield piece

    def finish(self) -> None:
        if self._begun and not self._inflate.eof:
            raise zlib.error("cut short")


class _Gzip(_Inflate):
    """Any number of gzip members, as RFC 1952 allows."""

    def __init__(self) -> None:
        super().__init__(zlib.MAX_WBITS | 16)


class _Deflate:
    """The zlib format of RFC 9110, or the bare one that some servers send in its place."""

    def __init__(self) -> None:
        self._head = b""
        self._inflate: _Inflate | None = None

    def pieces(self, chunk: bytes) -> Iterator[bytes]:
        if self._inflate is None:
            chunk, self._head = self._head + chunk, b""
            if len(chunk) < 2:
                self._head = chunk
                return
            is_zlib = chunk[0] & 15 == 8 and int.from_bytes(chunk[:2], "big") % 31 == 0
            self._inflate = _Inflate(zlib.MAX_WBITS if is_zlib else -zlib.MAX_WBITS)
        yield from self._inflate.pieces(chunk)

    def finish(self) -> None:
        if self._inflate is not None:
            self._inflate.finish()
        elif self._head:
            raise zlib.error("cut short")
