"""A local store, addresses in the test's own folder, and a measure of how long the loop was busy."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

import pytest

from airflow_landmark.stores import Address, LocalStore


@pytest.fixture
def at(tmp_path: Path) -> Callable[[str], Address]:
    """Return a function that makes the address of a name in the test's folder."""
    return lambda name: Address("file", "", str(tmp_path), name)


@pytest.fixture
async def store() -> AsyncIterator[LocalStore]:
    """Return a local store, closed after the test."""
    store = await LocalStore().start()
    yield store
    await store.aclose()


@pytest.fixture
def loop_gaps() -> Callable[[], AbstractAsyncContextManager[list[float]]]:
    """Return a context that collects the seconds that the loop worked between two turns of a task.

    Of its own CPU, since on a busy machine everybody waits. Few turns tell of a loop that stood still.
    """

    @asynccontextmanager
    async def measured() -> AsyncIterator[list[float]]:
        gaps: list[float] = []

        async def beat() -> None:
            while True:
                before = time.thread_time()
                await asyncio.sleep(0.005)
                gaps.append(time.thread_time() - before)

        task = asyncio.ensure_future(beat())
        try:
            yield gaps
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    return measured


@pytest.fixture
def no_descriptor_left() -> Iterator[None]:
    """Fail a test that leaves a file descriptor open."""

    def opened() -> set[str]:
        found = set()
        for path in Path("/proc/self/fd").iterdir():
            try:
                found.add(f"{path.name} {path.readlink()}")
            except OSError:
                continue
        return found

    before = opened()
    yield
    deadline = time.monotonic() + 2.0
    while opened() - before and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not opened() - before
