"""Writing a delivery: hash everything, then write the marker last, all of it or nothing."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timezone

from anyio import to_thread

from airflow_landmark.markers import (
    DEFAULT_NAME,
    MAX_FILES,
    Expectation,
    FileEntry,
    Manifest,
    Marker,
    MarkerError,
    Problem,
    UnreadableMarker,
    UnsafePath,
    check_path,
    format_instant,
    path_key,
    read_marker,
    write_marker,
)
from airflow_landmark.stores import (
    Absent,
    Address,
    Changed,
    Facts,
    LastingTrouble,
    Refused,
    Sighting,
    Sink,
    StoreError,
    WritableStore,
    open_store,
    parse_uri,
)

from ._errors import AccessTrouble, CannotDeliver, Unavailable
from ._parallel import each
from ._report import Progress
from ._rows import NotCounted, RowCounter, row_counter
from ._stamp import Stamp
from ._verify import ByteMeter

__all__ = ["Announced", "Announcement", "announce"]


_DELIMITED = re.compile(r"\.[ct]sv(\.gz)?$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Announcement:
    """What is to be announced.

    :param expectation: dataset, interval and version (as the least version) of the new marker.
    :param name: the marker's file name.
    :param count_rows: count data records where the kind of file allows it.
    :param header_rows: records before the data in each CSV file.
    :param withdraw: recall what was delivered, rather than delivering files.
    :param allow_empty: a folder without files is meant to be one: nothing happened in the interval.
    :param producer: informative text.
    :param timezone: informative IANA name.
    """

    expectation: Expectation
    name: str = DEFAULT_NAME
    count_rows: bool = False
    header_rows: int = 0
    withdraw: bool = False
    allow_empty: bool = False
    producer: str | None = None
    timezone: str | None = None


@dataclass(frozen=True, slots=True)
class Announced:
    """What was written.

    :param stamp: of the new marker.
    :param marker: the new marker.
    :param not_counted: path to the reason why its rows are not known.
    """

    stamp: Stamp
    marker: Marker
    not_counted: Mapping[str, str] = field(default_factory=dict)


async def announce(
    folder: str,
    announcement: Announcement,
    *,
    progress: Callable[[Progress], None] | None = None,
) -> Announced:
    """Hash the folder's files and write the marker that announces them.

    :param folder: absolute path or URI of the delivery's folder.
    :param progress: is called as files are done, and every second meanwhile.
    :raises CannotDeliver: when the folder cannot be announced as it is; nothing was written.
    :raises AccessTrouble: when the store refuses.
    :raises Unavailable: when the store fails.
    """
    place = parse_uri(folder, folder=True)
    try:
        address = place.at(announcement.name)
        if "/" in announcement.name:
            raise CannotDeliver(folder, "name", "the marker lies directly in the folder: give a plain name")
        async with open_store(address) as store:
            if not isinstance(store, WritableStore):
                raise CannotDeliver(folder, "store", "this kind of store cannot be written to")
            return await _Writer(store, place, address, announcement, progress).run()
    except UnsafePath as error:
        raise CannotDeliver(folder, "name", str(error)) from None
    except Changed as error:
        raise CannotDeliver(folder, "changed", f"{error}: nothing was announced, start again") from None
    except Absent as error:
        raise CannotDeliver(folder, "absent", error.reason) from None
    except LastingTrouble as error:
        raise AccessTrouble(folder, "access", str(error)) from None
    except StoreError as error:
        raise Unavailable(folder, "trouble", str(error)) from None


class _Writer:
    """One announcement."""

    def __init__(
        self,
        store: WritableStore,
        place: Address,
        address: Address,
        announcement: Announcement,
        progress: Callable[[Progress], None] | None,
    ) -> None:
        self._store = store
        self._place = place
        self._address = address
        self._what = announcement
        self._progress = progress
        self._meter = ByteMeter()
        self._entries: dict[str, FileEntry] = {}
        self._facts: dict[str, Facts] = {}
        self._not_counted: dict[str, str] = {}
        self._size_bytes = 0

    async def run(self) -> Announced:
        """The steps in their order; only the last one writes."""
        before = await self._existing()
        names = [] if self._what.withdraw else await self._names()
        await self._hash(names)
        if not self._what.withdraw:
            await self._unchanged(names)
        data, marker = self._document(names)
        if before is None:
            facts = await self._store.put_if_absent(self._address, data)
        else:
            facts = await self._store.put_if_unchanged(self._address, data, since=before)
        sighting = Sighting(self._address, facts.size, marker.identity, facts.pin)
        return Announced(Stamp.of(sighting, marker), marker, self._not_counted)

    async def _existing(self) -> Sighting | None:
        """The marker that lies there, when it may be replaced."""
        look = await self._store.look(self._address)
        if look.sighting is None:
            return None
        wanted = self._what.expectation
        try:
            marker = read_marker(look.data or b"", name=self._address.name)
        except UnreadableMarker as error:
            raise self._cannot(
                "unreadable", f"what lies there is no marker, remove it first: {error}"
            ) from None
        if marker.dataset != wanted.dataset:
            raise self._cannot(
                "other dataset", f"a marker of dataset {marker.dataset} lies there: remove it first"
            )
        if marker.interval == wanted.interval and marker.version >= wanted.min_version:
            text = f"version {marker.version} lies there: a correction needs a version above it"
            raise self._cannot("version", text)
        return look.sighting

    async def _names(self) -> list[str]:
        """The paths of all files in the folder, each of them one that a reader would take."""
        own_temporary = re.compile(rf"\.{re.escape(self._address.name[:100])}\.[0-9a-f]{{16}}\.tmp")
        listing = await self._store.listing(self._place, limit=MAX_FILES + 1)
        found = [
            name
            for name in sorted(listing)
            if name != self._address.name and not own_temporary.fullmatch(name)
        ]
        self._size_bytes = sum(listing[name] for name in found)
        if not found and not self._what.allow_empty:
            raise self._cannot("empty", "no files there: say so explicitly if an empty delivery is meant")
        problems = list(_name_problems(found, self._address.name))
        if problems:
            raise self._cannot("name", f"names that readers refuse: {len(problems)}", problems)
        return found

    async def _hash(self, names: list[str]) -> None:
        def tell() -> None:
            if self._progress is not None:
                done = Progress(len(self._entries), len(names), self._meter.bytes_done, self._size_bytes)
                self._progress(done)

        async def hash_one(name: str) -> None:
            await self._hash_one(name)
            tell()

        await each(names, hash_one, tick=tell)

    async def _hash_one(self, name: str) -> None:
        header_rows = self._what.header_rows if _DELIMITED.search(name) else 0
        counter = row_counter(name, header_rows=header_rows) if self._what.count_rows else None
        sinks: list[Sink] = [self._meter, counter] if isinstance(counter, RowCounter) else [self._meter]
        try:
            digested = await self._store.digest(self._place.at(name), ["sha256"], sinks=sinks)
        except LastingTrouble as error:
            kind = "refused" if isinstance(error, Refused) else "no access"
            problem = Problem(kind, ascii(name)[1:-1], "a readable file", error.reason)
            raise self._cannot(kind, f"{problem.place}: {error.reason}", [problem]) from None
        rows = await to_thread.run_sync(counter.finish) if isinstance(counter, RowCounter) else counter
        if isinstance(rows, NotCounted):
            self._not_counted[name] = rows.reason
        self._facts[name] = digested.facts
        self._entries[name] = FileEntry(
            path=name,
            size=digested.facts.size,
            digests=dict(digested.digests),
            rows=rows if isinstance(rows, int) else None,
            header_rows=header_rows if isinstance(rows, int) else 0,
        )

    async def _unchanged(self, names: list[str]) -> None:
        """No file came, went or changed since it was hashed."""
        if await self._names() != names:
            raise self._cannot(
                "changed", "files came or went while they were hashed: start again when all are there"
            )
        places = [self._place.at(name) for name in names]
        now = await self._store.facts_many(places)
        for place in places:
            if now[place] != self._facts[place.name]:
                raise self._cannot(
                    "changed", f"{place.name} changed while it was hashed: start again when all is written"
                )

    def _document(self, names: list[str]) -> tuple[bytes, Marker]:
        wanted = self._what.expectation
        marker = Marker(
            dataset=wanted.dataset,
            interval=wanted.interval,
            version=wanted.min_version,
            manifest=Manifest.of(tuple(self._entries[name] for name in names)),
            status="withdrawn" if self._what.withdraw else "complete",
            created_at=format_instant(datetime.now(tz=timezone.utc).replace(microsecond=0)),
            producer=self._what.producer,
            timezone=self._what.timezone,
        )
        try:
            data = write_marker(marker)
            return data, read_marker(data, name=self._address.name)
        except MarkerError as error:
            raise self._cannot("marker", str(error)) from None

    def _cannot(self, kind: str, text: str, problems: list[Problem] | None = None) -> CannotDeliver:
        return CannotDeliver(self._address.uri, kind, text, problems=problems or ())


def _name_problems(names: list[str], marker_name: str) -> list[Problem]:
    problems, seen = [], {path_key(marker_name): marker_name}
    for name in names:
        shown = ascii(name)[1:-1]
        try:
            check_path(name)
        except UnsafePath as error:
            problems.append(Problem("name", shown, "a name that every store can hold", error.reason))
            continue
        other = seen.setdefault(path_key(name), name)
        if other != name:
            problems.append(Problem("name", shown, "names that differ in more than case", ascii(other)[1:-1]))
    return problems
