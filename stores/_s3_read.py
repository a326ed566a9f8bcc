"""Reading objects: by range, one state only, and on from where a connection broke."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import aclosing

import anyio
from anyio import to_thread

from ._address import Address
from ._errors import Changed, LastingTrouble, PassingTrouble
from ._hashes import Hash, new_hash
from ._s3_answer import Answer, check_same, condition, key_of, pin_of
from ._s3_client import S3Connection
from ._s3_errors import status_of
from ._values import Digested, Facts, Pin, Sink

__all__ = ["Reading", "digest"]

_CHUNK_BYTES = 1 << 20
_HASH_BYTES = 4 << 20
"""So much is handed to a thread at once: the way there and back costs more than a few kilobytes."""
_ATTEMPTS = 5
_PROGRESS_BYTES = 16 * 1024
"""So many connections more are tried after one that brought less than this."""
_MAX_CONNECTIONS = 1_000
_MAX_PAUSE = 5.0
_PAST_THE_END = frozenset({"InvalidRange", "416"})


class Reading:
    """One pass over the bytes from ``start`` to before ``stop``.

    :param pin: the state to read; ``None`` takes the one that lies there at the first answer.
    :param pause_seconds: before the second attempt; later ones wait longer.
    :ivar pin: the state that is read, once an answer has come.
    :ivar size: of the whole object, once an answer has come.
    """

    def __init__(
        self,
        connection: S3Connection,
        address: Address,
        *,
        pin: Pin | None = None,
        start: int = 0,
        stop: int | None = None,
        pause_seconds: float = 0.2,
    ) -> None:
        self.pin = pin
        self.size: int | None = None
        self._connection = connection
        self._address = address
        self._at = start
        self._stop = stop
        self._pause_seconds = pause_seconds

    async def chunks(self) -> AsyncGenerator[bytes, None]:
        """The bytes, in chunks of at most 1 MiB. A connection that breaks is replaced, up to a bound.

        :raises StoreError: sorted; :class:`Changed` when it is not the pinned state, or not any more.
        """
        failures = 0
        for connection in range(_MAX_CONNECTIONS):
            before = self._at
            try:
                if self._stop is None or self._at < self._stop:
                    async with aclosing(self._connect()) as chunks:
                        async for chunk in chunks:
                            yield chunk
            except Changed:
                raise
            except PassingTrouble as trouble:
                failures = 1 if self._at - before >= _PROGRESS_BYTES else failures + 1
                if failures > _ATTEMPTS or connection == _MAX_CONNECTIONS - 1:
                    raise
                asked = trouble.retry_after or 0.0
            else:
                return
            await anyio.sleep(min(_MAX_PAUSE, max(asked, self._pause_seconds * 2**failures)))

    async def _connect(self) -> AsyncGenerator[bytes, None]:
        """The bytes that one connection brings."""
        parameters = {"Key": key_of(self._address), **condition(self.pin)}
        if self._at or self._stop is not None:
            last = "" if self._stop is None else str(self._stop - 1)
            parameters["Range"] = f"bytes={self._at}-{last}"
        accept = _PAST_THE_END if "Range" in parameters else ()
        async with self._connection.streamed(self._address, parameters, accept=accept) as answer:
            if status_of(answer) == 416:  # nothing lies from there on
                return
            left = self._check(answer)
            while left and (chunk := await answer["Body"].read(min(left, _CHUNK_BYTES))):
                left -= len(chunk)
                self._at += len(chunk)
                yield chunk
        if left:
            raise PassingTrouble(self._address.uri, f"the answer ended {left} bytes early")

    def _check(self, answer: Answer) -> int:
        """How many bytes the answer holds, once it is sure that they are the ones asked for."""
        check_same(self._address, self.pin, answer)
        length = int(answer.get("ContentLength", -1))
        start, size = _range_of(answer) if status_of(answer) == 206 else (0, length)
        end = size if self._stop is None else min(size, self._stop)
        if start != self._at or length != end - start or length < 0:
            text = "the server answers another range than was asked for: check the endpoint's URL"
            raise LastingTrouble(self._address.uri, text)
        if self.size not in (None, size):
            raise Changed(self._address.uri, "it was replaced while it was read")
        self.size = size
        self.pin = pin_of(answer)
        return length


def _range_of(answer: Answer) -> tuple[int, int]:
    """First byte and size of the object, from ``bytes first-last/size``."""
    try:
        span, _, size = str(answer["ContentRange"]).removeprefix("bytes ").partition("/")
        return int(span.partition("-")[0]), int(size)
    except (KeyError, ValueError):
        return -1, -1


async def digest(
    connection: S3Connection,
    address: Address,
    algorithms: Sequence[str],
    *,
    pin: Pin | None,
    sinks: Sequence[Sink],
) -> Digested:
    """Digest the whole object; hashes and sinks work in threads.

    :raises Changed: when it is not the pinned state, or not any more.
    """
    hashes = {name: new_hash(name) for name in algorithms}
    reading = Reading(connection, address, pin=pin)
    async with aclosing(reading.chunks()) as chunks:
        await _feed(chunks, [*hashes.values(), *sinks])
    found = Facts(reading.size or 0, reading.pin or Pin())
    return Digested(found, {name: run.hexdigest() for name, run in hashes.items()})


async def _feed(chunks: AsyncIterator[bytes], sinks: Sequence[Sink | Hash]) -> None:
    """Hand the bytes on, some megabytes at a time."""

    def take(data: bytes) -> None:
        for sink in sinks:
            sink.update(data)

    gathered: list[bytes] = []
    size = 0
    async for chunk in chunks:
        gathered.append(chunk)
        size += len(chunk)
        if size >= _HASH_BYTES:
            await to_thread.run_sync(take, b"".join(gathered))
            gathered, size = [], 0
    if gathered:
        await to_thread.run_sync(take, b"".join(gathered))
