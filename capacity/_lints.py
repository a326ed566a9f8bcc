"""Configurations that will hurt, a code each. A code keeps its meaning for ever."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

from ._bounds import waiting_limit
from ._calibrations import Calibrations
from ._results import Lint
from ._schedules import Always, Rate
from ._values import Deployment, Inputs, Partition, Wait

__all__ = ["LINTS", "lints_of"]

_SEVEN_DAYS = 7 * 86_400.0
_SHOWN = 3
_MIB = 1024**2
_MANY = 10
_DAY = 86_400.0

_Check = Callable[[Inputs, Calibrations], Iterator[tuple[str, str]]]
"""Yields where and what."""


def lints_of(inputs: Inputs, calibrations: Calibrations) -> tuple[Lint, ...]:
    """All that is found, errors first."""
    found = [
        Lint(code=code, level="error" if code in _ERRORS else "warning", where=where, text=text)
        for code, check in LINTS.items()
        for where, text in check(inputs, calibrations)
    ]
    return tuple(sorted(found, key=lambda lint: (lint.level, lint.code, lint.where)))


def _above_nofile(inputs: Inputs, calibrations: Calibrations) -> Iterator[tuple[str, str]]:
    """One open file for every running trigger, the log, in the supervisor."""
    base = round(calibrations.budget.descriptors)
    for one in inputs.deployments:
        if one.nofile is not None and one.capacity > one.nofile - base:
            text = f"capacity {one.capacity:,} is above nofile {one.nofile:,} less {base}: it crashes at "
            yield one.name, text + f"about {one.nofile - base:,} triggers; raise nofile or lower capacity"


def _memory(inputs: Inputs, calibrations: Calibrations) -> Iterator[tuple[str, str]]:
    base = calibrations.budget.memory_bytes
    for one in inputs.deployments:
        if one.memory_bytes is None:
            continue
        kinds = (calibrations.kind(wait.kind) for wait in _served(inputs, one))
        heaviest = max(kinds, key=lambda kind: kind.memory_bytes, default=None)
        if one.memory_bytes <= base:
            text = f"{one.memory_bytes // _MIB:,} MiB of memory do not hold a triggerer without triggers "
            yield one.name, text + f"({base / _MIB:.0f} MiB)"
        elif heaviest and base + one.capacity * heaviest.memory_bytes > one.memory_bytes:
            fits = int((one.memory_bytes - base) / heaviest.memory_bytes)
            text = f"{one.memory_bytes // _MIB:,} MiB hold {fits:,} of {heaviest.label}, capacity lets in "
            yield one.name, text + f"{one.capacity:,}: it is killed for memory before it is full"


def _queueless(inputs: Inputs, _: Calibrations) -> Iterator[tuple[str, str]]:
    """Triggers of assets, of callbacks and of ``start_from_trigger`` never have a queue."""
    if not inputs.deployments or not all(one.queues for one in inputs.deployments):
        return
    without = [wait.name for wait in _deferrable(inputs) if not wait.partition.queue]
    if without:
        text = f"every triggerer has --queues, so nobody runs triggers without a queue: {_some(without)}"
        yield "deployments", text


def _nobody(inputs: Inputs, _: Calibrations) -> Iterator[tuple[str, str]]:
    served = {partition for one in inputs.deployments if one.replicas for partition in one.partitions}
    waits: dict[Partition, list[str]] = {}
    for wait in _deferrable(inputs):
        if wait.partition not in served and (wait.partition.queue or wait.team):
            waits.setdefault(wait.partition, []).append(wait.name)
    for partition, names in sorted(waits.items()) if inputs.deployments else ():
        yield str(partition), f"no triggerer serves it: {_some(names)} will wait until they time out"


def _endless(inputs: Inputs, _: Calibrations) -> Iterator[tuple[str, str]]:
    names = [
        wait.name
        for wait in _deferrable(inputs)
        if math.isinf(waiting_limit(wait)) and not isinstance(wait.arrivals, Always)
    ]
    if names:
        text = f"no time-out (execution_timeout does not count while a task is deferred): {_some(names)}"
        yield "waits", text


def _seven_days(inputs: Inputs, _: Calibrations) -> Iterator[tuple[str, str]]:
    names = [
        wait.name
        for wait in _deferrable(inputs)
        if wait.timeout == _SEVEN_DAYS and not isinstance(wait.arrivals, (Rate, Always))
    ]
    if names:
        yield (
            "waits",
            f"the default time-out of 7 days lets runs pile up when a source is late: {_some(names)}",
        )


def _heartbeat(inputs: Inputs, _: Calibrations) -> Iterator[tuple[str, str]]:
    for one in inputs.deployments:
        if one.heartbeat * 2 > one.dead_after:
            text = f"a heartbeat every {one.heartbeat:g} s against a threshold of {one.dead_after:g} s: "
            yield one.name, text + "triggerers take each other's triggers; keep it below half"


def _retries(inputs: Inputs, _: Calibrations) -> Iterator[tuple[str, str]]:
    """``min(cap, base + jitter)``: at the cap all delays are equal (``TaskInstance.next_retry_datetime``)."""
    names = []
    for wait in inputs.waits:
        retry = wait.retry
        last = retry.delay * 2 ** max(0, retry.retries - 1)
        if retry.exponential and retry.retries and last >= (retry.longest or _DAY):
            names.append(wait.name)
    if names:
        text = "retry delays reach their cap, where all are equal: tasks that fail together retry together: "
        yield "waits", text + _some(names)


def _uncapped(inputs: Inputs, _: Calibrations) -> Iterator[tuple[str, str]]:
    for name, pool in sorted(inputs.pools.items()):
        names = [wait.name for wait in inputs.waits if wait.pool == name and wait.from_trigger]
        if names and pool.include_deferred:
            text = f"start_from_trigger passes pools and concurrency limits by: {_some(names)}"
            yield f"pool {name}", text


def _unlimited_width(inputs: Inputs, _: Calibrations) -> Iterator[tuple[str, str]]:
    names = [
        wait.name
        for wait in _deferrable(inputs)
        if wait.width.origin == "bounded"
        and wait.width.value >= 1024
        and wait.max_active_tis_per_dagrun is None
    ]
    if names:
        text = f"mapped over a result of any length, taken as max_map_length: {_some(names)}; "
        yield "waits", text + "max_active_tis_per_dagrun caps them"


def _alone(inputs: Inputs, _: Calibrations) -> Iterator[tuple[str, str]]:
    replicas: dict[Partition, int] = {}
    for one in inputs.deployments:
        for partition in one.partitions:
            replicas[partition] = replicas.get(partition, 0) + one.replicas
    wanted = {wait.partition for wait in _deferrable(inputs)}
    for partition in sorted(wanted & {one for one, count in replicas.items() if count == 1}):
        yield (
            str(partition),
            "one triggerer only: nothing waits while it restarts, and every deploy restarts it",
        )


def _spare(inputs: Inputs, _: Calibrations) -> Iterator[tuple[str, str]]:
    for one in inputs.deployments:
        if one.replicas and one.spare >= one.replicas:
            yield one.name, f"spare {one.spare} of {one.replicas} replicas: with so many lost none is left"


def _select(inputs: Inputs, _: Calibrations) -> Iterator[tuple[str, str]]:
    for one in inputs.deployments:
        if one.select_per_loop >= one.capacity:
            text = f"max_trigger_to_select_per_loop {one.select_per_loop:,} is not below capacity "
            yield one.name, text + f"{one.capacity:,}: the first triggerer takes all, the others none"


def _share(inputs: Inputs, _: Calibrations) -> Iterator[tuple[str, str]]:
    for one in inputs.deployments:
        if one.cpu < 1:
            text = f"{one.cpu:g} of a core: blocked-loop warnings come from the limit, not from triggers"
            yield one.name, text


def _chatty(inputs: Inputs, calibrations: Calibrations) -> Iterator[tuple[str, str]]:
    """Every request to Airflow goes through the one supervisor of the triggerer."""
    names: dict[str, list[str]] = {}
    for wait in _deferrable(inputs):
        kind = calibrations.kind(wait.kind)
        poll = wait.poll_interval or kind.poll_interval
        if kind.requests and poll < _MANY:
            names.setdefault(f"{kind.label} every {poll:g} s", []).append(wait.name)
    for what, waits in sorted(names.items()):
        yield what, f"asks Airflow at every check, about 54 a second a triggerer in all: {_some(waits)}"


def _served(inputs: Inputs, deployment: Deployment) -> list[Wait]:
    return [wait for wait in _deferrable(inputs) if wait.partition in deployment.partitions]


def _deferrable(inputs: Inputs) -> list[Wait]:
    return [wait for wait in inputs.waits if wait.mode == "deferrable"]


def _some(names: list[str]) -> str:
    shown = ", ".join(names[:_SHOWN])
    return shown if len(names) <= _SHOWN else f"{shown} and {len(names) - _SHOWN:,} more"


LINTS: dict[str, _Check] = {
    "LC01": _above_nofile,
    "LC02": _memory,
    "LC03": _queueless,
    "LC04": _nobody,
    "LC05": _endless,
    "LC06": _seven_days,
    "LC07": _heartbeat,
    "LC08": _retries,
    "LC09": _uncapped,
    "LC10": _unlimited_width,
    "LC11": _alone,
    "LC12": _spare,
    "LC13": _select,
    "LC14": _share,
    "LC15": _chatty,
}
"""All checks by code."""

_ERRORS = frozenset({"LC01", "LC03", "LC04"})
