"""Made-up deliveries, and for time and faults only: a clock that tests drive, a store that does as told."""

from __future__ import annotations

import asyncio
import fnmatch
import gc
import hashlib
import heapq
import itertools
from collections import Counter, deque
from collections.abc import Awaitable, Callable, Hashable, Mapping, Sequence
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import anyio
import pytest

from airflow_landmark.deliveries import Clock, Target, Terms
from airflow_landmark.deliveries._clock import Signal
from airflow_landmark.markers import Expectation, FileEntry, Interval, Manifest, Marker, write_marker
from airflow_landmark.stores import Absent, Address, Facts, Look, Pin, Sighting, StoreError
from airflow_landmark.stores import _registry as registry

START = datetime(2024, 10, 2, tzinfo=timezone.utc)
DAY = Interval(START - timedelta(days=1), START)
DATASET = "sales/orders"


def _facts(data: bytes) -> Facts:
    return Facts(len(data), Pin(etag=hashlib.sha256(data).hexdigest()[:8]))


class FakeClock(Clock):
    """Time that moves when a test says so."""

    def __init__(self) -> None:
        self.time = 1000.0
        self.jump = 0.0
        self._timers: list[tuple[float, int, anyio.CancelScope]] = []
        self._order = itertools.count()

    def now(self) -> datetime:
        """The instant that tests have set; ``jump`` moves it alone."""
        return START + timedelta(seconds=self.time - 1000.0 + self.jump)

    def monotonic(self) -> float:
        """Seconds that only ``advance`` adds to."""
        return self.time

    async def sleep(self, seconds: float) -> None:
        """Wait until time has been moved so far."""
        await self.wait(Signal(), seconds)

    async def wait(self, event: Signal, seconds: float | None) -> bool:
        """Wait for the event, or until time has been moved so far."""
        if seconds is not None and seconds <= 0:
            await asyncio.sleep(0)
            return event.is_set()
        with anyio.CancelScope() as scope:
            if seconds is not None:
                heapq.heappush(self._timers, (self.time + seconds, next(self._order), scope))
            await event.wait()
        return event.is_set()

    async def advance(self, seconds: float) -> None:
        """Move time, moment by moment; everything that is due at a moment happens in it."""
        end = self.time + seconds
        await settled()
        while self._timers and self._timers[0][0] <= end:
            self.time = max(self.time, self._timers[0][0])
            while self._timers and self._timers[0][0] <= self.time:
                heapq.heappop(self._timers)[2].cancel()
            await settled()
        self.time = end
        await settled()


async def settled() -> None:
    """Let all tasks run until each of them waits for something."""
    loop, quiet = asyncio.get_running_loop(), 0
    while quiet < 3:
        await asyncio.sleep(0)
        quiet = 0 if loop._ready else quiet + 1  # type: ignore[attr-defined]


class FakeStore:
    """Files in memory, answers as scripted, and a record of every look.

    :ivar files: URI to bytes.
    :ivar script: URI to the answers of the next looks: bytes, ``None`` for absent, an error, or seconds of
        the clock that pass before the answer after it.
    """

    def __init__(self, clock: FakeClock) -> None:
        self.files: dict[str, bytes] = {}
        self.script: dict[str, deque[Any]] = {}
        self.looks: list[tuple[float, str]] = []
        self.calls: list[int] = []
        self.listings: list[str] = []
        self.facts_asked: list[str] = []
        self.facts_script: dict[str, deque[Any]] = {}
        self.closed = 0
        self.group_of: Callable[[Address], Hashable] = lambda address: "one mount"
        self._clock = clock

    lists_neighbours = False

    def group(self, address: Address) -> Hashable:
        """What the test says."""
        return self.group_of(address)

    def looks_at(self, uri: str) -> list[float]:
        """When the address was looked at."""
        return [at for at, seen in self.looks if seen == uri]

    async def held_digests(
        self, address: Address, algorithms: Sequence[str], *, pin: Pin | None = None
    ) -> Mapping[str, str]:
        """None."""
        return {}

    async def look(self, address: Address, *, since: Sighting | None = None) -> Look:
        """One look, as scripted."""
        self.looks.append((self._clock.time, address.uri))
        answer = await self._answer(self.script, address, self.files.get(address.uri))
        if answer is None:
            return Look(None, reason="no such file")
        sha256 = hashlib.sha256(answer).hexdigest()
        unchanged = since is not None and since.sha256 == sha256
        return Look(
            Sighting(address, len(answer), sha256, Pin(etag=sha256[:8])), None if unchanged else answer
        )

    async def look_many(
        self,
        wanted: Mapping[Address, Sighting | None],
        *,
        also: Mapping[Address, Sighting | None] | None = None,
    ) -> Mapping[Address, Look | StoreError]:
        """Looks one after another, as scripted."""
        self.calls.append(len(wanted))
        results: dict[Address, Look | StoreError] = {}
        for address, since in wanted.items():
            try:
                results[address] = await self.look(address, since=since)
            except StoreError as error:
                results[address] = error
        return results

    async def listing(
        self, folder: Address, *, pattern: str | None = None, limit: int = 100_000
    ) -> Mapping[str, Facts]:
        """Names in the folder."""
        self.listings.append(folder.uri)
        start = folder.folder + "/"
        names = {
            uri.removeprefix(start): _facts(data) for uri, data in self.files.items() if uri.startswith(start)
        }
        if pattern is None:
            return names
        return {n: facts for n, facts in names.items() if "/" not in n and fnmatch.fnmatchcase(n, pattern)}

    async def facts(self, address: Address) -> Facts:
        """Size and pin, as scripted."""
        self.facts_asked.append(address.uri)
        data = await self._answer(self.facts_script, address, self.files.get(address.uri))
        if data is None:
            raise Absent(address.uri, "no such file")
        return _facts(data)

    async def facts_many(
        self, addresses: Sequence[Address], *, exact: bool = False
    ) -> Mapping[Address, Facts | StoreError]:
        """Facts one after another."""
        results: dict[Address, Facts | StoreError] = {}
        for address in addresses:
            try:
                results[address] = await self.facts(address)
            except StoreError as error:
                results[address] = error
        return results

    async def aclose(self) -> None:
        """Count it."""
        self.closed += 1

    async def _answer(
        self, script: dict[str, deque[Any]], address: Address, default: bytes | None
    ) -> bytes | None:
        answers = script.get(address.uri)
        while answers:
            answer = answers.popleft()
            if isinstance(answer, float):
                await self._clock.sleep(answer)
            elif isinstance(answer, BaseException):
                raise answer
            else:
                return answer  # type: ignore[no-any-return]
        return default


@pytest.fixture
def clock() -> FakeClock:
    """Return a clock that stands still until the test moves it."""
    return FakeClock()


@pytest.fixture
def fake(clock: FakeClock, monkeypatch: pytest.MonkeyPatch) -> FakeStore:
    """Return the store that is opened for every local address in this test."""
    store = FakeStore(clock)

    async def factory(_address: Address) -> Any:
        return store

    monkeypatch.setitem(registry._FACTORIES, "file", factory)
    return store


@pytest.fixture
def make_marker() -> Callable[..., bytes]:
    """Return a function that writes a marker document.

    Files are given as path to bytes; ``entries`` instead as the manifest has them.
    """

    def make(
        version: int = 1,
        *,
        files: Mapping[str, bytes] | None = None,
        entries: Sequence[FileEntry] | None = None,
        interval: Interval = DAY,
        dataset: str = DATASET,
        status: str = "complete",
        producer: str | None = None,
    ) -> bytes:
        listed = (
            entries if entries is not None else [entry_of(path, data) for path, data in (files or {}).items()]
        )
        return write_marker(
            Marker(dataset, interval, version, Manifest.of(tuple(listed)), status=status, producer=producer)
        )

    return make


def entry_of(path: str, data: bytes, **more: Any) -> FileEntry:
    """The manifest's entry of a file."""
    digests = {"sha256": hashlib.sha256(data).hexdigest()}
    return FileEntry(path, **{"size": len(data), "digests": digests, **more})


@pytest.fixture
def entry() -> Callable[..., FileEntry]:
    """Return the function that makes the manifest's entry of a path and its bytes."""
    return entry_of


@pytest.fixture
def make_terms() -> Callable[..., Terms]:
    """Return a function that makes terms; ``within`` is the deadline in seconds from the clock's start."""

    def make(
        uri: str = "/in/_delivery.json",
        *,
        pattern: str | None = None,
        min_version: int = 1,
        interval: Interval = DAY,
        within: float | None = None,
        **more: Any,
    ) -> Terms:
        deadline = None if within is None else START + timedelta(seconds=within)
        expectation = Expectation(DATASET, interval, min_version)
        return Terms(
            Target.of(uri, pattern),
            expectation,
            **{"verify": "marker", "poll_interval": 10.0, "deadline": deadline, **more},
        )

    return make


@pytest.fixture
def deliver(tmp_path: Path, make_marker: Callable[..., bytes]) -> Callable[..., str]:
    """Return a function that puts files and their marker into the test's folder, and gives its path."""

    def write(version: int = 1, *, files: Mapping[str, bytes] | None = None, **more: Any) -> str:
        files = {"a.csv": b"id\n1\n", "sub/b.csv": b"id\n2\n3\n"} if files is None else files
        for path, data in files.items():
            (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / path).write_bytes(data)
        (tmp_path / "_delivery.json").write_bytes(make_marker(version, files=files, **more))
        return f"{tmp_path}/_delivery.json"

    return write


class Started:
    """Waits that run in tasks, with what they told."""

    def __init__(self) -> None:
        self.tasks: list[asyncio.Task[Any]] = []
        self.told: list[str] = []

    def add(self, work: Awaitable[Any]) -> asyncio.Task[Any]:
        """One more."""
        task = asyncio.ensure_future(work)
        self.tasks.append(task)
        return task

    @property
    def outcomes(self) -> Counter[str]:
        """How many of those that have ended ended how."""
        return Counter(task.result().kind for task in self.tasks if task.done())


@pytest.fixture
async def started() -> Any:
    """Return a collection of tasks; after the test they are cancelled, and none may be left."""
    before = _tasks()
    started = Started()
    yield started
    for task in started.tasks:
        task.cancel()
    await asyncio.gather(*started.tasks, return_exceptions=True)
    for _ in range(5):
        await asyncio.sleep(0)
    assert not _tasks() - before


def _tasks() -> set[asyncio.Task[Any]]:
    """All tasks but those of the test runner."""
    return {task for task in asyncio.all_tasks() if "TestRunner" not in repr(task.get_coro())}


@pytest.fixture
def loop_gaps() -> Callable[[], Any]:
    """Return a context that collects the seconds that the loop worked between two turns of a task.

    Of its own CPU, since on a busy machine everybody waits. Few turns tell of a loop that stood still. What
    other tests have left in memory is hidden from the garbage collector: to walk it can take a second.
    """
    from contextlib import asynccontextmanager
    from time import thread_time

    @asynccontextmanager
    async def measured() -> Any:
        gaps: list[float] = []

        async def beat() -> None:
            while True:
                before = thread_time()
                await asyncio.sleep(0.005)
                gaps.append(thread_time() - before)

        gc.collect()
        gc.freeze()
        task = asyncio.ensure_future(beat())
        try:
            yield gaps
        finally:
            gc.unfreeze()
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    return measured
