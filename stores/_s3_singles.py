"""Many requests for single objects, several at a time, none of which waits long behind one that hangs."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import Generic, TypeVar

import anyio

from ._address import Address
from ._errors import Changed, PassingTrouble, StoreError

__all__ = ["Singles"]

ResultT = TypeVar("ResultT")

_AT_ONCE = 12
_SLOW_AT_ONCE = 4
"""Objects that were waited for in vain last time share these, and hold up no others."""
_MAX_SLOW = 10_000
_ENOUGH = 16
"""After so many troubles in a row the store is in trouble: the rest is told without being asked."""


class Singles:
    """The slots for requests of a store.

    :param slow_seconds: trouble that took longer is waiting in vain.
    """

    def __init__(self, *, slow_seconds: float) -> None:
        self._slow_seconds = slow_seconds
        self._slots = anyio.CapacityLimiter(_AT_ONCE)
        self._slow_slots = anyio.CapacityLimiter(_SLOW_AT_ONCE)
        self._slow: set[Address] = set()

    async def each(
        self, addresses: Sequence[Address], work: Callable[[Address], Awaitable[ResultT]]
    ) -> dict[Address, ResultT | StoreError]:
        """Await the work on every address.

        :returns: a result or an error for each.
        """
        run = _Run(work, self._note)
        slow = [address for address in addresses if address in self._slow]
        others = [address for address in addresses if address not in self._slow]
        async with anyio.create_task_group() as group:
            for queue, slots in ((others, self._slots), (slow, self._slow_slots)):
                waiting = iter(queue)
                for _ in range(min(len(queue), int(slots.total_tokens))):
                    group.start_soon(run.worker, waiting, slots)
        return run.results

    def _note(self, address: Address, in_vain: float) -> None:
        """Remember whether the address was waited for in vain, and how many seconds."""
        if in_vain < self._slow_seconds:
            self._slow.discard(address)
        elif len(self._slow) < _MAX_SLOW:
            self._slow.add(address)


class _Run(Generic[ResultT]):
    """One round of requests."""

    def __init__(
        self, work: Callable[[Address], Awaitable[ResultT]], note: Callable[[Address, float], None]
    ) -> None:
        self.results: dict[Address, ResultT | StoreError] = {}
        self._work = work
        self._note = note
        self._in_a_row = 0
        self._last: PassingTrouble | None = None

    async def worker(self, waiting: Iterator[Address], slots: anyio.CapacityLimiter) -> None:
        """Take address after address."""
        for address in waiting:
            if self._in_a_row >= _ENOUGH and self._last is not None:
                text = f"not asked after {self._in_a_row} troubles in a row, the last: {self._last.reason}"
                trouble = PassingTrouble(address.uri, text, retry_after=self._last.retry_after)
                self.results[address] = trouble
                continue
            async with slots:
                await self._one(address)

    async def _one(self, address: Address) -> None:
        began = time.monotonic()
        result: ResultT | StoreError
        try:
            result = await self._work(address)
        except StoreError as error:
            result = error
        self.results[address] = result
        if isinstance(result, PassingTrouble) and not isinstance(result, Changed):
            self._in_a_row += 1
            self._last = result
            self._note(address, time.monotonic() - began)
        else:
            self._in_a_row = 0
            self._note(address, 0.0)
