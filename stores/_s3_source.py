"""A local file that is read once, in threads, on its way into a bucket."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import BinaryIO

from anyio import to_thread

from ._address import Address
from ._errors import Changed, LastingTrouble
from ._hashes import computable, new_hash
from ._values import Sink

__all__ = ["Source", "full_algorithm"]

_CHUNK_BYTES = 1 << 20


def full_algorithm(digests: Mapping[str, str]) -> str | None:
    """A checksum that S3 can make over a whole object in parts: best one that is known already.

    ``None`` where this machine can compute none.
    """
    known = [name for name in ("crc64nvme", "crc32c") if name in digests]
    return next((name for name in [*known, "crc64nvme"] if computable(name)), None)


class Source:
    """What is read, and whether it is what was promised.

    :param address: where it goes, for messages.
    :param file: open for reading, at its start.
    :param size: bytes that are to come.
    :param digests: promised, algorithm to hex.
    :param also: a further algorithm to compute.
    :param sinks: are given every chunk.
    :ivar bytes_read: so far.
    """

    def __init__(
        self,
        address: Address,
        file: BinaryIO,
        *,
        size: int,
        digests: Mapping[str, str],
        also: str | None,
        sinks: Sequence[Sink],
    ) -> None:
        self.bytes_read = 0
        self._address = address
        self._file = file
        self._size = size
        self._promised = {name: digest for name, digest in digests.items() if computable(name)}
        self._hashes = {name: new_hash(name) for name in {*self._promised, "sha256", also} if name}
        self._sinks = sinks

    async def read(self, limit: int) -> bytes:
        """The next bytes, at most ``limit``; fewer at the end only.

        :raises LastingTrouble: when the file cannot be read.
        """
        return await to_thread.run_sync(self._read, limit)

    def hexdigest(self, algorithm: str) -> str:
        """Of what was read so far."""
        return self._hashes[algorithm].hexdigest()

    async def check(self) -> None:
        """Hold all that was read, with nothing after it, against what was promised.

        :raises Changed: when it is something else.
        """
        await self.read(1)
        found = {name: self.hexdigest(name) for name in self._promised}
        if self.bytes_read != self._size or found != self._promised:
            raise Changed(self._address.uri, "the source changed while it was uploaded")

    def _read(self, limit: int) -> bytes:
        chunks = []
        while limit and (chunk := self._chunk(min(limit, _CHUNK_BYTES))):
            for sink in (*self._hashes.values(), *self._sinks):
                sink.update(chunk)
            chunks.append(chunk)
            limit -= len(chunk)
            self.bytes_read += len(chunk)
        return b"".join(chunks)

    def _chunk(self, limit: int) -> bytes:
        try:
            return self._file.read(limit)
        except OSError as error:
            text = f"the file that goes there cannot be read any more: {os.strerror(error.errno or 0)}"
            raise LastingTrouble(self._address.uri, text) from None
