"""Verifying: all files of the manifest, all problems in one report."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Literal

import anyio

from airflow_landmark.markers import FileEntry, Marker, Problem, is_strong, path_key
from airflow_landmark.stores import (
    Absent,
    Address,
    Archived,
    Changed,
    Facts,
    LastingTrouble,
    PassingTrouble,
    Refused,
    Sink,
    Store,
    StoreError,
    computable,
)

from ._assess import Level
from ._parallel import each
from ._place import facts_of, place_of
from ._presence import presence_problem
from ._report import Progress, Report
from ._rows import RowCounter
from ._rows_verify import counter_of, judge_rows, promises_rows
from ._sums import SUMS_NAME, is_list_of

__all__ = ["ByteMeter", "OnUnexpected", "verify"]

OnUnexpected = Literal["ignore", "warn", "fail"]

RECHECK_SECONDS = (1.0, 2.0)
"""A file that is missing or short is looked at again after so long, before it is reported: some stores
show an object a moment after its writer was told of success."""

_SLICE = 1000
_ATTEMPTS = 3
_KINDS: Mapping[type[StoreError], str] = {Archived: "archived", Refused: "refused"}
_STRENGTH = {name: rank for rank, name in enumerate(("sha256", "blake2b", "sha512", "sha384", "sha1", "md5"))}
_WORTH_WAITING = ("missing", "incomplete")


async def verify(
    store: Store,
    address: Address,
    marker: Marker,
    *,
    level: Level = "digests",
    on_unexpected: OnUnexpected = "ignore",
    documents: Sequence[str] = (),
    progress: Callable[[Progress], None] | None = None,
    in_progress: list[str] | None = None,
    recheck_seconds: Sequence[float] = RECHECK_SECONDS,
) -> Report:
    """Hold the files against the manifest.

    :param address: the marker's; files lie in its folder.
    :param level: ``"marker"`` checks nothing more, ``"files"`` presence and size, ``"digests"`` content
        too, ``"rows"`` the counts of rows and the sums of columns too.
    :param on_unexpected: what files that the manifest does not list are.
    :param documents: names of what tells the manifest, beside the marker: no such files.
    :param progress: is called as files are done.
    :param in_progress: holds the paths of the files that are being read, for whoever asks meanwhile.
    :param recheck_seconds: pauses before looking again at what is missing or short.
    :raises PassingTrouble: when the store fails, or files change while they are verified.
    """
    run = _Run(
        store,
        address,
        marker,
        level=level,
        progress=progress,
        in_progress=[] if in_progress is None else in_progress,
    )
    if level != "marker":
        await run.check_presence(recheck_seconds)
        await run.check_unexpected(on_unexpected, documents)
    if level in ("digests", "rows"):
        await run.check_contents()
    run.report.sort()
    return run.report


class ByteMeter:
    """A sink that counts the bytes of all files together."""

    def __init__(self) -> None:
        self.bytes_done = 0
        self._lock = threading.Lock()

    def update(self, chunk: bytes, /) -> None:
        self.add(len(chunk))

    def add(self, size: int) -> None:
        """Count bytes that need no reading."""
        with self._lock:
            self.bytes_done += size


class _Run:
    """One verification."""

    def __init__(
        self,
        store: Store,
        address: Address,
        marker: Marker,
        *,
        level: Level,
        progress: Callable[[Progress], None] | None,
        in_progress: list[str],
    ) -> None:
        self.report = Report(level, len(marker.manifest.files))
        self._store = store
        self._address = address
        self._entries = {entry.path: entry for entry in marker.manifest.files}
        self._progress = progress
        self._in_progress = in_progress
        self._meter = ByteMeter()
        self._files_done = 0
        self._size: int | None = None

    async def check_presence(self, recheck_seconds: Sequence[float]) -> None:
        """Presence and size of every file."""
        problems = await self._presence(list(self._entries.values()))
        for pause in recheck_seconds:
            again = [self._entries[path] for path, p in problems.items() if p.kind in _WORTH_WAITING]
            if not again:
                break
            await anyio.sleep(pause)
            problems = {path: p for path, p in problems.items() if p.kind not in _WORTH_WAITING}
            problems.update(await self._presence(again))
        for problem in problems.values():
            self.report.add(problem)

    async def _presence(self, entries: Sequence[FileEntry]) -> dict[str, Problem]:
        problems = {}
        for start in range(0, len(entries), _SLICE):
            part = entries[start : start + _SLICE]
            facts = await facts_of(self._store, self._address, part, exact=True)
            for entry in part:
                found = facts[entry.path]
                if isinstance(found, LastingTrouble) and not isinstance(found, (Archived, Refused)):
                    problems[entry.path] = Problem("no access", entry.path, "a readable file", found.reason)
                elif problem := presence_problem(entry, found):
                    problems[entry.path] = problem
                elif isinstance(found, Facts):
                    self.report.facts[entry.path] = found
        return problems

    async def check_unexpected(self, policy: OnUnexpected, documents: Sequence[str]) -> None:
        """Files that lie there and are not listed."""
        if policy == "ignore":
            return
        there = await self._store.listing(replace(self._address, name=""))
        listed = {*self._entries, self._address.name, *documents}
        sums = there.get(SUMS_NAME)
        if sums is not None and SUMS_NAME not in listed:
            place = self._address.at(SUMS_NAME)
            if await is_list_of(self._entries.values(), self._store, place, sums):
                listed.add(SUMS_NAME)  # what a partner writes beside the marker for other readers
        # A file system may spell a listed name in its own way.
        respelled = {path_key(path) for path in listed if path not in there}
        for name in sorted(there):
            if name.endswith("/") or name in listed or path_key(name) in respelled:
                continue
            problem = Problem(
                "unexpected", ascii(name)[1:-1], "no file that the manifest does not list", "a file"
            )
            if policy == "fail":
                self.report.add(problem)
            else:
                self.report.warn(problem)

    async def check_contents(self) -> None:
        """Digests, and rows where asked, several files at a time."""

        async def check(entry: FileEntry) -> None:
            self._in_progress.append(entry.path)
            await self._check_content(entry)
            self._in_progress.remove(entry.path)
            self._files_done += 1
            self._tell()

        present = [entry for path, entry in self._entries.items() if path in self.report.facts]
        await each(present, check, tick=self._tell)

    async def _check_content(self, entry: FileEntry) -> None:
        wants_rows = self._wants_rows(entry)
        if entry.digests and not wants_rows and await self._held(entry):
            return
        algorithms = [algorithm for algorithm in entry.digests if computable(algorithm)]
        if not algorithms:
            missing = "no digest that this release can compute" if entry.digests else "no digest is promised"
            self.report.note(f"{entry.path}: {missing}")
        if algorithms or wants_rows:
            await self._read(entry, algorithms)

    async def _read(self, entry: FileEntry, algorithms: Sequence[str]) -> None:
        """Read the file, again after passing trouble; what else keeps it from being read is a problem."""
        for attempt in range(1, _ATTEMPTS + 1):
            try:
                await self._read_once(entry, algorithms)
            except Changed:
                raise
            except PassingTrouble:
                if attempt == _ATTEMPTS:
                    raise
                await anyio.sleep(attempt)
                continue
            except Absent:
                self.report.add(Problem("missing", entry.path, "a file", "nothing any more"))
            except LastingTrouble as error:
                kind = _KINDS.get(type(error), "no access")
                self.report.add(Problem(kind, entry.path, "a readable file", error.reason))
            return

    async def _held(self, entry: FileEntry) -> bool:
        """Whether the store itself keeps a digest of the whole file, and it is the promised one.

        A store that cannot tell, or tells another digest, leaves the answer to a download.
        """
        try:
            held = await self._store.held_digests(
                place_of(self._address, entry), list(entry.digests), pin=self.report.facts[entry.path].pin
            )
        except Changed:
            raise
        except StoreError:
            return False
        equal = [name for name in entry.digests if held.get(name) == entry.digests[name]]
        if not equal:
            return False
        self._count_digest(entry, self._strongest(equal))
        self.report.held += 1
        self._meter.add(self.report.facts[entry.path].size)
        return True

    def _wants_rows(self, entry: FileEntry) -> bool:
        return self.report.level == "rows" and promises_rows(entry)

    async def _read_once(self, entry: FileEntry, algorithms: Sequence[str]) -> None:
        """Read the file once for everything that is asked of it, and judge it."""
        counter = counter_of(entry) if self._wants_rows(entry) else None
        sinks: list[Sink] = [self._meter, counter] if isinstance(counter, RowCounter) else [self._meter]
        digested = await self._store.digest(
            place_of(self._address, entry),
            algorithms,
            pin=self.report.facts[entry.path].pin,
            sinks=sinks,
        )
        self.report.facts[entry.path] = digested.facts
        proven = self._judge_digests(entry, digested.digests)
        if proven and counter is not None:
            await judge_rows(entry, counter, self.report)

    def _judge_digests(self, entry: FileEntry, found: Mapping[str, str]) -> bool:
        """Every digest that is promised has to be right; the strongest is the one that is told."""
        wrong = [name for name, digest in found.items() if digest != entry.digests[name]]
        if wrong:
            name = self._strongest(wrong)
            expected, had = f"{name} {entry.digests[name]}", f"{name} {found[name]}"
            self.report.add(Problem("corrupt", entry.path, expected, had))
        elif found:
            self._count_digest(entry, self._strongest(found))
        return not wrong

    @staticmethod
    def _strongest(algorithms: Iterable[str]) -> str:
        return min(algorithms, key=lambda name: _STRENGTH.get(name, len(_STRENGTH)))

    def _count_digest(self, entry: FileEntry, algorithm: str) -> None:
        self.report.digests[algorithm] = self.report.digests.get(algorithm, 0) + 1
        if not is_strong(algorithm):
            self.report.note(f"{entry.path}: {algorithm} shows damage only, it proves no content")

    def _tell(self) -> None:
        if self._progress is not None:
            size = (
                sum(facts.size for facts in self.report.facts.values()) if self._size is None else self._size
            )
            self._size = size
            self._progress(Progress(self._files_done, len(self._entries), self._meter.bytes_done, size))
