"""Waits from Dags as Airflow serializes them. Pure: documents in, waits out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from math import prod
from typing import Any

from ._defer_scan import ClassFacts
from ._durations import Duration, bound
from ._history import TaskHistory, wait_name
from ._origin import ONE, Estimate
from ._schedules import Arrivals, Listed
from ._serialized import (
    group_expansions,
    mapped_length,
    nearest_before,
    partial_arguments,
    retry_of,
    timeout_of,
)
from ._sources import source_of
from ._values import DEFAULT_POOL, Dag, Inputs, Mode, Wait

__all__ = ["DescribedDag", "Inventory"]

UNKNOWN_KIND = "unknown.Trigger"
LONGEST_MAP = 1024
"""``[core] max_map_length``."""

_WIDE = (
    f"mapped tasks with a width that another task decides, and without history: {LONGEST_MAP:,} are assumed"
)

FiresOf = Callable[[Mapping[str, Any], "float | None", "float | None"], tuple[float, ...]]
"""A timetable as serialized, start date and end date to the starts of its runs."""


@dataclass(frozen=True, kw_only=True)
class DescribedDag:
    """One Dag as found.

    :ivar serialized: the whole serialized document.
    :ivar tasks: task id to what the serialized form does not hold; empty when only that form is known.
    :ivar paused: it starts no runs.
    :ivar backfill_runs: the sum of ``max_active_runs`` of its active backfills.
    """

    serialized: Mapping[str, Any]
    tasks: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    team: str = ""
    paused: bool = False
    backfill_runs: int = 0


@dataclass(frozen=True, kw_only=True)
class Inventory:
    """Turns Dags into waits.

    :ivar fires_of: when a Dag's runs start.
    :ivar classes: what the code of an operator's class shows, by module and name; None: not to be had.
    :ivar timeouts: time-outs that were seen, by the name of the waits: serialized Dags do not hold them.
    :ivar history: the past of tasks by the name of their waits.
    :ivar begin: the horizon's begin, seconds since 1970.
    :ivar end: its end.
    :ivar queues_enabled: whether triggers have the queue of their task.
    """

    fires_of: FiresOf
    classes: Callable[[str, str], ClassFacts | None]
    history: Mapping[str, TaskHistory]
    timeouts: Mapping[str, float] = field(default_factory=dict)
    begin: float
    end: float
    queues_enabled: bool = False

    def inputs(self, dags: Iterable[DescribedDag]) -> Inputs:
        """All waits of these Dags, with what limits their runs."""
        waits: list[Wait] = []
        found: dict[str, Dag] = {}
        notes = _Notes()
        for described in dags:
            dag = _Reading(self, described, notes)
            found[dag.dag_id] = dag.limits()
            if described.paused:
                notes.paused += 1
            else:
                waits += dag.waits()
        return Inputs(waits=tuple(waits), dags=found, notes=tuple(notes.lines()))


class _Notes:
    """Counts what a reader of the answer must know."""

    def __init__(self) -> None:
        self.paused = self.undecided = self.unknown_kinds = self.unbounded_maps = 0
        self.failed: list[str] = []
        self.replayed = self.silent = 0

    def lines(self) -> Iterator[str]:
        """One sentence each."""
        counted = [
            (self.paused, "paused Dags, left out"),
            (
                self.undecided,
                "tasks that may defer or not, counted as deferring: serialized Dags do not tell",
            ),
            (self.unknown_kinds, "deferring tasks that show no trigger class, with an assumed cost"),
            (self.unbounded_maps, _WIDE),
            (self.replayed, "waits of Dags without a timetable, whose past runs are repeated"),
            (self.silent, "waits of Dags without a timetable and without past runs, not counted"),
        ]
        yield from (f"{text}: {number:,}" for number, text in counted if number)
        yield from self.failed[:5]
        if len(self.failed) > 5:
            yield f"and {len(self.failed) - 5:,} more timetables that could not be asked"


class _Reading:
    """One Dag, read once."""

    def __init__(self, inventory: Inventory, described: DescribedDag, notes: _Notes) -> None:
        self._inventory = inventory
        self._described = described
        self._notes = notes
        self._dag: Mapping[str, Any] = described.serialized["dag"]
        self._defaults: Mapping[str, Any] = described.serialized.get("client_defaults", {}).get("tasks", {})
        self._tasks = {str(one["task_id"]): one for one in map(self._task, self._dag.get("tasks", ()))}
        self.dag_id = str(self._dag["dag_id"])

    def limits(self) -> Dag:
        """What limits its runs."""
        runs = int(self._dag.get("max_active_runs") or 16)
        return Dag(name=self.dag_id, max_active_runs=runs, backfill_runs=self._described.backfill_runs)

    def waits(self) -> Iterator[Wait]:
        """One wait for every task that defers."""
        deferring = [
            (task_id, facts) for task_id in self._tasks if (facts := self._facts(task_id)) is not None
        ]
        if not deferring:
            return
        fires = self._fires()
        nearest = self._nearest({task_id for task_id, _ in deferring})
        for task_id, facts in deferring:
            arrivals = self._arrivals(task_id, fires)
            if arrivals is not None:
                yield self._wait(task_id, facts, arrivals, nearest[task_id])

    def _task(self, encoded: Mapping[str, Any]) -> Mapping[str, Any]:
        own: Mapping[str, Any] = encoded.get("__var", encoded)
        return {**self._defaults, **own, **partial_arguments(own)}

    def _facts(self, task_id: str) -> ClassFacts | None:
        """What is known of a task that defers; None: it does not."""
        task, extra = self._tasks[task_id], self._described.tasks.get(task_id)
        facts: ClassFacts | None
        if extra is not None:
            names = ClassFacts._fields
            facts = ClassFacts(**{name: extra[name] for name in names})
            deferrable = extra["deferrable"]
        else:
            facts = self._inventory.classes(str(task.get("_task_module")), str(task.get("task_type")))
            deferrable = task.get("deferrable")
        if task.get("start_from_trigger"):
            return facts or ClassFacts(True, True, (), True)
        past = self._inventory.history.get(wait_name(self.dag_id, task_id))
        return self._decided(facts, deferrable, past, certain=extra is not None)

    def _decided(
        self, facts: ClassFacts | None, deferrable: Any, past: TaskHistory | None, *, certain: bool
    ) -> ClassFacts | None:
        """``deferrable``, or a class that always defers, or a past that shows it."""
        switched_off = certain and deferrable is False
        if past is not None and (past.rescheduled or not switched_off):
            return facts or ClassFacts(True, True, (), True)
        if facts is None or not facts.defers or deferrable is False:
            return None
        if deferrable is True or not facts.switchable:
            return facts
        # neither the attribute nor the past tells; with a past that is silent it probably does not
        if certain or self._inventory.history:
            return None
        self._notes.undecided += 1
        return facts

    def _wait(self, task_id: str, facts: ClassFacts, arrivals: Arrivals, after: tuple[str, ...]) -> Wait:
        task, extra = self._tasks[task_id], self._described.tasks.get(task_id, {})
        past = self._inventory.history.get(wait_name(self.dag_id, task_id))
        seen = None if extra else self._inventory.timeouts.get(wait_name(self.dag_id, task_id))
        timeout = timeout_of(task, extra, facts) if seen is None else seen
        from_trigger = bool(task.get("start_from_trigger"))
        queue = str(task.get("queue") or "default") if self._inventory.queues_enabled else ""
        return Wait(
            name=wait_name(self.dag_id, task_id),
            kind=self._kind(task, facts),
            arrivals=arrivals,
            duration=_duration(past, timeout),
            width=self._width(task_id, past),
            offset=past.offset if past else 0.0,
            timeout=timeout,
            poll_interval=extra.get("poll"),
            source=source_of(task),
            pool=str(task.get("pool") or DEFAULT_POOL),
            pool_slots=int(task.get("pool_slots") or 1),
            queue="" if from_trigger else queue,
            team=self._described.team,
            dag=self.dag_id,
            mode=_mode(task, extra, past),
            from_trigger=from_trigger,
            sensor=bool(task.get("_is_sensor")),
            retry=retry_of(task),
            max_active_tis_per_dag=task.get("max_active_tis_per_dag"),
            max_active_tis_per_dagrun=task.get("max_active_tis_per_dagrun"),
            after=after,
        )

    def _kind(self, task: Mapping[str, Any], facts: ClassFacts) -> str:
        started = task.get("start_trigger_args") or {}
        kind = str(started.get("trigger_cls") or "")
        if not kind and facts.triggers:
            kind = facts.triggers[0]
        if not kind:
            self._notes.unknown_kinds += 1
        return kind or UNKNOWN_KIND

    def _fires(self) -> Arrivals | None:
        """The Dag's starts; None: it has no timetable of its own."""
        start, end = self._dag.get("start_date"), self._dag.get("end_date")
        try:
            found = self._inventory.fires_of(self._dag.get("timetable") or {}, start, end)
        except Exception as error:  # noqa: BLE001 - a timetable is code of the user
            text = f"{type(error).__name__}: {error}"[:200]
            self._notes.failed.append(f"the timetable of {self.dag_id} could not be asked ({text})")
            return None
        return Listed(found) if found else None

    def _arrivals(self, task_id: str, fires: Arrivals | None) -> Arrivals | None:
        if fires is not None:
            return fires
        past = self._inventory.history.get(wait_name(self.dag_id, task_id))
        replayed = past.replayed(begin=self._inventory.begin, end=self._inventory.end) if past else ()
        if not replayed:
            self._notes.silent += 1
            return None
        self._notes.replayed += 1
        return Listed(replayed)

    def _width(self, task_id: str, past: TaskHistory | None) -> Estimate:
        """How many instances a run has: by literal lists, else by the past, else by Airflow's own limit."""
        expansions = [*self._group_expansions(task_id), self._tasks[task_id].get("expand_input")]
        mapped = [mapped_length(one) for one in expansions if one is not None]
        if not mapped:
            return ONE
        if all(length is not None for length in mapped):
            return Estimate(float(prod(length for length in mapped if length is not None)), "measured")
        if past is not None:
            return Estimate(float(past.width), "measured")
        self._notes.unbounded_maps += 1
        return Estimate(float(LONGEST_MAP), "bounded")

    def _group_expansions(self, task_id: str) -> list[Any]:
        """The expansions of the mapped task groups that a task lies in."""
        return group_expansions(self._dag.get("task_group") or {}, task_id) or []

    def _nearest(self, deferring: set[str]) -> dict[str, tuple[str, ...]]:
        """For each wait the nearest waits before it, over any number of other tasks."""
        before: dict[str, list[str]] = {task_id: [] for task_id in self._tasks}
        for task_id, task in self._tasks.items():
            for later in task.get("downstream_task_ids") or ():
                before.setdefault(str(later), []).append(task_id)
        return {
            task_id: tuple(wait_name(self.dag_id, one) for one in nearest_before(task_id, before, deferring))
            for task_id in deferring
        }


def _duration(past: TaskHistory | None, timeout: float | None) -> Duration:
    return past.duration if past is not None and past.samples else bound(timeout)


def _mode(task: Mapping[str, Any], extra: Mapping[str, Any], past: TaskHistory | None) -> Mode:
    """A past of reschedules counts unless the task has been converted since."""
    converted = extra.get("deferrable") is True or bool(task.get("start_from_trigger"))
    return "reschedule" if past is not None and past.rescheduled and not converted else "deferrable"
