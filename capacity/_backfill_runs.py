"""Which runs a backfill would make, and what Airflow refuses. Pure: the rules of Airflow 3.3.

Sources: ``airflow/models/backfill.py``, ``_create_backfill``, ``_validate_backfill_params``,
``_get_info_list`` and ``_get_dag_run_no_create_reason``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

__all__ = [
    "Asked",
    "DagFacts",
    "Fate",
    "PastRun",
    "PlannedRun",
    "Reprocess",
    "RunSlot",
    "planned",
    "refusals",
]

Reprocess = Literal["none", "failed", "completed"]
Fate = Literal["new", "again", "in flight", "already exists", "not ended"]
"""``new``: a run is made; ``again``: the run that is there is cleared and runs again; the others make none.
``not ended``: its interval has not ended; Airflow leaves it out without a word."""


@dataclass(frozen=True, kw_only=True)
class Asked:
    """What is asked for; instants in seconds since 1970, ``to`` inclusive."""

    dag_id: str
    begin: float
    to: float
    max_active_runs: int = 10
    reprocess: Reprocess = "none"
    backwards: bool = False


@dataclass(frozen=True, kw_only=True)
class DagFacts:
    """What decides whether a Dag can be backfilled.

    :ivar schedule: what its timetable is called.
    :ivar run_types: the only types of run it allows; None: all.
    :ivar active: how many backfills of it are not completed.
    """

    schedule: str
    periodic: bool
    partitioned: bool = False
    depends_on_past: bool = False
    run_types: tuple[str, ...] | None = None
    active: int = 0


@dataclass(frozen=True)
class RunSlot:
    """One date of the timetable: its logical or partition date and its interval's end, if it has one."""

    date: float
    interval_end: float | None


@dataclass(frozen=True)
class PastRun:
    """The newest run that is there for a date."""

    run_id: str
    state: str


@dataclass(frozen=True)
class PlannedRun:
    """One date, and what becomes of it; ``run_id``: of the run that is there."""

    date: float
    fate: Fate
    run_id: str = ""

    @property
    def made(self) -> bool:
        """Whether the backfill runs it."""
        return self.fate in ("new", "again")


def refusals(asked: Asked, dag: DagFacts, *, runs: int, now: float) -> tuple[str, ...]:
    """Why Airflow would refuse, all reasons, in the order in which it looks; empty: it would not.

    :param runs: how many dates the range holds whose interval has ended.
    """
    return tuple(text for wrong, text in _rules(asked, dag, runs, now) if wrong)


def _rules(asked: Asked, dag: DagFacts, runs: int, now: float) -> Iterable[tuple[bool, str]]:
    name = asked.dag_id
    allowed = dag.run_types is None or "backfill" in dag.run_types
    yield not allowed, f"{name} does not allow backfill runs (allowed_run_types)"
    yield not dag.periodic, f"{name} has no periodic schedule ({dag.schedule}); only those can be backfilled"
    yield dag.active > 0, f"another backfill of {name} is active; a Dag has one at a time"
    yield asked.begin > asked.to, "the range ends before it begins"
    future = asked.begin >= now and asked.to >= now
    yield future, "the whole range lies in the future"
    chained = dag.depends_on_past
    yield chained and asked.backwards, f"tasks of {name} depend on past runs: it cannot run backwards"
    yield (
        chained and asked.reprocess == "none",
        (f"tasks of {name} depend on past runs: --reprocess must be failed or completed"),
    )
    sound = allowed and dag.periodic and asked.begin <= asked.to and not future
    yield sound and not runs, "the schedule has no date in this range whose interval has ended"


def planned(
    slots: Iterable[RunSlot], past: Mapping[float, PastRun], asked: Asked, *, partitioned: bool, now: float
) -> tuple[PlannedRun, ...]:
    """What becomes of each date, in the order in which the runs would start.

    :param past: the newest run of each date that has one.
    """
    found = [_one(slot, past.get(slot.date), asked.reprocess, partitioned, now) for slot in slots]
    return tuple(reversed(found) if asked.backwards else found)


def _one(
    slot: RunSlot, past: PastRun | None, reprocess: Reprocess, partitioned: bool, now: float
) -> PlannedRun:
    if not partitioned and (slot.interval_end is None or slot.interval_end >= now):
        return PlannedRun(slot.date, "not ended", past.run_id if past else "")
    if past is None:
        return PlannedRun(slot.date, "new")
    return PlannedRun(slot.date, _fate(past.state, reprocess), past.run_id)


def _fate(state: str, reprocess: Reprocess) -> Fate:
    if state not in ("success", "failed"):
        return "in flight"
    again = reprocess == "completed" or (reprocess == "failed" and state == "failed")
    return "again" if again else "already exists"
