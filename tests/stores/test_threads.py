"""Blocking calls of one mount: what hangs is given up, and nothing else suffers."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import anyio
import pytest

from airflow_landmark.stores import Absent, PassingTrouble
from airflow_landmark.stores import _threads as module
from airflow_landmark.stores._threads import MountThreads

LIMIT = 0.3


@pytest.fixture
def release() -> Iterator[threading.Event]:
    """Return what hanging calls wait for; set after the test, so that no thread is left."""
    event = threading.Event()
    yield event
    event.set()


@pytest.fixture
def mount(request: pytest.FixtureRequest) -> str:
    """Return a mount point of the test's own: hanging calls are counted for the whole process."""
    return f"/{request.node.name}"


def alive(mount: str) -> int:
    """How many threads the mount has."""
    return sum(thread.name == f"landmark {mount}" for thread in threading.enumerate())


async def until(condition: Callable[[], bool]) -> None:
    """Wait for something that happens in another thread."""
    with anyio.fail_after(10):
        while not condition():
            await anyio.sleep(0.005)


async def test_a_call_that_does_not_return_counts_as_hung(release: threading.Event, mount: str) -> None:
    """After the limit a hanging call is passing trouble, and the others of its batch still answer."""
    threads = MountThreads(mount=mount, look_seconds=LIMIT)
    began = time.monotonic()
    results = await threads.each(lambda n: release.wait() if n == 3 else n * 2, range(10))
    assert time.monotonic() - began >= LIMIT
    stuck = results.pop(3)
    assert isinstance(stuck, PassingTrouble)
    assert "no answer within 0.3 s" in str(stuck)
    assert mount in str(stuck)
    assert results == {n: n * 2 for n in range(10) if n != 3}


async def test_a_hung_item_is_left_alone_until_its_call_returns(release: threading.Event, mount: str) -> None:
    """No second call is made for an item whose first one still hangs; afterwards it is called again."""
    threads = MountThreads(mount=mount, look_seconds=LIMIT)
    called: list[str] = []

    def look(item: str) -> str:
        called.append(item)
        if item == "bad":
            release.wait()
        return item

    await threads.each(look, ["bad", "good"])
    began = time.monotonic()
    results = await threads.each(look, ["bad", "good"])
    assert time.monotonic() - began < LIMIT
    assert "still not returned" in str(results["bad"])
    assert results["good"] == "good"
    assert called.count("bad") == 1
    release.set()
    await until(lambda: not threads.hangs)
    assert await threads.each(look, ["bad"]) == {"bad": "bad"}


async def test_threads_are_given_back(release: threading.Event, mount: str) -> None:
    """A mount that comes back has all its threads again."""
    threads = MountThreads(mount=mount, look_seconds=LIMIT)
    await threads.each(lambda n: release.wait(), range(6))
    assert threads._limiter.borrowed_tokens == 6
    assert threads._limiter.total_tokens == module._THREADS + 6
    release.set()
    await until(lambda: not threads._limiter.borrowed_tokens)
    assert threads._limiter.total_tokens == module._THREADS
    await until(lambda: not alive(mount))


@pytest.mark.parametrize("hanging_first", [True, False])
async def test_most_of_sixty_looks_hang_and_the_rest_answer(
    release: threading.Event, mount: str, hanging_first: bool, loop_gaps: Callable
) -> None:
    """Of 60 looks 45 hang: the other 15 answer in one call, and the loop goes on."""
    threads = MountThreads(mount=mount, look_seconds=LIMIT)
    hanging = set(range(45) if hanging_first else range(15, 60))
    async with loop_gaps() as gaps:
        results = await threads.each(lambda n: release.wait() if n in hanging else "seen", range(60))
    assert {n for n, result in results.items() if result == "seen"} == set(range(60)) - hanging
    assert all(isinstance(results[n], PassingTrouble) for n in hanging)
    assert max(gaps) < 1.0
    assert len(gaps) >= 20


async def test_a_dead_mount_takes_a_bounded_number_of_threads(release: threading.Event, mount: str) -> None:
    """When everything hangs, so many threads are lost and no more; then every look is told so at once."""
    threads = MountThreads(mount=mount, look_seconds=LIMIT)
    bound = module._THREADS + module._MAX_STUCK
    results = await threads.each(lambda n: release.wait(), range(400))
    assert len(results) == 400
    assert all(isinstance(result, PassingTrouble) for result in results.values())
    assert alive(mount) == bound
    began = time.monotonic()
    results = await threads.each(lambda n: release.wait(), range(400, 800))
    assert time.monotonic() - began < LIMIT
    assert len(results) == 400
    assert alive(mount) == bound
    release.set()
    await until(lambda: not alive(mount))
    assert await threads.each(lambda n: n, [1]) == {1: 1}


async def test_a_new_store_knows_of_the_threads_that_hang(release: threading.Event, mount: str) -> None:
    """Stores come and go; the bound on hanging threads holds for the mount."""
    bound = module._THREADS + module._MAX_STUCK
    for start in range(0, 300, 60):
        threads = MountThreads(mount=mount, look_seconds=0.05)
        await threads.each(lambda n: release.wait(), range(start, start + 60))
        assert alive(mount) <= bound
    assert alive(mount) == bound


async def test_calls_that_nobody_waits_for_keep_their_thread_counted(
    release: threading.Event, mount: str
) -> None:
    """Cancelling a hanging look loses its thread to the mount, but not the count of it."""
    threads = MountThreads(mount=mount, look_seconds=10)
    for _ in range(5):
        with anyio.move_on_after(0.02):
            await threads.each(lambda n: release.wait(), [1])
    assert threads.hangs
    assert threads._limiter.borrowed_tokens == 5
    release.set()
    await until(lambda: not threads._limiter.borrowed_tokens)
    assert threads._limiter.total_tokens == module._THREADS


async def test_slow_calls_do_not_hang(mount: str) -> None:
    """Many slow calls in a row take longer than the limit for one of them, and none is given up."""
    threads = MountThreads(mount=mount, look_seconds=0.2)

    def slow(number: int) -> int:
        time.sleep(0.02)
        return number

    assert await threads.each(slow, range(30)) == {n: n for n in range(30)}


async def test_sixty_hanging_callers_do_not_stop_a_later_one(release: threading.Event, mount: str) -> None:
    """Callers that come one by one are served beside 60 that hang."""
    threads = MountThreads(mount=mount, look_seconds=LIMIT)
    async with anyio.create_task_group() as group:
        for number in range(60):
            group.start_soon(threads.each, lambda n: release.wait(), [number])
        await anyio.sleep(0.01)
        with anyio.fail_after(4 * LIMIT):
            assert await threads.each(lambda n: n, ["late"]) == {"late": "late"}


async def test_errors_of_the_store_are_results(mount: str) -> None:
    """A store's error about one item is that item's result."""

    def look(number: int) -> int:
        if number == 1:
            raise Absent("/x", "no such file")
        return number

    results = await MountThreads(mount=mount).each(look, range(3))
    assert isinstance(results[1], Absent)
    assert (results[0], results[2]) == (0, 2)


async def test_a_defect_is_raised(mount: str) -> None:
    """What is no error of the store is a defect, and hides behind no result."""
    threads = MountThreads(mount=mount)
    with pytest.raises(ZeroDivisionError):
        await threads.each(lambda n: 1 // n, range(3))
    assert threads._limiter.borrowed_tokens == 0


async def test_an_open_file_that_comes_too_late_is_closed(
    release: threading.Event, mount: str, tmp_path: Path, no_descriptor_left: None
) -> None:
    """A file that a given-up call opens at last is closed, since nobody else can."""
    path = tmp_path / "f"
    path.touch()

    def open_late(_item: str) -> object:
        release.wait()
        return path.open("rb")

    threads = MountThreads(mount=mount, look_seconds=0.05)
    await threads.each(open_late, ["f"])
    release.set()
    await until(lambda: not threads.hangs)


def test_a_hanging_mount_does_not_keep_the_process() -> None:
    """A process ends although one of its looks hangs for ever."""
    script = (
        "import anyio, threading\n"
        "from airflow_landmark.stores._threads import MountThreads\n"
        "async def main():\n"
        "    threads = MountThreads(mount='/m', look_seconds=0.05)\n"
        "    await threads.each(lambda n: threading.Event().wait(), [1])\n"
        "anyio.run(main)\n"
        "print('ended')\n"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", script],
        env=environment,
        timeout=30,
        capture_output=True,
        check=True,
    )
    assert done.stdout == b"ended\n"
    assert done.stderr == b""
