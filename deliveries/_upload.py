"""Carrying hashed files to the delivery's folder, several at a time, before anything is announced."""

from __future__ import annotations

from collections.abc import Callable

import anyio
from anyio import to_thread

from airflow_landmark.markers import FileEntry
from airflow_landmark.stores import Address, Facts, PassingTrouble, Store, StoreError, WritableStore

from ._folder import Hashed
from ._parallel import each
from ._report import Progress
from ._verify import ByteMeter

__all__ = ["upload"]


async def upload(
    hashed: Hashed,
    *,
    source: Store,
    origin: Address,
    store: WritableStore,
    marker: Address,
    progress: Callable[[Progress], None] | None = None,
) -> int:
    """Write every file that does not lie there yet.

    A file of the right size whose digest the store itself vouches for is left alone, so that an upload
    that broke off goes on where it ended.

    :param origin: the folder that was hashed.
    :param marker: address of the marker that will announce the files.
    :returns: how many files were written.
    :raises Changed: when a file changed since it was hashed.
    :raises StoreError: when a store fails. Files that were written stay; nobody has been told of them.
    """
    run = _Run(hashed, source=source, origin=origin, store=store, marker=marker, progress=progress)
    await run.find_there()
    await each(run.missing, run.carry, tick=run.tell)
    await run.see_all()
    return len(run.missing)


class _Run:
    """One upload."""

    def __init__(
        self,
        hashed: Hashed,
        *,
        source: Store,
        origin: Address,
        store: WritableStore,
        marker: Address,
        progress: Callable[[Progress], None] | None,
    ) -> None:
        self.missing: list[FileEntry] = []
        self._hashed = hashed
        self._source = source
        self._origin = origin
        self._store = store
        self._marker = marker
        self._progress = progress
        self._meter = ByteMeter()
        self._done = 0

    async def find_there(self) -> None:
        """Sort out the files that lie there already."""
        facts = await self._store.facts_many([self._marker.at(e.path) for e in self._hashed.entries])

        async def sort_out(entry: FileEntry) -> None:
            place = self._marker.at(entry.path)
            if await self._lies_there(entry, facts[place], place):
                self._count(entry.size or 0)
            else:
                self.missing.append(entry)

        await each(self._hashed.entries, sort_out, tick=self.tell)

    async def _lies_there(self, entry: FileEntry, facts: Facts | StoreError, place: Address) -> bool:
        if not isinstance(facts, Facts) or facts.size != entry.size:
            return False
        held = await self._store.held_digests(place, list(entry.digests), pin=facts.pin)
        return any(held.get(name) == entry.digests[name] for name in entry.digests)

    async def carry(self, entry: FileEntry) -> None:
        """Write one file."""
        file = await self._source.open(self._origin.at(entry.path), pin=self._hashed.facts[entry.path].pin)
        try:
            await self._store.put_file(
                self._marker.at(entry.path),
                file,
                size=entry.size or 0,
                digests=entry.digests,
                sinks=[self._meter],
            )
        finally:
            with anyio.CancelScope(shield=True):
                await to_thread.run_sync(file.close)
        self._count(0)

    async def see_all(self) -> None:
        """Look once more: what is announced lies there in full length."""
        entries = self._hashed.entries
        facts = await self._store.facts_many([self._marker.at(entry.path) for entry in entries])
        for entry in entries:
            found = facts[self._marker.at(entry.path)]
            if isinstance(found, StoreError):
                raise found
            if found.size != entry.size:
                text = f"{entry.size} bytes were written, {found.size} lie there"
                raise PassingTrouble(self._marker.at(entry.path).uri, text)

    def tell(self) -> None:
        """Report how far the upload is."""
        if self._progress is not None:
            size = sum(entry.size or 0 for entry in self._hashed.entries)
            self._progress(Progress(self._done, len(self._hashed.entries), self._meter.bytes_done, size))

    def _count(self, size: int) -> None:
        self._done += 1
        self._meter.add(size)
        self.tell()
