"""Deferral intervals from audit rows: a wait lasts from a row ``deferred`` to the next row of the same try.

Airflow writes one row ``deferred`` when a task defers and one ``running`` when it is resumed on a worker
(``airflow/api_fastapi/execution_api/routes/task_instances.py``), so an interval is the wait, the
scheduling of the resume and its start.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Collection, Iterator
from typing import NamedTuple

__all__ = ["EVENTS", "AuditRow", "Pairing", "PastWait", "TryKey", "key_of"]

EVENTS = (
    "deferred",
    "running",
    "success",
    "failed",
    "skipped",
    "up_for_retry",
    "up_for_reschedule",
)
"""The audit rows of task instances that begin or end a wait."""
_ENDS = frozenset({"success", "failed", "skipped", "up_for_retry"})


class TryKey(NamedTuple):
    """One try of one task instance."""

    dag_id: str
    task_id: str
    run_id: str
    map_index: int
    try_number: int


class AuditRow(NamedTuple):
    """One audit row of a task instance; ``at`` in seconds since 1970."""

    key: TryKey
    event: str
    at: float


class PastWait(NamedTuple):
    """One deferral; ``end`` is None while it is not known to have ended."""

    key: TryKey
    start: float
    end: float | None


class Pairing:
    """Pairs rows as they come, in the order in which they were written; holds only what is still open.

    :param from_trigger: Dag and task ids of tasks that start in the triggerer: they write no row
        ``deferred``, so the first row ``running`` of each of their tries is kept, as the wait's end.
    :ivar run_starts: Dag and run id to the first row that was seen of the run.
    :ivar tries: Dag and task id to how many tries have ended.
    :ivar rescheduled: Dag and task id to seconds from the first reschedule of a try to its end, one a try.
    """

    def __init__(self, *, from_trigger: Collection[tuple[str, str]] = ()) -> None:
        self.from_trigger = frozenset(from_trigger)
        self.first_running: dict[TryKey, float] = {}
        self.run_starts: dict[tuple[str, str], float] = {}
        self.tries: Counter[tuple[str, str]] = Counter()
        self.rescheduled: dict[tuple[str, str], list[float]] = {}
        self._open: dict[TryKey, float] = {}
        self._rescheduling: dict[TryKey, float] = {}

    def feed(self, row: AuditRow) -> PastWait | None:
        """The deferral that this row ends, if it ends one."""
        key, event, at = row
        self.run_starts.setdefault((key.dag_id, key.run_id), at)
        start = self._open.pop(key, None)
        if event == "deferred":
            self._open[key] = at
        elif event == "up_for_reschedule":
            self._rescheduling.setdefault(key, at)
        elif event in _ENDS:
            self._ended(key, at)
        elif start is None and (key.dag_id, key.task_id) in self.from_trigger:
            self.first_running.setdefault(key, at)
        # rows of one instant may have been written in any order
        return None if start is None else PastWait(key, start, max(start, at))

    def _ended(self, key: TryKey, at: float) -> None:
        task = key.dag_id, key.task_id
        self.tries[task] += 1
        first = self._rescheduling.pop(key, None)
        if first is not None:
            self.rescheduled.setdefault(task, []).append(max(0.0, at - first))

    def rest(self) -> Iterator[PastWait]:
        """The deferrals that no row has ended."""
        for key, start in self._open.items():
            yield PastWait(key, start, None)


def key_of(
    *, dag_id: str, task_id: str, run_id: str, map_index: int | None, try_number: int | None
) -> TryKey:
    """The key of a row's try. Names are interned: a million rows hold a few thousand of them."""
    return TryKey(
        sys.intern(dag_id),
        sys.intern(task_id),
        run_id,
        -1 if map_index is None else map_index,
        1 if try_number is None else try_number,
    )
