"""What is done with the bytes of a reading: hashing and copying, in threads, in constant memory."""

from __future__ import annotations

import tempfile
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from shutil import disk_usage
from typing import BinaryIO

import anyio
from anyio import to_thread

from ._errors import Changed, LastingTrouble
from ._hashes import Hash, new_hash
from ._http_read import Reading
from ._values import Digested, Facts, Pin, Sink

__all__ = ["copied", "digested"]

_BATCH_BYTES = 1 << 20
"""So much is handed to a thread at once: a hop for each chunk would cost more than the work."""


async def digested(reading: Reading, algorithms: Sequence[str], sinks: Sequence[Sink]) -> Digested:
    """The digests of all that is read.

    :raises StoreError: sorted.
    """
    hashes: dict[str, Hash] = await to_thread.run_sync(_hashes, algorithms)
    takers: list[Sink] = [*hashes.values(), *sinks]
    async with aclosing(_batches(reading)) as batches:
        async for batch in batches:
            await to_thread.run_sync(_feed, takers, batch)
    pin = Pin() if reading.state is None else reading.state.pin
    digests = {name: running.hexdigest() for name, running in hashes.items()}
    return Digested(Facts(reading.position, pin), digests)


async def copied(reading: Reading, place: str, size: int) -> BinaryIO:
    """A temporary file without a name with all that is read, open at its start.

    :param size: bytes that are to come: no more are taken.
    :raises LastingTrouble: when the disk has no room for it.
    :raises StoreError: sorted.
    """
    file = await to_thread.run_sync(_temporary, place, size)
    try:
        await _copy(reading, file, place, size)
    except BaseException:
        with anyio.CancelScope(shield=True):
            await to_thread.run_sync(file.close)
        raise
    return file


async def _copy(reading: Reading, file: BinaryIO, place: str, size: int) -> None:
    async with aclosing(_batches(reading)) as batches:
        async for batch in batches:
            if reading.position > size:
                break
            await to_thread.run_sync(_write, file, batch, place)
    if reading.position != size:
        raise Changed(place, f"it has not the {size} bytes that its server tells of")
    await to_thread.run_sync(file.seek, 0)


async def _batches(reading: Reading) -> AsyncGenerator[list[bytes], None]:
    batch: list[bytes] = []
    size = 0
    async with aclosing(reading.chunks()) as chunks:
        async for chunk in chunks:
            batch.append(chunk)
            size += len(chunk)
            if size >= _BATCH_BYTES:
                yield batch
                batch, size = [], 0
    if batch:
        yield batch


def _hashes(algorithms: Sequence[str]) -> dict[str, Hash]:
    return {name: new_hash(name) for name in algorithms}


def _feed(takers: Sequence[Sink], batch: Sequence[bytes]) -> None:
    for chunk in batch:
        for taker in takers:
            taker.update(chunk)


def _temporary(place: str, size: int) -> BinaryIO:
    folder = tempfile.gettempdir()
    free = disk_usage(folder).free
    if size > free:
        raise LastingTrouble(
            place, f"a copy needs {size} bytes and {folder} has {free}: set TMPDIR to more room"
        )
    return tempfile.TemporaryFile(prefix="landmark-")


def _write(file: BinaryIO, batch: Sequence[bytes], place: str) -> None:
    try:
        file.writelines(batch)
    except OSError as error:
        folder = tempfile.gettempdir()
        raise LastingTrouble(
            place, f"no copy can be kept in {folder} ({error.strerror}): set TMPDIR"
        ) from None
