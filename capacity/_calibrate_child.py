"""Runs copies of a trigger in one loop, in a process of its own, and measures what they cost.

Run as ``python -m airflow_landmark.capacity._calibrate_child``; reads what to run as JSON from standard
input, answers with one JSON document on the first standard output.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import importlib
import json
import logging
import os
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

__all__ = ["Meter", "main"]

_POLLS = ("poll_interval", "poke_interval", "waiter_delay", "polling_interval", "polling_period_seconds")
_SHORTEST_SLEEP = 0.05
_SETTLE_SECONDS = 120.0
_IDLE_SECONDS = 3.0


class Meter:
    """Counts what triggers do beside their work: sleeps, log lines, requests to Airflow.

    :ivar sleeps: how often each task went to sleep: each turn of a poll loop does so once.
    """

    def __init__(self) -> None:
        self.lines = 0
        self.requests = 0
        self.sleeps: Counter[asyncio.Task[Any] | None] = Counter()

    def line(self, *_: Any, **__: Any) -> None:
        """A log line, or a printed one."""
        self.lines += 1

    async def sleep(self, delay: float, result: Any = None) -> Any:
        """``asyncio.sleep``, counted."""
        if delay >= _SHORTEST_SLEEP:
            self.sleeps[asyncio.current_task()] += 1
        return await _sleep(delay, result)

    def answer(self, message: Any) -> Any:
        """What Airflow would say to a request of a trigger: nothing has happened yet."""
        from airflow.sdk.execution_time import comms  # noqa: PLC0415

        self.requests += 1
        match type(message).__name__:
            case "GetTICount":
                return comms.TICount(count=0)
            case "GetDRCount":
                return comms.DRCount(count=0)
            case "GetTaskStates":
                return comms.TaskStatesResult(task_states={})
            case "GetDagRunState":
                return comms.DagRunStateResult.model_validate({"state": "running"})
            case "GetConnection":
                known = {"conn_id": message.conn_id, "conn_type": "generic"}
                return comms.ConnectionResult.model_validate(known)
        return comms.ErrorResponse()


_sleep = asyncio.sleep


class _Supervisor:
    """Stands where a triggerer's trigger talks to its supervisor."""

    def __init__(self, meter: Meter) -> None:
        self._meter = meter

    def send(self, msg: Any) -> Any:
        """Answer at once."""
        return self._meter.answer(msg)

    async def asend(self, msg: Any) -> Any:
        """Answer at once."""
        return self._meter.answer(msg)


class _Counting(logging.Handler):
    def __init__(self, meter: Meter) -> None:
        super().__init__(logging.INFO)
        self._meter = meter

    def emit(self, record: logging.LogRecord) -> None:  # noqa: ARG002 - counted, not shown
        self._meter.line()


def main() -> None:
    """Read, run, answer."""
    answer = os.dup(1)
    os.dup2(2, 1)
    asked = json.load(sys.stdin)
    document = asyncio.run(_measure(asked))
    with os.fdopen(answer, "w", encoding="ascii") as stream:
        json.dump(document, stream)


async def _measure(asked: Mapping[str, Any]) -> dict[str, Any]:
    module, _, name = asked["trigger"].rpartition(".")
    trigger = getattr(importlib.import_module(module), name)
    meter = Meter()
    with _metered(meter):
        await _warm_up(trigger, asked["kwargs"][0], asked["window"])
        idle = await _idle_share()
        gc.collect()
        memory, descriptors, cpu = _memory(), _descriptors(), time.process_time()
        started = [trigger(**_instants(kwargs)) for kwargs in asked["kwargs"][1:]]
        tasks = [asyncio.create_task(_consume(one)) for one in started]
        await _settled(meter, tasks, asked["window"])
        start_cpu = time.process_time() - cpu
        before = _reading(meter, tasks)
        peak = await _watch_descriptors(asked["window"])
        after = _reading(meter, tasks)
        gc.collect()
        held = _memory() - memory
        ended = [task for task in tasks if task.done()]
        found = dict(zip(("cpu", "checks", "lines", "requests"), _minus(after, before), strict=True))
        await _end(tasks)
    found["cpu"] = max(0.0, found["cpu"] - idle * asked["window"])
    poll = next((value for one in _POLLS if (value := _poll(started[0], asked, one))), None)
    return found | {
        "memory": held,
        "start_cpu": start_cpu,
        "descriptors": max(0, peak - descriptors),
        "poll": poll if isinstance(poll, (int, float)) else None,
        "ended": len(ended),
        "why": _why(ended),
    }


def _poll(trigger: Any, asked: Mapping[str, Any], name: str) -> Any:
    """A trigger's poll interval by one of its names: an attribute, or what it was given."""
    return getattr(trigger, name, None) or asked["kwargs"][0].get(name)


def _instants(kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments, ``{"instant": "2036-01-01T00:00:00+00:00"}`` made a moment: JSON has none."""
    return {
        name: datetime.fromisoformat(value["instant"])
        if isinstance(value, dict) and value.keys() == {"instant"}
        else value
        for name, value in kwargs.items()
    }


async def _idle_share() -> float:
    """The part of a core that this process takes without triggers."""
    began = time.process_time()
    await _watch_descriptors(_IDLE_SECONDS)
    return (time.process_time() - began) / _IDLE_SECONDS


@contextlib.contextmanager
def _metered(meter: Meter) -> Iterator[None]:
    """Let the meter see sleeps, logs, prints and requests to Airflow."""
    import structlog  # noqa: PLC0415
    from airflow.sdk.execution_time import task_runner  # noqa: PLC0415

    def count(*_: Any) -> Any:
        meter.line()
        raise structlog.DropEvent

    task_runner.SUPERVISOR_COMMS = _Supervisor(meter)  # type: ignore[assignment]
    level = structlog.make_filtering_bound_logger(logging.INFO)
    structlog.configure(processors=[count], wrapper_class=level, cache_logger_on_first_use=False)
    logging.root.handlers = [_Counting(meter)]
    logging.root.setLevel(logging.INFO)
    asyncio.sleep = meter.sleep
    with contextlib.redirect_stdout(_Lines(meter)):
        yield
    asyncio.sleep = _sleep


class _Lines:
    """A standard output that counts lines."""

    def __init__(self, meter: Meter) -> None:
        self._meter = meter

    def write(self, text: str) -> int:
        for _ in range(text.count("\n")):
            self._meter.line()
        return len(text)

    def flush(self) -> None:
        """Nothing is held."""


async def _consume(trigger: Any) -> None:
    """Run a trigger to its first event, as a triggerer does: with a portal for its synchronous calls."""
    import greenback  # noqa: PLC0415

    await greenback.ensure_portal()
    async for event in trigger.run():
        raise RuntimeError(f"the trigger fired instead of waiting: {str(event)[:200]}")


async def _warm_up(trigger: Any, kwargs: Mapping[str, Any], window: float) -> None:
    """Imports, caches and pools are paid once a triggerer, not once a trigger: one copy pays them first."""
    task = asyncio.create_task(_consume(trigger(**_instants(kwargs))))
    await asyncio.wait([task], timeout=min(window, 5.0))
    await _end([task])


async def _settled(meter: Meter, tasks: list[asyncio.Task[None]], window: float) -> None:
    """Wait until all copies have slept once, or none has done so for a while: some leave it to others."""
    names, end = set(tasks), time.monotonic() + _SETTLE_SECONDS
    slept, quiet = 0, time.monotonic() + window
    while time.monotonic() < min(end, quiet) and slept < len(names):
        await _sleep(0.2)
        now = len(names & meter.sleeps.keys())
        if now > slept:
            slept, quiet = now, time.monotonic() + window
        if all(task.done() for task in tasks):
            return


async def _watch_descriptors(window: float) -> int:
    """The highest number of open descriptors in the window."""
    peak, end = 0, time.monotonic() + window
    while (left := end - time.monotonic()) > 0:
        peak = max(peak, _descriptors())
        await _sleep(min(0.5, left))
    return peak


async def _end(tasks: list[asyncio.Task[None]]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


def _why(ended: list[asyncio.Task[None]]) -> str:
    """Why copies ended that should have waited."""
    for task in ended:
        if not task.cancelled() and (error := task.exception()) is not None:
            return f"{type(error).__name__}: {error}"[:300]
    return "its run() ended" if ended else ""


def _reading(meter: Meter, tasks: list[asyncio.Task[None]]) -> tuple[float, ...]:
    """CPU seconds, checks, lines, requests so far."""
    checks = sum(meter.sleeps[task] for task in tasks)
    return time.process_time(), checks, meter.lines, meter.requests


def _minus(after: tuple[float, ...], before: tuple[float, ...]) -> list[float]:
    return [late - early for late, early in zip(after, before, strict=True)]


def _memory() -> int:
    """Resident memory of this process, in bytes."""
    with open("/proc/self/statm", encoding="ascii") as file:  # noqa: PTH123 - read many times
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def _descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))  # noqa: PTH208


if __name__ == "__main__":
    main()
