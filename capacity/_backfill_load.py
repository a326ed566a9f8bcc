"""What a backfill asks of pools and triggerers, from what is known of its Dag. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from ._backfill_runs import Asked
from ._bounds import heaviest_antichain
from ._values import DEFAULT_POOL, Inputs, Scenario, Wait
from ._waves import Waves, waves

__all__ = ["BackfillLoad", "HeavyTask", "backfill_load", "heavy_task", "with_backfill"]


@dataclass(frozen=True)
class HeavyTask:
    """The task of a Dag that takes the most slots of its pool."""

    task_id: str
    pool: str
    slots: int


@dataclass(frozen=True, kw_only=True)
class BackfillLoad:
    """What the backfill adds.

    :ivar waits: waits at once when nothing lies there yet; ``max_active_runs`` times those of one run.
    :ivar expected: the same with the share of runs whose data lie there taken off: they do not defer.
    :ivar longest: seconds that a wait lasts at most; None: for ever.
    :ivar course: tasks at once, waves, seconds.
    """

    waits: float
    expected: float
    longest: float | None
    course: Waves


def heavy_task(serialized: Mapping[str, Any]) -> HeavyTask:
    """The task with the most pool slots that does not only wait; of several the first one."""
    defaults = serialized.get("client_defaults", {}).get("tasks", {})
    tasks = [{**defaults, **one.get("__var", one)} for one in serialized["dag"].get("tasks", ())]
    working = [task for task in tasks if not task.get("_is_sensor")] or tasks
    if not working:
        return HeavyTask("", DEFAULT_POOL, 1)
    task = max(working, key=lambda one: int(one.get("pool_slots") or 1))
    pool = str(task.get("pool") or DEFAULT_POOL)
    return HeavyTask(str(task["task_id"]), pool, int(task.get("pool_slots") or 1))


def backfill_load(
    waiting: Iterable[Wait],
    asked: Asked,
    *,
    runs: int,
    arrived: float,
    task_seconds: float,
    slots: int,
    open_slots: float,
) -> BackfillLoad:
    """What so many runs ask for.

    :param waiting: the waits of the Dag.
    :param arrived: the share of runs whose data lie there already, 0 to 1: a deferrable sensor looks once
        before it defers, and then does not.
    :param task_seconds: how long the work of one run takes.
    """
    members = [wait for wait in waiting if wait.mode == "deferrable"]
    at_once = min(asked.max_active_runs, runs)
    a_run = heaviest_antichain(members) if members else 0.0
    longest = [
        wait.timeout if math.isinf(wait.duration.longest) else wait.duration.longest for wait in members
    ]
    endless = any(one is None for one in longest)
    known = max((one for one in longest if one is not None), default=0.0)
    return BackfillLoad(
        waits=at_once * a_run,
        expected=math.ceil(at_once * (1 - arrived)) * a_run,
        longest=None if endless else known,
        course=waves(
            runs=runs,
            task_seconds=task_seconds,
            slots=slots,
            open_slots=open_slots,
            max_active_runs=asked.max_active_runs,
        ),
    )


def with_backfill(inputs: Inputs, asked: Asked, *, runs: int, arrived: float) -> Inputs:
    """The inputs with this backfill as one more scenario."""
    deferring = math.ceil(min(asked.max_active_runs, runs) * (1 - arrived))
    if not deferring:
        return inputs
    scenario = Scenario(name="this backfill", kind="backfill", dag=asked.dag_id, runs=runs, at_once=deferring)
    return replace(inputs, scenarios=(*inputs.scenarios, scenario))
