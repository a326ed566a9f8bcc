"""Which waiting tasks the scheduler lets into pools, in one pass: a model of its admission step.

Source: ``airflow/jobs/scheduler_job_runner.py``, ``_executable_task_instances_to_queued``, and
``airflow/models/pool.py``, ``slots_stats``, of Airflow 3.3. Limits of Dags, tasks and executors are left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from ._values import DEFAULT_POOL, Pool

__all__ = ["Admission", "PoolTask", "Refusal", "TaskState", "admit"]

TaskState = Literal["scheduled", "queued", "running", "deferred"]
MOST = 16
"""``[scheduler] max_tis_per_query``."""


@dataclass(frozen=True, kw_only=True)
class PoolTask:
    """A task instance, or several that are alike.

    :ivar state: ``scheduled`` ones are waiting to be let in.
    :ivar priority: priority weight; higher goes first.
    :ivar logical_date: seconds since 1970; earlier goes first.
    """

    name: str
    pool: str = DEFAULT_POOL
    slots: int = 1
    state: TaskState = "scheduled"
    priority: int = 1
    logical_date: float = 0.0
    map_index: int = -1
    dag: str = ""


@dataclass(frozen=True)
class Refusal:
    """A task that was not let in, and why.

    :ivar never: it never will be: it asks for more than the pool has, or the pool does not exist.
    """

    task: PoolTask
    reason: str
    never: bool = False


@dataclass(frozen=True)
class Admission:
    """What one pass of the scheduler does.

    :ivar open_before: open slots by pool; may be negative.
    :ivar starving: tasks that found no slots, by pool: the metric ``pool.starving_tasks``.
    """

    admitted: tuple[PoolTask, ...]
    refused: tuple[Refusal, ...]
    open_before: Mapping[str, float]
    open_after: Mapping[str, float]
    starving: Mapping[str, int]


def admit(pools: Iterable[Pool], tasks: Iterable[PoolTask], *, most: int = MOST) -> Admission:
    """Which of the scheduled tasks are let in now.

    A task that does not fit is passed by the ones after it: nothing is held back for it.

    :param tasks: in all states; of equal ones the earlier goes first, as in the database.
    :param most: how many tasks the scheduler looks at in one query.
    """
    known = {pool.name: pool for pool in pools}
    listed = list(tasks)
    pass_ = _Pass(known, _open_slots(known, listed))
    free = sum(max(0.0, slots) for slots in pass_.open.values())
    waiting = sorted((one for one in listed if one.state == "scheduled"), key=_order)
    before = dict(pass_.open)
    if free:
        pass_.run(waiting, int(min(most, free)))
    return Admission(
        admitted=tuple(pass_.admitted),
        refused=tuple(pass_.refusal(one) for one in waiting if id(one) not in pass_.seen),
        open_before=before,
        open_after=pass_.open,
        starving=pass_.starving,
    )


def _order(task: PoolTask) -> tuple[int, float, int]:
    return -task.priority, task.logical_date, task.map_index


def _open_slots(pools: Mapping[str, Pool], tasks: Iterable[PoolTask]) -> dict[str, float]:
    """Slots less those of running and queued tasks, and of deferred ones where the pool counts them."""
    found = {name: float("inf") if pool.slots == -1 else float(pool.slots) for name, pool in pools.items()}
    for task in tasks:
        pool = pools.get(task.pool)
        if pool is not None and _occupies(task, pool):
            found[pool.name] -= task.slots
    return found


def _occupies(task: PoolTask, pool: Pool) -> bool:
    return task.state in ("running", "queued") or (task.state == "deferred" and pool.include_deferred)


@dataclass
class _Pass:
    """One pass: queries that leave out what cannot run, until one of them finds something that can."""

    pools: Mapping[str, Pool]
    open: dict[str, float]
    admitted: list[PoolTask] = field(default_factory=list)
    reasons: dict[int, Refusal] = field(default_factory=dict)
    starving: dict[str, int] = field(default_factory=dict)
    seen: set[int] = field(default_factory=set)

    def run(self, waiting: Sequence[PoolTask], limit: int) -> None:
        """Examine tasks in order, ``limit`` a query."""
        full = {name for name, slots in self.open.items() if slots <= 0}
        stuck: set[tuple[str, str]] = set()
        while True:
            candidates = [one for one in waiting if one.pool not in full and (one.dag, one.name) not in stuck]
            batch = candidates[:limit]
            filters = len(full) + len(stuck)
            for task in batch:
                self._examine(task, full, stuck)
            if self.admitted or len(batch) < limit or len(full) + len(stuck) == filters:
                return

    def refusal(self, task: PoolTask) -> Refusal:
        """Why a task was not let in."""
        if id(task) in self.reasons:
            return self.reasons[id(task)]
        if task.pool in self.pools and self.open[task.pool] > 0:
            return Refusal(task, "not looked at in this pass: others were before it")
        return Refusal(task, f"pool {task.pool} has no open slots")

    def _examine(self, task: PoolTask, full: set[str], stuck: set[tuple[str, str]]) -> None:
        pool = self.pools.get(task.pool)
        if pool is None:
            full.add(task.pool)
            self.reasons[id(task)] = Refusal(task, f"there is no pool {task.pool}", never=True)
            return
        slots = self.open[pool.name]
        self.starving.setdefault(pool.name, 0)
        if slots <= 0:
            full.add(pool.name)
            self._starve(task, Refusal(task, f"pool {pool.name} has no open slots"))
        elif 0 <= pool.slots < task.slots:
            stuck.add((task.dag, task.name))
            reason = f"asks for {task.slots} slots, pool {pool.name} has {pool.slots} in all"
            self._starve(task, Refusal(task, reason, never=True))
        elif task.slots > slots:
            stuck.add((task.dag, task.name))
            self._starve(task, Refusal(task, f"asks for {task.slots} slots, {slots:.0f} are open"))
        else:
            self.open[pool.name] -= task.slots
            self.admitted.append(task)
            self.seen.add(id(task))

    def _starve(self, task: PoolTask, refusal: Refusal) -> None:
        self.reasons[id(task)] = refusal
        self.starving[task.pool] += 1
