"""Deliveries on a local or mounted folder."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Hashable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from io import BufferedReader
from typing import BinaryIO, TypeVar

import anyio
from aiofiles.threadpool import wrap
from anyio import to_thread

from airflow_landmark.markers import path_key

from . import _local_write as write
from ._address import Address
from ._daemons import start_thread
from ._errors import Absent, Changed, PassingTrouble, StoreError
from ._local_digest import DigestRun
from ._local_files import facts_of, look_at, open_file, pin_of, sorted_error
from ._local_list import list_folder, names_in
from ._mounts import MountTable
from ._threads import DEFAULT_LOOK_SECONDS, MountThreads
from ._values import Digested, Facts, Look, Pin, Sighting, Sink

__all__ = ["LocalStore"]

ResultT = TypeVar("ResultT")

_LIST_FROM = 8
"""From so many names in one folder on, a listing is tried before single looks."""
_WORTH = 4
"""A listing is worth it while the folder holds at most so many names for each one that is wanted."""
_ROUNDS_BIG = 60
"""For so many looks a folder that was too big for a listing is not listed again."""
_CHUNK_BYTES = 1 << 20


class LocalStore:
    """Local and mounted folders. Blocking calls run in threads of the mount that they go to.

    :param look_seconds: how long one look at one file may take before it counts as hung.
    :param stall_seconds: how long a digest may make no progress.
    """

    lists_neighbours = False

    def __init__(self, *, look_seconds: float = DEFAULT_LOOK_SECONDS, stall_seconds: float = 120.0) -> None:
        self.look_seconds = look_seconds
        self.stall_seconds = stall_seconds
        self._mounts = MountTable(())
        self._threads: dict[str, MountThreads] = {}
        self._digests = anyio.CapacityLimiter(min(8, (os.cpu_count() or 1) + 1))
        self._readers: ThreadPoolExecutor | None = None
        self._too_big: dict[str, int] = {}

    async def start(self) -> LocalStore:
        """Learn the mount points; to be awaited once before use."""
        self._mounts = await to_thread.run_sync(MountTable.read)
        return self

    async def aclose(self) -> None:
        """Let idle threads go. A thread that hangs on its mount cannot be ended and is left behind."""
        if self._readers is not None:
            self._readers.shutdown(wait=False)

    def group(self, address: Address) -> Hashable:
        """The mount point, so that a hung mount delays no other."""
        return self._mounts.mount_of(address.folder)

    async def look(self, address: Address, *, since: Sighting | None = None) -> Look:
        """See and, unless unchanged, read the marker."""
        return await self._one(address, partial(look_at, since=since))

    async def look_many(
        self,
        wanted: Mapping[Address, Sighting | None],
        *,
        also: Mapping[Address, Sighting | None] | None = None,  # noqa: ARG002 - nothing is free on a disk
    ) -> Mapping[Address, Look | StoreError]:
        """Look at each, leaving out those that a listing of their folder shows to be absent."""
        present, results = await self._without_absent(wanted)
        for mount, addresses in self._by_mount(present).items():
            threads = self._threads_of(mount)
            results.update(await threads.each(lambda a: look_at(a, wanted[a]), addresses))
        return results

    async def listing(
        self, folder: Address, *, pattern: str | None = None, limit: int = 100_000
    ) -> Mapping[str, Facts]:
        """Names and facts in the folder, or in the tree below it."""
        return await self._one(folder, lambda a: list_folder(a, pattern, limit))

    async def facts(self, address: Address) -> Facts:
        """Size and pin, by opening the file."""
        return await self._one(address, facts_of)

    async def facts_many(
        self,
        addresses: Sequence[Address],
        *,
        exact: bool = False,  # noqa: ARG002 - a file has one kind of pin
    ) -> Mapping[Address, Facts | StoreError]:
        """Size and pin of each, by opening each."""
        results: dict[Address, Facts | StoreError] = {}
        for mount, group in self._by_mount(addresses).items():
            results.update(await self._threads_of(mount).each(facts_of, group))
        return results

    async def read(
        self, address: Address, *, pin: Pin | None = None, start: int = 0, stop: int | None = None
    ) -> AsyncIterator[bytes]:
        """The bytes from ``start`` to before ``stop``, in chunks of at most 1 MiB."""
        if self._readers is None:
            self._readers = ThreadPoolExecutor(max_workers=4, thread_name_prefix="landmark-read")
        opened = await self._one(address, lambda a: _open_pinned(a, pin))
        try:
            file = wrap(opened, loop=None, executor=self._readers)
            await file.seek(start)
            left = None if stop is None else max(0, stop - start)
            while left is None or left > 0:
                chunk = await file.read(_CHUNK_BYTES if left is None else min(left, _CHUNK_BYTES))
                if not chunk:
                    break
                left = None if left is None else left - len(chunk)
                yield chunk
            if pin is not None:
                check = partial(_check_pin, address, opened.fileno(), pin)
                await asyncio.get_running_loop().run_in_executor(self._readers, check)
        except OSError as error:
            raise sorted_error(address, error) from None
        finally:
            self._readers.submit(opened.close)  # not awaited: a cancelled reader must still close

    async def digest(
        self,
        address: Address,
        algorithms: Sequence[str],
        *,
        pin: Pin | None = None,
        sinks: Sequence[Sink] = (),
    ) -> Digested:
        """Digest in a thread of its own; ends at the next chunk when cancelled or stalled."""
        run = DigestRun(address, algorithms, pin, sinks)
        await self._pass(run, address)
        return run.result()

    async def _pass(self, run: DigestRun | write.FileCopy, address: Address) -> None:
        """Let a pass over a file run in a thread of its own, to its end or until it stalls."""
        async with self._digests:
            done = start_thread(run, name="landmark pass")
            try:
                while not done.is_set():
                    before = run.bytes_done
                    with anyio.move_on_after(self.stall_seconds):
                        await done.wait()
                    if not done.is_set() and run.bytes_done == before:
                        raise PassingTrouble(address.uri, f"no byte came for {self.stall_seconds:g} s")
            finally:
                run.stopped = True

    async def held_digests(
        self,
        address: Address,  # noqa: ARG002
        algorithms: Sequence[str],  # noqa: ARG002
        *,
        pin: Pin | None = None,  # noqa: ARG002
    ) -> Mapping[str, str]:
        """None: file systems keep no digests."""
        return {}

    async def open(self, address: Address, *, pin: Pin | None = None) -> BinaryIO:
        """The open file itself, which may seek."""
        return await self._one(address, lambda a: _open_pinned(a, pin))

    async def put(self, address: Address, data: bytes) -> Facts:
        """Write atomically."""
        return await self._one(address, lambda a: write.put(a, data))

    async def put_if_absent(self, address: Address, data: bytes) -> Facts:
        """Write atomically unless something lies there."""
        return await self._one(address, lambda a: write.put_if_absent(a, data))

    async def put_if_unchanged(self, address: Address, data: bytes, *, since: Sighting) -> Facts:
        """Replace atomically what was seen."""
        return await self._one(address, lambda a: write.put_if_unchanged(a, data, since))

    async def put_file(
        self,
        address: Address,
        source: BinaryIO,
        *,
        size: int,
        digests: Mapping[str, str],
        sinks: Sequence[Sink] = (),
    ) -> Facts:
        """Copy under a temporary name, then rename; ends at the next chunk when cancelled or stalled."""
        run = write.FileCopy(address, source, size=size, digests=digests, sinks=sinks)
        await self._pass(run, address)
        return run.result()

    async def _one(self, address: Address, function: Callable[[Address], ResultT]) -> ResultT:
        """Call the function in a thread of the address's mount, and raise what it raises."""
        result = (await self._threads_of(self._mounts.mount_of(address.folder)).each(function, [address]))[
            address
        ]
        if isinstance(result, StoreError):
            raise result
        return result

    async def _without_absent(
        self, wanted: Mapping[Address, Sighting | None]
    ) -> tuple[list[Address], dict[Address, Look | StoreError]]:
        """The addresses to look at singly, and the results of those that a listing settled."""
        folders: dict[str, list[Address]] = {}
        for address in wanted:
            folders.setdefault(address.folder, []).append(address)
        singly: list[Address] = []
        settled: dict[Address, Look | StoreError] = {}
        for folder, addresses in folders.items():
            names = await self._names(folder, addresses)
            if isinstance(names, Absent):
                settled.update((address, Look(None, reason=names.reason)) for address in addresses)
                continue
            for address in addresses:
                if names is None or path_key(address.name) in names or "/" in address.name:
                    singly.append(address)
                else:
                    settled[address] = Look(None, reason="no such file")
        return singly, settled

    async def _names(self, folder: str, addresses: Sequence[Address]) -> frozenset[str] | Absent | None:
        """Keys of the names in a folder, when a listing of it is worth while."""
        if len(addresses) < _LIST_FROM or self._threads_of(self._mounts.mount_of(folder)).hangs:
            return None
        if left := self._too_big.pop(folder, 0):
            self._too_big[folder] = left - 1
            return None
        at_most = _WORTH * len(addresses)
        try:
            place = replace(addresses[0], name="")
            names = await self._one(place, lambda a: names_in(a, at_most=at_most))
        except Absent as absent:
            return absent
        except StoreError:
            return None  # each single look tells its own trouble
        if names is None:
            self._too_big[folder] = _ROUNDS_BIG
        return names

    def _by_mount(self, addresses: Sequence[Address]) -> dict[str, list[Address]]:
        groups: dict[str, list[Address]] = {}
        for address in addresses:
            groups.setdefault(self._mounts.mount_of(address.folder), []).append(address)
        return groups

    def _threads_of(self, mount: str) -> MountThreads:
        if mount not in self._threads:
            self._threads[mount] = MountThreads(mount=mount, look_seconds=self.look_seconds)
        return self._threads[mount]


def _open_pinned(address: Address, pin: Pin | None) -> BufferedReader:
    with open_file(address) as (descriptor, _):
        if pin is not None:
            _check_pin(address, descriptor, pin)
        return os.fdopen(os.dup(descriptor), "rb")


def _check_pin(address: Address, descriptor: int, pin: Pin) -> None:
    if pin_of(os.fstat(descriptor)) != pin:
        raise Changed(address.uri, "the file was replaced or changed since it was verified")
