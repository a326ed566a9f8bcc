"""The threads of one mount point: bounded, watched, and written off when they hang.

A call on a hung network mount never returns and cannot be stopped. Each mount therefore has threads of
its own; a call that does not return in time is given up, its item is left alone until the call has come
back, and the thread that it holds is replaced up to a bound.
"""

from __future__ import annotations

import asyncio
import io
import math
import os
import time
from collections.abc import Callable, Hashable, Sequence
from typing import Any, Generic, TypeVar

import anyio

from ._daemons import start_thread
from ._errors import PassingTrouble, StoreError

__all__ = ["DEFAULT_LOOK_SECONDS", "Calls", "MountThreads"]

DEFAULT_LOOK_SECONDS = 20.0
"""How long one look at one file may take."""

_THREADS = 40
_MAX_STUCK = 64
"""So many threads may hang on one mount before nothing more is tried there."""
_BATCH = 256

ItemT = TypeVar("ItemT", bound=Hashable)
ResultT = TypeVar("ResultT")

_STUCK: dict[str, set[Calls[Any, Any]]] = {}
"""Mount point to the calls that hang there, whichever store made them: stores come and go, threads stay."""
os.register_at_fork(after_in_child=_STUCK.clear)


class Calls(Generic[ItemT, ResultT]):
    """A function called on items one after another in one thread, with its results as they come."""

    def __init__(
        self, function: Callable[[ItemT], ResultT], items: Sequence[ItemT], pause_after: float
    ) -> None:
        self._function = function
        self._items = items
        self._pause_after = pause_after
        self.results: list[ResultT | StoreError] = []
        self.failure: BaseException | None = None
        self.given_up = self.ended = False

    def __call__(self) -> None:
        """Work until the items are done, the calls are given up, or half the time is used."""
        began = time.monotonic()
        try:
            for item in self._items:
                if self.given_up or time.monotonic() - began > self._pause_after:
                    return
                self.results.append(self._call(item))
        except BaseException as error:  # noqa: BLE001 - raised again where the results are awaited
            self.failure = error
        finally:
            self.ended = True

    def _call(self, item: ItemT) -> ResultT | StoreError:
        try:
            result = self._function(item)
        except StoreError as error:
            return error
        if self.given_up and isinstance(result, io.IOBase):
            result.close()  # nobody takes an open file that came too late
        return result


class MountThreads:
    """Runs blocking calls on one mount point.

    :param mount: the mount point, for messages.
    :param look_seconds: how long one call may take.
    """

    def __init__(self, *, mount: str, look_seconds: float = DEFAULT_LOOK_SECONDS) -> None:
        self.mount = mount
        self.look_seconds = look_seconds
        # Not anyio's worker threads: their token is given back when a call is given up, which would
        # let a hung mount take one more thread with every look.
        self._limiter = anyio.CapacityLimiter(_THREADS)
        self._stuck = _STUCK.setdefault(mount, set())
        self._own_stuck: set[Calls[Any, Any]] = set()
        self._hung: dict[Hashable, Calls[Any, Any]] = {}
        self._resize()

    @property
    def hangs(self) -> bool:
        """Whether a call is known to hang now."""
        return bool(self._stuck)

    async def each(
        self, function: Callable[[ItemT], ResultT], items: Sequence[ItemT]
    ) -> dict[ItemT, ResultT | StoreError]:
        """Call the function on every item.

        :returns: a result or an error for each item; :class:`PassingTrouble` for those that hang.
        """
        self._hung = {item: calls for item, calls in self._hung.items() if not calls.ended}
        self._resize()
        results: dict[ItemT, ResultT | StoreError] = {}
        waiting = []
        for item in items:
            if item in self._hung:
                results[item] = self._trouble(item, "an earlier look has still not returned")
            else:
                waiting.append(item)
        while waiting:
            batch, waiting = waiting[:_BATCH], waiting[_BATCH:]
            done = await self._batch(function, batch)
            results.update(done)
            left = [item for item in batch if item not in done]
            if any(item in self._hung for item in batch):
                results.update(await self._singly(function, left))
            else:
                waiting = left + waiting
        return results

    async def _singly(
        self, function: Callable[[ItemT], ResultT], items: Sequence[ItemT]
    ) -> dict[ItemT, ResultT | StoreError]:
        """After one call has hung: a thread for each, so that none waits behind another that hangs."""
        results: dict[ItemT, ResultT | StoreError] = {}

        async def one(item: ItemT) -> None:
            while item not in results:
                results.update(await self._batch(function, [item]))

        async with anyio.create_task_group() as group:
            for item in items:
                group.start_soon(one, item)
        return results

    async def _batch(
        self, function: Callable[[ItemT], ResultT], items: Sequence[ItemT]
    ) -> dict[ItemT, ResultT | StoreError]:
        """Results of the first items at least, unless all threads of the mount hang."""
        calls = Calls(function, items, self.look_seconds / 2)
        await self._limiter.acquire_on_behalf_of(calls)
        if self._exhausted():
            self._limiter.release_on_behalf_of(calls)
            return {item: self._trouble(item, "too many looks hang") for item in items}
        try:
            done = self._start(calls)
        except RuntimeError as error:
            self._limiter.release_on_behalf_of(calls)
            return {item: self._trouble(item, f"no thread could be started: {error}") for item in items}
        try:
            with anyio.move_on_after(self.look_seconds):
                await done.wait()
        finally:
            if not calls.ended:
                self._write_off(calls)
        if calls.failure is not None:
            raise calls.failure
        results = dict(zip(items, calls.results, strict=False))
        if calls.given_up and len(results) < len(items) and not calls.ended:
            stuck = items[len(results)]
            results[stuck] = self._trouble(stuck, f"no answer within {self.look_seconds:g} s")
            self._hung[stuck] = calls
        return results

    def _start(self, calls: Calls[ItemT, ResultT]) -> asyncio.Event:
        """Start a thread for the calls; the event is set, and the thread counted free, when they end."""

        def work() -> None:
            calls()
            self._stuck.discard(calls)

        def ended() -> None:
            self._limiter.release_on_behalf_of(calls)
            self._own_stuck.discard(calls)
            self._resize()

        return start_thread(work, name=f"landmark {self.mount}", then=ended)

    def _write_off(self, calls: Calls[ItemT, ResultT]) -> None:
        """Replace the thread of calls that have not come back in time, or that nobody waits for."""
        calls.given_up = True
        self._own_stuck.add(calls)
        self._stuck.add(calls)
        if calls.ended:  # meanwhile
            self._stuck.discard(calls)
        self._resize()

    def _exhausted(self) -> bool:
        return len(self._stuck) >= _THREADS + _MAX_STUCK

    def _resize(self) -> None:
        """Let so many threads run beside those that hang; when too many hang, let everybody be told."""
        spare = min(_THREADS, _THREADS + _MAX_STUCK - len(self._stuck))
        self._limiter.total_tokens = math.inf if spare <= 0 else len(self._own_stuck) + spare

    def _trouble(self, item: Hashable, reason: str) -> PassingTrouble:
        return PassingTrouble(str(item), f"{reason} (mount {self.mount})")
