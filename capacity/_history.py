"""What past waits say of each task: how long it waits, when, how wide, how often not at all. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median

from ._durations import Duration, from_samples
from ._pairing import PastWait, TryKey
from ._values import Deferral, Partition, Wait

__all__ = ["TaskHistory", "deferrals_of", "histories", "wait_name"]

_WEEK = 7 * 86_400.0


def wait_name(dag_id: str, task_id: str) -> str:
    """How a task's waits are called."""
    return f"{dag_id}.{task_id}"


@dataclass(kw_only=True)
class TaskHistory:
    """The past of one task.

    :ivar samples: seconds that each try waited in all; 0 for tries that found what they wanted at once.
    :ivar offsets: seconds from the run's first sign to the first deferral of a first try.
    :ivar runs: the first signs of runs in which it deferred, seconds since 1970, in order.
    :ivar width: the most instances that a run had.
    :ivar rescheduled: it did not defer, it was rescheduled.
    """

    dag_id: str
    task_id: str
    samples: list[float] = field(default_factory=list)
    offsets: list[float] = field(default_factory=list)
    runs: list[float] = field(default_factory=list)
    width: int = 1
    rescheduled: bool = False

    @property
    def duration(self) -> Duration:
        """The distribution of its waits."""
        return from_samples(self.samples)

    @property
    def offset(self) -> float:
        """When in a run it usually defers, in seconds from its start."""
        return median(self.offsets) if self.offsets else 0.0

    def replayed(self, *, begin: float, end: float) -> tuple[float, ...]:
        """Its past runs, moved by whole weeks into [begin, end): same weekday, same time of day (UTC).

        For Dags without a timetable of their own: started by hand, by assets, by other Dags.
        """
        if not self.runs:
            return ()
        last = self.runs[-1]
        step = max(1, (last - self.runs[0]) // _WEEK) * _WEEK
        found: list[float] = []
        for run in self.runs:
            if run <= last - step:
                continue
            at = run - (run - begin) // step * step
            while at < end:
                found.append(at)
                at += step
        return tuple(sorted(found))


def histories(
    waits: Iterable[PastWait],
    *,
    run_starts: Mapping[tuple[str, str], float],
    tries: Mapping[tuple[str, str], int],
    rescheduled: Mapping[tuple[str, str], Sequence[float]] | None = None,
) -> dict[str, TaskHistory]:
    """The past of every task that deferred, by the name of its waits.

    Waits that have not ended tell nothing of their duration and are left out of the samples.

    :param run_starts: Dag and run id to the run's first sign.
    :param tries: Dag and task id to how many tries ended; those that did not defer become waits of 0 s.
    :param rescheduled: Dag and task id to the seconds that tries of reschedule sensors waited.
    """
    found: dict[str, TaskHistory] = {}
    sums: dict[TryKey, float] = {}
    firsts: dict[TryKey, float] = {}
    for key, start, end in waits:
        if end is not None:
            sums[key] = sums.get(key, 0.0) + end - start
        firsts[key] = min(start, firsts.get(key, start))
    for key, start in firsts.items():
        dag_id, task_id, run_id, map_index, try_number = key
        task = found.setdefault(wait_name(dag_id, task_id), TaskHistory(dag_id=dag_id, task_id=task_id))
        task.width = max(task.width, map_index + 1)
        if key in sums:
            task.samples.append(sums[key])
        run = run_starts.get((dag_id, run_id), start)
        if try_number <= 1:
            task.offsets.append(max(0.0, start - run))
        if map_index <= 0:
            task.runs.append(run)
    for task in found.values():
        _add_missing(task, tries.get((task.dag_id, task.task_id), 0))
    for (dag_id, task_id), samples in (rescheduled or {}).items():
        task = TaskHistory(dag_id=dag_id, task_id=task_id, samples=list(samples), rescheduled=True)
        found.setdefault(wait_name(dag_id, task_id), task)
    return found


def _add_missing(task: TaskHistory, tries: int) -> None:
    """Tries that ended without having deferred waited for 0 s."""
    task.samples += [0.0] * max(0, tries - len(task.samples))
    task.runs = sorted(set(task.runs))


def deferrals_of(waits: Iterable[PastWait], known: Mapping[str, Wait]) -> tuple[Deferral, ...]:
    """The past waits as the pure part of this room takes them.

    :param known: waits by name: they know queue and team, which the audit log does not.
    """
    partitions: dict[str, Partition] = {name: wait.partition for name, wait in known.items()}
    found = []
    for key, start, end in waits:
        name = wait_name(key.dag_id, key.task_id)
        found.append(Deferral(name, start, end, partitions.get(name, Partition())))
    return tuple(found)
