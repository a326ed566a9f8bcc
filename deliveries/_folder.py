"""The files of a folder that is to be delivered: named, hashed, and seen unchanged."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from anyio import to_thread

from airflow_landmark.markers import MAX_FILES, FileEntry, Problem, UnsafePath, check_path, path_key
from airflow_landmark.stores import Address, Facts, LastingTrouble, Refused, Sink, Store

from ._errors import CannotDeliver
from ._parallel import each
from ._report import Progress
from ._rows import NotCounted, RowCounter, row_counter
from ._verify import ByteMeter

__all__ = ["Hashed", "hash_folder"]

_DELIMITED = re.compile(r"\.[ct]sv(\.gz)?$", re.IGNORECASE)
_TEMPORARY = re.compile(r"\..{1,100}\.[0-9a-f]{16}\.tmp", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Hashed:
    """What a folder holds.

    :param entries: for the manifest, sorted by path.
    :param facts: path to the state that was hashed.
    :param not_counted: path to the reason why its rows are not known.
    """

    entries: tuple[FileEntry, ...]
    facts: dict[str, Facts]
    not_counted: dict[str, str]


async def hash_folder(
    store: Store,
    place: Address,
    *,
    own_names: Sequence[str],
    algorithms: Sequence[str] = ("sha256",),
    count_rows: bool = False,
    header_rows: int = 0,
    allow_empty: bool = False,
    progress: Callable[[Progress], None] | None = None,
) -> Hashed:
    """Hash every file below a folder, and see that none came, went or changed meanwhile.

    :param place: the folder.
    :param own_names: the marker's name and those of what is written beside it: no files of the delivery.
    :param algorithms: digests to compute.
    :raises CannotDeliver: when the folder cannot be delivered as it is.
    :raises StoreError: when the store fails.
    """
    run = _Run(store, place, own_names, algorithms, progress)
    run.count_rows, run.header_rows = count_rows, header_rows
    names = await run.names()
    if not names and not allow_empty:
        raise run.cannot("empty", "no files there: say so explicitly if an empty delivery is meant")
    await run.hash(names)
    await run.see_unchanged(names)
    return Hashed(tuple(run.entries[name] for name in names), run.facts, run.not_counted)


class _Run:
    """One pass over a folder."""

    count_rows = False
    header_rows = 0

    def __init__(
        self,
        store: Store,
        place: Address,
        own_names: Sequence[str],
        algorithms: Sequence[str],
        progress: Callable[[Progress], None] | None,
    ) -> None:
        self.entries: dict[str, FileEntry] = {}
        self.facts: dict[str, Facts] = {}
        self.not_counted: dict[str, str] = {}
        self._store = store
        self._place = place
        self._own_names = own_names
        self._algorithms = algorithms
        self._progress = progress
        self._meter = ByteMeter()
        self._size_bytes = 0

    async def names(self) -> list[str]:
        """The paths of all files in the folder, each of them one that a reader would take."""
        listing = await self._store.listing(self._place, limit=MAX_FILES + len(self._own_names))
        found = [name for name in sorted(listing) if not self._is_own(name)]
        self._size_bytes = sum(listing[name].size for name in found)
        problems = list(_name_problems(found, self._own_names))
        if problems:
            raise self.cannot("name", f"names that readers refuse: {len(problems)}", problems)
        return found

    async def hash(self, names: list[str]) -> None:
        """Hash them, several at a time."""

        def tell() -> None:
            if self._progress is not None:
                done = Progress(len(self.entries), len(names), self._meter.bytes_done, self._size_bytes)
                self._progress(done)

        async def hash_one(name: str) -> None:
            await self._hash_one(name)
            tell()

        await each(names, hash_one, tick=tell)

    async def see_unchanged(self, names: list[str]) -> None:
        """No file came, went or changed since it was hashed."""
        if await self.names() != names:
            raise self.cannot(
                "changed", "files came or went while they were hashed: start again when all are there"
            )
        places = [self._place.at(name) for name in names]
        now = await self._store.facts_many(places, exact=True)
        for place in places:
            if now[place] != self.facts[place.name]:
                raise self.cannot(
                    "changed", f"{place.name} changed while it was hashed: start again when all is written"
                )

    def cannot(self, kind: str, text: str, problems: Sequence[Problem] = ()) -> CannotDeliver:
        """The error that says why this folder is not delivered."""
        return CannotDeliver(self._place.uri, kind, text, problems=problems)

    def _is_own(self, name: str) -> bool:
        """What a writer of this package has left beside the files, and the placeholders of S3 folders."""
        last = name.rpartition("/")[2]
        return name in self._own_names or not last or _TEMPORARY.fullmatch(last) is not None

    async def _hash_one(self, name: str) -> None:
        header_rows = self.header_rows if _DELIMITED.search(name) else 0
        counter = row_counter(name, header_rows=header_rows) if self.count_rows else None
        sinks: list[Sink] = [self._meter, counter] if isinstance(counter, RowCounter) else [self._meter]
        try:
            digested = await self._store.digest(self._place.at(name), self._algorithms, sinks=sinks)
        except LastingTrouble as error:
            kind = "refused" if isinstance(error, Refused) else "no access"
            problem = Problem(kind, ascii(name)[1:-1], "a readable file", error.reason)
            raise self.cannot(kind, f"{problem.place}: {error.reason}", [problem]) from None
        rows = await to_thread.run_sync(counter.finish) if isinstance(counter, RowCounter) else counter
        if isinstance(rows, NotCounted):
            self.not_counted[name] = rows.reason
        self.facts[name] = digested.facts
        self.entries[name] = FileEntry(
            path=name,
            size=digested.facts.size,
            digests=dict(digested.digests),
            rows=rows if isinstance(rows, int) else None,
            header_rows=header_rows if isinstance(rows, int) else 0,
        )


def _name_problems(names: list[str], own_names: Sequence[str]) -> list[Problem]:
    problems, seen = [], {path_key(name): name for name in own_names}
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
