"""The waits of a case, run as the triggerer runs them.

Each trigger is consumed by a task of its own, behind a greenback portal and with log bindings. Tasks are
made fifty at a time.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Callable, Sequence
from typing import Any

from ._meter import Lines
from ._places import Place
from ._plan import Case
from ._triggers import makers

__all__ = ["Waits"]

_MOST_SECONDS_TO_START = 600.0
_AT_ONCE = 50
_FOR_EVER_SECONDS = 86_400.0
_LATE_SECONDS = 2.0


class Waits:
    """All tasks of a case.

    :param places: where they look.
    :param lines: where the log goes.
    """

    def __init__(self, case: Case, places: Sequence[Place], lines: Lines) -> None:
        self._case, self._places, self._lines = case, places, lines
        self._make = makers(case, places) if case.side in ("ours", "peer") else None
        self._started = 0
        self._fired: dict[int, float] = {}
        self._tasks: list[asyncio.Task[None]] = []

    async def warm_up(self) -> None:
        """Wait once for a while: what is imported and built once belongs to no wait."""
        makes = [makers(self._case, [place]) for place in self._places] if self._make else [None]
        looked = await self._looking(waits=len(makes), paths=len(self._places))
        tasks = [asyncio.ensure_future(self._consume(-1, make)) for make in makes]
        await looked()
        await asyncio.sleep(self._case.settle)
        await _cancelled(tasks)

    async def start(self) -> float | None:
        """Start all; returns seconds until each has looked, or ``None`` when that is not seen."""
        case, began = self._case, time.monotonic()
        looked = await self._looking(waits=case.waits, paths=case.places or case.waits)
        for number in range(case.waits):
            self._tasks.append(asyncio.ensure_future(self._consume(number, self._make)))
            if number % _AT_ONCE == _AT_ONCE - 1:
                await asyncio.sleep(0)
        at = await looked()
        return None if at is None else at - began

    async def counts(self, *, reset: bool = False) -> dict[str, float]:
        """What all servers counted; empty without one."""
        total: dict[str, float] = {}
        for place in self._places:
            for name, count in (await asyncio.to_thread(place.counts, reset=reset)).items():
                total[name] = total.get(name, 0.0) + count
        return total

    async def deliver(self) -> dict[str, float | None]:
        """Let deliveries come at random moments of one interval; the delays of the events, beyond the poll.

        An event cannot come sooner than the next look: the mean is above half the interval, the longest
        above the whole one.
        """
        poll, count = self._case.poll, self._case.appear
        chance = random.Random(count)  # noqa: S311 - spread, not secrecy
        chosen = chance.sample(range(self._case.waits), count)
        began, put = time.monotonic(), {}
        for number, moment in zip(chosen, sorted(chance.uniform(0, poll) for _ in chosen), strict=True):
            await asyncio.sleep(max(0.0, began + moment - time.monotonic()))
            place = self._places[number % len(self._places)]
            put[number] = await asyncio.to_thread(place.put, number)
        await asyncio.sleep(1.25 * poll + _LATE_SECONDS)
        delays = [self._fired[number] - at for number, at in put.items() if number in self._fired]
        return {
            "delay_mean_ms": (sum(delays) / len(delays) - poll / 2) * 1000 if delays else None,
            "delay_max_ms": (max(delays) - poll) * 1000 if delays else None,
            "missed": count - len(delays),
        }

    async def cancel(self) -> None:
        """End all.

        :raises Exception: that a trigger raised.
        """
        await _cancelled(self._tasks)

    async def _looking(self, *, waits: int, paths: int) -> Callable[[], Any]:
        """From now on: what waits until so many waits have looked, and returns when the last one did."""
        lines, started = self._lines.count, self._started
        distinct = (await self.counts()).get("distinct")

        async def looked() -> tuple[bool, float]:
            # A wait of ours tells in one line what its first look found. The server sees the peer's, and
            # a FileTrigger looks in its first step.
            if self._case.side == "ours":
                return self._lines.count - lines >= waits, time.monotonic()
            if distinct is None:
                return self._started - started >= waits, time.monotonic()
            counts = await self.counts()
            return counts["distinct"] - distinct >= paths, counts["last_new_at"]

        async def all_looked() -> float | None:
            end = time.monotonic() + _MOST_SECONDS_TO_START
            while self._make is not None and time.monotonic() < end:
                over, at = await looked()
                if over:
                    return at
                await asyncio.sleep(0.1)
            return None

        return all_looked

    async def _consume(self, number: int, make: Callable[[int], Any] | None) -> None:
        import greenback  # noqa: PLC0415 - comes with Airflow
        import structlog  # noqa: PLC0415

        await greenback.ensure_portal()
        structlog.contextvars.bind_contextvars(
            trigger_id=number, dag_id="waits", task_id="wait", run_id="bench", try_number=1, map_index=number
        )
        self._started += 1
        if make is None:
            await asyncio.sleep(_FOR_EVER_SECONDS)
            return
        async for _event in make(number).run():
            self._fired[number] = time.monotonic()


async def _cancelled(tasks: Sequence[asyncio.Task[None]]) -> None:
    for task in tasks:
        task.cancel()
    for ended in await asyncio.gather(*tasks, return_exceptions=True):
        if isinstance(ended, Exception):
            raise ended
