"""An object as a file for blocking code: seekable, read by range as it is asked for, one state only."""

from __future__ import annotations

import asyncio
import io
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack
from typing import Any, BinaryIO, cast

from ._address import Address
from ._s3_bridge import Bridge, bridge
from ._s3_client import S3Connection
from ._s3_facts import facts
from ._s3_read import Reading
from ._values import Facts, Pin

__all__ = ["open_file"]

_BUFFER_BYTES = 1 << 20
_FIRST_BYTES = 1 << 20
_MOST_BYTES = 256 << 20
"""What is asked for at once: little after a jump, and more and more while reading goes straight on."""
_LINGER_SECONDS = 20.0
"""So long a client is kept after its last file: the next file often comes soon."""


async def open_file(address: Address, pin: Pin | None) -> BinaryIO:
    """The object, in the pinned state or in the one that lies there now.

    :param address: with its access.
    :raises Changed: when it is not the pinned state.
    :raises StoreError: sorted.
    """
    here = bridge()
    opened = here.submit(_Opened.at(here, address, pin))
    raw = _RawObject(here, await asyncio.wrap_future(opened))
    return cast("BinaryIO", io.BufferedReader(raw, _BUFFER_BYTES))


class _RawObject(io.RawIOBase):
    """Reads through the bridge; used by one thread at a time."""

    def __init__(self, here: Bridge, opened: _Opened) -> None:
        self._here = here
        self._opened = opened
        self._at = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Move; nothing is asked for before the next read."""
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._opened.size}[whence]
        if base + offset < 0:
            raise ValueError(f"negative seek position {base + offset}")
        self._at = base + offset
        return self._at

    def readinto(self, buffer: Any) -> int:
        """Fill the buffer; less only at the end."""
        data = self._read(len(buffer))
        buffer[: len(data)] = data
        return len(data)

    def readall(self) -> bytes:
        """All that is left, in larger steps than the base class takes."""
        chunks = []
        while chunk := self._read(_BUFFER_BYTES):
            chunks.append(chunk)
        return b"".join(chunks)

    def close(self) -> None:
        """Never waits: it may be called by the garbage collector, in any thread."""
        if not self.closed:
            self._here.close_later(self._opened.aclose, _LINGER_SECONDS)
        super().close()

    def _read(self, length: int) -> bytes:
        data = self._here.wait(self._opened.read(self._at, length))
        self._at += len(data)
        return data


class _Opened:
    """What lives in the bridge's loop: the store's client, and the answer that is read from."""

    def __init__(
        self, stack: AsyncExitStack, connection: S3Connection, address: Address, found: Facts
    ) -> None:
        self.size = found.size
        self._stack = stack
        self._connection = connection
        self._address = address
        self._pin = found.pin
        self._chunks: AsyncGenerator[bytes, None] | None = None
        self._rest = b""
        self._first = self._next = self._end = 0
        """Where reading straight on began, is, and is asked for up to."""

    @classmethod
    async def at(cls, here: Bridge, address: Address, pin: Pin | None) -> _Opened:
        """Open it."""
        from ._registry import open_store  # noqa: PLC0415 - which imports this room's stores

        async with AsyncExitStack() as stack:
            store: Any = await stack.enter_async_context(open_store(address))
            found = await facts(store.connection, address, pin=pin)
            opened = cls(stack.pop_all(), store.connection, address, found)
        here.keep(opened.aclose)
        return opened

    async def read(self, start: int, length: int) -> bytes:
        """The bytes from ``start`` on: ``length``, or fewer at the end."""
        if start != self._next:
            await self._drop()
            self._first = self._next = self._end = start
        gathered, missing = [self._rest], length - len(self._rest)
        while missing > 0 and (chunk := await self._more()):
            gathered.append(chunk)
            missing -= len(chunk)
        data = b"".join(gathered)
        data, self._rest = data[:length], data[length:]
        self._next += len(data)
        return data

    async def aclose(self) -> None:
        """Let go of the answer and of the client."""
        await self._drop()
        await self._stack.aclose()

    async def _more(self) -> bytes:
        """The next chunk, of the next range at the end of this one; empty at the object's end."""
        while True:
            if self._chunks is not None and (chunk := await anext(self._chunks, b"")):
                return chunk
            if self._end >= self.size:
                return b""
            start = self._end
            wanted = min(_MOST_BYTES, max(_FIRST_BYTES, 2 * (start - self._first)))
            self._end = min(self.size, start + wanted)
            reading = Reading(self._connection, self._address, pin=self._pin, start=start, stop=self._end)
            self._chunks = reading.chunks()

    async def _drop(self) -> None:
        chunks, self._chunks, self._rest = self._chunks, None, b""
        if chunks is not None:
            await chunks.aclose()
