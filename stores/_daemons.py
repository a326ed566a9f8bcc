"""Daemon threads for blocking calls that may never return: they must not keep the process from ending."""

from __future__ import annotations

import asyncio
import os
import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from queue import SimpleQueue

__all__ = ["start_thread"]

_MAX_IDLE = 16


def start_thread(
    work: Callable[[], object], *, name: str, then: Callable[[], object] | None = None
) -> asyncio.Event:
    """Start the work in a daemon thread; the event is set when it has ended.

    :param work: must not raise.
    :param name: of the thread while it works, for whoever looks at a process that hangs.
    :param then: is called in the event loop first, also when nobody waits for the event any more.
    :raises RuntimeError: when the system gives no more threads.
    """
    loop, done = asyncio.get_running_loop(), asyncio.Event()

    def ended() -> None:
        if then is not None:
            then()
        done.set()

    def in_thread() -> None:
        threading.current_thread().name = name
        work()
        threading.current_thread().name = "landmark idle"
        with suppress(RuntimeError):  # the loop is closed
            loop.call_soon_threadsafe(ended)

    try:
        worker = _IDLE.pop()
    except IndexError:
        worker = _Worker()
        worker.start()
    worker.jobs.put(in_thread)
    return done


class _Worker(threading.Thread):
    """Works on one job after another; starting a thread costs more than many a job."""

    def __init__(self) -> None:
        super().__init__(name="landmark idle", daemon=True)
        self.jobs: SimpleQueue[Callable[[], object]] = SimpleQueue()

    def run(self) -> None:
        """Work until there are enough that are idle."""
        while True:
            self.jobs.get()()
            if len(_IDLE) >= _MAX_IDLE:
                return
            _IDLE.append(self)


_IDLE: deque[_Worker] = deque()
os.register_at_fork(after_in_child=_IDLE.clear)  # a child has the list, but not the threads
