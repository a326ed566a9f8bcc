"""Writing the project's own marker beside a foreign one, once everything that one promises is proven."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from airflow_landmark.markers import (
    DEFAULT_NAME,
    FileEntry,
    Manifest,
    Marker,
    Problem,
    UnreadableMarker,
)
from airflow_landmark.stores import Access, Changed, WritableStore, computable, open_store

from ._access import Way, reached
from ._errors import AccessTrouble, CannotDeliver
from ._look import look_at, still_there
from ._parallel import each
from ._publish import as_document, existing_marker, put_marker, sorted_trouble
from ._report import Progress, Report
from ._target import Form, Reading, State, Target
from ._verify import ByteMeter, verify
from ._write import Announced

__all__ = ["convert"]


async def convert(
    uri: str,
    *,
    form: Form,
    name: str = DEFAULT_NAME,
    producer: str | None = None,
    progress: Callable[[Progress], None] | None = None,
    way: Way | None = None,
    access: Access | None = None,
) -> Announced:
    """Hold a foreign delivery against what it promises, hash it, and announce it by the project's marker.

    The new marker lies in the folder of the foreign one and lists the same files with their sizes and
    sha256. Counts of rows are taken over as the partner states them.

    :param uri: of the foreign marker.
    :param form: its format.
    :param name: of the new marker.
    :param producer: informative text for the new marker.
    :param progress: is called as files are done.
    :param way: how the store is reached, by name; ``None`` for the environment's settings.
    :param access: how it is reached, in place of ``way``.
    :raises CannotDeliver: when the foreign delivery does not hold, or cannot be announced so.
    :raises AccessTrouble: when the store refuses.
    :raises Unavailable: when the store fails.
    """
    target = Target.of(uri, access=access, form=form)
    with sorted_trouble(target.text):
        target = await reached(target, way or Way())
        async with open_store(target.address) as store:
            if not isinstance(store, WritableStore):
                text = "this kind of store cannot be written to: convert on a disk or in a bucket"
                raise CannotDeliver(target.text, "store", text)
            return await _Run(store, target, name, progress).run(producer)


class _Run:
    """One conversion."""

    def __init__(
        self,
        store: WritableStore,
        target: Target,
        name: str,
        progress: Callable[[Progress], None] | None,
    ) -> None:
        self._store = store
        self._target = target
        self._address = target.address.at(name)
        self._progress = progress
        self._meter = ByteMeter()
        self._entries: dict[str, FileEntry] = {}

    async def run(self, producer: str | None) -> Announced:
        """The steps in their order; only the last one writes."""
        reading, found = await self._read()
        before = await existing_marker(self._store, self._address, found)
        report = await verify(self._store, self._target.address, found, level="files")
        self._refuse(report)
        await self._hash(found, report)
        self._refuse(report)
        entries = tuple(self._entries[entry.path] for entry in found.manifest.files)
        document = replace(found, manifest=Manifest.of(entries), producer=producer or found.producer)
        as_document(self._address, document)
        if not await still_there(self._store, reading, self._target.form):
            raise Changed(self._target.text, "the foreign marker changed meanwhile")
        stamp, marker = await put_marker(self._store, self._address, document, before=before)
        return Announced(stamp, marker)

    async def _read(self) -> tuple[Reading, Marker]:
        state = (await look_at(self._store, {self._target: State()}))[self._target]
        if state.trouble is not None:
            raise state.trouble
        if not state.readings:
            raise self._cannot("absent", state.reason)
        reading = state.readings[0]
        if isinstance(reading.found, UnreadableMarker):
            raise CannotDeliver(
                self._target.text, "unreadable", str(reading.found), problems=reading.found.problems
            )
        abroad = next((entry.url for entry in reading.found.manifest.files if entry.url), None)
        if abroad is not None:
            text = f"its files lie elsewhere ({abroad}): the project's marker names files of its own folder"
            raise self._cannot("elsewhere", text)
        return reading, reading.found

    def _refuse(self, report: Report) -> None:
        if report.ok:
            return
        files = "1 file" if report.files == 1 else f"{report.files} files"
        text = f"the foreign delivery does not hold: {report.text} among {files}"
        kind = AccessTrouble if report.undecided else CannotDeliver
        raise kind(self._target.text, report.problems[0].kind, text, problems=report.problems)

    async def _hash(self, found: Marker, report: Report) -> None:
        """Hash every file once, and hold it against each digest that the partner gave."""
        total = sum(facts.size for facts in report.facts.values())

        def tell() -> None:
            if self._progress is not None:
                done = Progress(len(self._entries), report.files, self._meter.bytes_done, total)
                self._progress(done)

        async def hash_one(entry: FileEntry) -> None:
            self._entries[entry.path] = await self._hashed(entry, report)
            tell()

        await each(found.manifest.files, hash_one, tick=tell)
        report.sort()

    async def _hashed(self, entry: FileEntry, report: Report) -> FileEntry:
        given = [algorithm for algorithm in entry.digests if computable(algorithm)]
        digested = await self._store.digest(
            self._target.address.at(entry.path),
            sorted({"sha256", *given}),
            pin=report.facts[entry.path].pin,
            sinks=[self._meter],
        )
        for algorithm in given:
            if digested.digests[algorithm] != entry.digests[algorithm]:
                expected, had = entry.digests[algorithm], digested.digests[algorithm]
                report.add(Problem("corrupt", entry.path, f"{algorithm} {expected}", f"{algorithm} {had}"))
                break
        return FileEntry(
            path=entry.path,
            size=digested.facts.size,
            digests={**entry.digests, **digested.digests},
            # The new document knows no trailers and no other delimiters: nobody could count these again.
            rows=None if entry.trailer_rows or entry.delimiter else entry.rows,
            header_rows=entry.header_rows,
            media_type=entry.media_type,
            content_encoding=entry.content_encoding,
        )

    def _cannot(self, kind: str, text: str) -> CannotDeliver:
        return CannotDeliver(self._target.text, kind, text)
