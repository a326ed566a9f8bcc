"""An event loop in a thread of its own, for files that are read by blocking code.

A file is opened in an event loop that may have ended before its first byte is read: what it needs lives
here. The thread starts with the first file and ends with the process.
"""

from __future__ import annotations

import asyncio
import atexit
import os
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from contextlib import suppress
from typing import Any, TypeVar

__all__ = ["Bridge", "bridge"]

ResultT = TypeVar("ResultT")

_CLOSE_SECONDS = 3.0


class Bridge:
    """The loop and its thread."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self._process = os.getpid()
        self._closers: set[Callable[[], Coroutine[Any, Any, None]]] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._thread = threading.Thread(target=self._run, name="landmark s3 files", daemon=True)
        self._thread.start()

    def submit(self, work: Coroutine[Any, Any, ResultT]) -> Future[ResultT]:
        """Start work in the loop, from any other thread.

        :raises RuntimeError: in a child process, which has the file but not the thread behind it.
        """
        if os.getpid() != self._process:
            work.close()
            raise RuntimeError("the file was opened before this process was forked: open it again")
        return asyncio.run_coroutine_threadsafe(work, self.loop)

    def wait(self, work: Coroutine[Any, Any, ResultT]) -> ResultT:
        """Block until the work is done, and return its result."""
        future = self.submit(work)
        try:
            return future.result()
        except BaseException:
            future.cancel()  # the wait was interrupted: nobody takes the result any more
            raise

    def keep(self, close: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Close it at the end of the process, unless that is done before. Called in the loop."""
        self._closers.add(close)

    def close_later(self, close: Callable[[], Coroutine[Any, Any, None]], seconds: float) -> None:
        """Close something that is kept, after some seconds. Called from any thread; never waits."""
        with suppress(RuntimeError):  # the loop has ended, and has closed it
            self.loop.call_soon_threadsafe(self.loop.call_later, seconds, self._start_closing, close)

    def end(self) -> None:
        """Close what is open and end the thread."""
        with suppress(Exception):
            self.submit(self._close_all()).result(_CLOSE_SECONDS)
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join(_CLOSE_SECONDS)

    def _run(self) -> None:
        asyncio.set_event_loop(self.loop)
        self.loop.run_forever()
        self.loop.close()

    def _start_closing(self, close: Callable[[], Coroutine[Any, Any, None]]) -> None:
        if close in self._closers:
            self._closers.discard(close)
            task = self.loop.create_task(close())
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _close_all(self) -> None:
        closers, self._closers = self._closers, set()
        await asyncio.gather(*self._tasks, *(close() for close in closers), return_exceptions=True)
        await asyncio.sleep(0)  # lets the transports close


_LOCK = threading.Lock()
_BRIDGES: list[Bridge] = []


def bridge() -> Bridge:
    """The one of this process."""
    with _LOCK:
        if not _BRIDGES:
            _BRIDGES.append(Bridge())
        return _BRIDGES[0]


@atexit.register
def _end() -> None:
    while _BRIDGES:
        _BRIDGES.pop().end()


def _forget() -> None:
    """A child has the list, but not the thread; its lock may have been taken by one that it lacks."""
    global _LOCK  # noqa: PLW0603
    _LOCK = threading.Lock()
    _BRIDGES.clear()


os.register_at_fork(after_in_child=_forget)
