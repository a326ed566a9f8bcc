"""Verifying: all files of the manifest, all problems in one report."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Literal

import anyio
from anyio import to_thread

from airflow_landmark.markers import FileEntry, Marker, Problem, is_strong, path_key
from airflow_landmark.stores import (
    Absent,
    Address,
    Changed,
    Facts,
    LastingTrouble,
    PassingTrouble,
    Refused,
    Sink,
    Store,
    computable,
)

from ._assess import Level
from ._parallel import each
from ._presence import presence_problem
from ._report import Progress, Report
from ._rows import NotCounted, RowCounter, row_counter

__all__ = ["ByteMeter", "OnUnexpected", "verify"]

OnUnexpected = Literal["ignore", "warn", "fail"]

RECHECK_SECONDS = (1.0, 2.0)
"""A file that is missing or short is looked at again after so long, before it is reported: some stores
show an object a moment after its writer was told of success."""

_SLICE = 1000
_ATTEMPTS = 3
_PREFERRED = ("sha256", "blake2b", "sha512", "sha384", "sha1", "md5")
_WORTH_WAITING = ("missing", "incomplete")


async def verify(
    store: Store,
    address: Address,
    marker: Marker,
    *,
    level: Level = "digests",
    on_unexpected: OnUnexpected = "ignore",
    progress: Callable[[Progress], None] | None = None,
    in_progress: list[str] | None = None,
    recheck_seconds: Sequence[float] = RECHECK_SECONDS,
) -> Report:
    """Hold the files against the manifest.

    :param address: the marker's; files lie in its folder.
    :param level: ``"marker"`` checks nothing more, ``"files"`` presence and size, ``"digests"`` content
        too, ``"rows"`` the counts of rows too.
    :param on_unexpected: what files that the manifest does not list are.
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
        await run.check_unexpected(on_unexpected)
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
        with self._lock:
            self.bytes_done += len(chunk)


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
            places = {self._address.at(e.path): e for e in entries[start : start + _SLICE]}
            facts = await self._store.facts_many(list(places))
            for place, entry in places.items():
                found = facts[place]
                if isinstance(found, LastingTrouble) and not isinstance(found, Refused):
                    problems[entry.path] = Problem("no access", entry.path, "a readable file", found.reason)
                elif problem := presence_problem(entry, found):
                    problems[entry.path] = problem
                elif isinstance(found, Facts):
                    self.report.facts[entry.path] = found
        return problems

    async def check_unexpected(self, policy: OnUnexpected) -> None:
        """Files that lie there and are not listed."""
        if policy == "ignore":
            return
        folder = Address(self._address.scheme, self._address.authority, self._address.folder, "")
        there = await self._store.listing(folder)
        listed = {*self._entries, self._address.name}
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
        algorithm = next((a for a in _PREFERRED if a in entry.digests and computable(a)), None)
        if algorithm is None:
            self.report.note(f"{entry.path}: no digest that this release can compute")
        if algorithm is None and not self._wants_rows(entry):
            return
        for attempt in range(1, _ATTEMPTS + 1):
            try:
                await self._read_once(entry, algorithm)
            except Changed:
                raise
            except PassingTrouble:
                if attempt == _ATTEMPTS:
                    raise
                await anyio.sleep(attempt)
            except Absent:
                self.report.add(Problem("missing", entry.path, "a file", "nothing any more"))
                return
            except LastingTrouble as error:
                kind = "refused" if isinstance(error, Refused) else "no access"
                self.report.add(Problem(kind, entry.path, "a readable file", error.reason))
                return
            else:
                return

    def _wants_rows(self, entry: FileEntry) -> bool:
        return self.report.level == "rows" and entry.rows is not None

    async def _read_once(self, entry: FileEntry, algorithm: str | None) -> None:
        """Read the file once for everything that is asked of it, and judge it."""
        counter = self._counter(entry) if self._wants_rows(entry) else None
        sinks: list[Sink] = [self._meter, counter] if isinstance(counter, RowCounter) else [self._meter]
        digested = await self._store.digest(
            self._address.at(entry.path),
            [] if algorithm is None else [algorithm],
            pin=self.report.facts[entry.path].pin,
            sinks=sinks,
        )
        if algorithm is None or self._judge_digest(entry, algorithm, digested.digests[algorithm]):
            await self._judge_rows(entry, counter)

    def _counter(self, entry: FileEntry) -> RowCounter | NotCounted:
        return row_counter(
            entry.path,
            header_rows=entry.header_rows,
            media_type=entry.media_type,
            content_encoding=entry.content_encoding,
        )

    def _judge_digest(self, entry: FileEntry, algorithm: str, found: str) -> bool:
        expected = entry.digests[algorithm]
        if found != expected:
            self.report.add(Problem("corrupt", entry.path, f"{algorithm} {expected}", f"{algorithm} {found}"))
            return False
        self.report.digests[algorithm] = self.report.digests.get(algorithm, 0) + 1
        if not is_strong(algorithm):
            self.report.note(f"{entry.path}: {algorithm} shows damage only, it proves no content")
        return True

    async def _judge_rows(self, entry: FileEntry, counter: RowCounter | NotCounted | None) -> None:
        if counter is None:
            return
        counted = await to_thread.run_sync(counter.finish) if isinstance(counter, RowCounter) else counter
        if isinstance(counted, NotCounted):
            self.report.add(Problem("not counted", entry.path, f"{entry.rows} rows", counted.reason))
        elif counted != entry.rows:
            self.report.add(Problem("rows", entry.path, f"{entry.rows} rows", f"{counted} rows"))
        else:
            self.report.rows_counted += 1

    def _tell(self) -> None:
        if self._progress is not None:
            size = (
                sum(facts.size for facts in self.report.facts.values()) if self._size is None else self._size
            )
            self._size = size
            self._progress(Progress(self._files_done, len(self._entries), self._meter.bytes_done, size))
