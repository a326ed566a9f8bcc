"""Daemon threads: used again, never in the way of the process's end, and not inherited by a fork."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable

import anyio

from airflow_landmark.stores import _daemons as module
from airflow_landmark.stores._daemons import start_thread


async def until(condition: Callable[[], bool]) -> None:
    """Wait for something that happens in another thread."""
    with anyio.fail_after(10):
        while not condition():
            await anyio.sleep(0.005)


async def test_the_event_comes_after_the_work() -> None:
    """The work is done elsewhere; then something is called in the loop's thread, then the event is set."""
    here, seen = threading.get_ident(), []
    event = start_thread(
        lambda: seen.append(("work", threading.current_thread().name, threading.get_ident() == here)),
        name="landmark test",
        then=lambda: seen.append(("then", threading.get_ident() == here, event.is_set())),
    )
    await event.wait()
    assert seen == [("work", "landmark test", False), ("then", True, False)]


async def test_threads_are_used_again() -> None:
    """Work that comes one after another shares a thread; of many at once only some stay."""
    idents = set()
    for _ in range(50):
        await start_thread(lambda: idents.add(threading.get_ident()), name="landmark test").wait()
        await anyio.sleep(0.001)
    assert len(idents) <= 5
    release = threading.Event()
    events = [start_thread(release.wait, name="landmark crowd") for _ in range(60)]
    await until(lambda: sum(t.name == "landmark crowd" for t in threading.enumerate()) == 60)
    release.set()
    for event in events:
        await event.wait()
    await until(
        lambda: sum(t.name.startswith("landmark") for t in threading.enumerate()) <= module._MAX_IDLE + 2
    )


async def test_work_that_ends_after_its_loop_is_forgotten() -> None:
    """A thread whose event loop is gone ends its work in silence and is used again."""
    release, ended = threading.Event(), threading.Event()

    async def leave() -> None:
        start_thread(lambda: (release.wait(), ended.set()), name="landmark late")

    def other_loop() -> None:
        anyio.run(leave)
        release.set()

    await anyio.to_thread.run_sync(other_loop)
    await until(ended.is_set)
    await until(lambda: not any(thread.name == "landmark late" for thread in threading.enumerate()))


def test_a_fork_starts_threads_of_its_own() -> None:
    """A forked process hands no work to threads that only its parent has."""
    script = (
        "import asyncio, os, time\n"
        "from airflow_landmark.stores._daemons import start_thread\n"
        "async def work():\n"
        "    await asyncio.wait_for(start_thread(lambda: None, name='x').wait(), 5)\n"
        "asyncio.run(work())\n"
        "time.sleep(0.1)\n"
        "child = os.fork()\n"
        "asyncio.run(work())\n"
        "if child:\n"
        "    assert os.waitpid(child, 0)[1] == 0\n"
        "    print('both')\n"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-W", "ignore", "-c", script]
    done = subprocess.run(command, env=environment, timeout=30, capture_output=True, check=True)
    assert done.stdout == b"both\n", done.stderr
