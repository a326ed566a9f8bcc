"""The open waits of the laboratory: started, misled, released, and looked for."""

from __future__ import annotations

import os
import random
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from datetime import date

from airflow_landmark.testing import LocalAirflow, Run, wait_until

from ._parcels import Place, Truth, day_of, interval_of, parcel

__all__ = ["ALIVE_SECONDS", "VERSION", "Waits"]

VERSION = 2
"""The least version that the waits accept, and the one that is right."""
PATIENCE = float(os.environ.get("FAULTS_TEST_SECONDS", "900")) / 3
"""Seconds for one part of a test: all waits deferred, all deliveries written."""
RUN_WAITS = 100
"""Mapped waits in one run. Each reads the whole list: with a thousand in it, one a second is started."""
_STATES = """
SELECT dag_id, run_id, map_index, state FROM task_instance
WHERE task_id IN ('wait', 'load') AND dag_id IN ('faults_one', 'faults_mapped', 'faults_parked')
"""
_OWNED = """
SELECT task.dag_id, task.run_id, task.map_index FROM task_instance task
JOIN trigger ON trigger.id = task.trigger_id JOIN job ON job.id = trigger.triggerer_id
WHERE task.state = 'deferred' AND job.end_date IS NULL
    AND job.latest_heartbeat > now() - make_interval(secs => :alive)
"""
ALIVE_SECONDS = int(os.environ.get("FAULTS_THRESHOLD", "12"))
"""How old the last heartbeat of a triggerer may be. Below about ten seconds, on two busy cores, two healthy
triggerers with a thousand waits take them from each other without end."""

_Key = tuple[str, str, int]


@dataclass
class Waits:
    """All waits of a session, each named by its day.

    :param airflow: in which they wait.
    :param seed: of what is drawn.
    :ivar open: the days of the waits that are to be released yet.
    :ivar truth: what was delivered, by day.
    """

    airflow: LocalAirflow
    seed: int
    open: list[str] = field(default_factory=list)
    truth: Truth = field(default_factory=dict)
    _keys: dict[_Key, str] = field(default_factory=dict)
    _places: dict[str, Place] = field(default_factory=dict)
    _runs: dict[str, Run] = field(default_factory=dict)
    _next: int = 0

    def __post_init__(self) -> None:
        self.dice = random.Random(self.seed)

    def start(self, count: int, place: Place) -> list[str]:
        """Start mapped waits, so many in a run, and return their days at once."""
        whole, rest = divmod(count, RUN_WAITS)
        sizes = [RUN_WAITS] * whole + ([rest] if rest else [])
        return [day for size in sizes for day in self.start_run(size, place)]

    def start_run(self, count: int, place: Place, *, dag_id: str = "faults_mapped") -> list[str]:
        """Start mapped waits in one run, and return their days at once."""
        days = self._new(count, place)
        waits = [{"uri": place.uri(day), "interval": "/".join(interval_of(day))} for day in days]
        run = self.airflow.api.start_run(dag_id=dag_id, conf={"waits": waits})
        self._keys |= {(dag_id, run.run_id, index): day for index, day in enumerate(days)}
        self._runs |= dict.fromkeys(days, run)
        return days

    def start_one(self, place: Place) -> list[str]:
        """Start a single wait in a run of its own, whose write is a task of its own."""
        [day] = self._new(1, place)
        conf = {"uri": place.uri(day), "interval": "/".join(interval_of(day))}
        run = self.airflow.api.start_run(dag_id="faults_one", conf=conf)
        self._keys["faults_one", run.run_id, -1] = day
        self._runs[day] = run
        return [day]

    def run_of(self, day: str) -> Run:
        """The run in which a wait is."""
        return self._runs[day]

    def index_of(self, day: str) -> int:
        """The map index of a wait; -1: it is not mapped."""
        return next(index for (_, _, index), found in self._keys.items() if found == day)

    def wait_deferred(self, days: Collection[str], *, seconds: float = PATIENCE) -> None:
        """Wait until these are deferred."""

        def all_deferred() -> bool:
            states = self.states(days)
            return all(states.get(day) == {"deferred"} for day in days)

        wait_until(check=all_deferred, what=f"{len(days)} waits deferred", seconds=seconds, every=0.5)

    def states(self, days: Collection[str]) -> dict[str, set[str]]:
        """The states of the tasks of each of these waits; a write of its own counts once it is there."""
        found: dict[str, set[str]] = {}
        for dag_id, run_id, index, state in self.airflow.database.query(sql=_STATES):
            day = self._keys.get((dag_id, run_id, index))
            if day in days and day is not None and state is not None:
                found.setdefault(day, set()).add(state)
        return found

    def owned(self) -> set[str]:
        """The waits that are deferred and belong to a triggerer with a fresh heartbeat."""
        rows = self.airflow.database.query(sql=_OWNED, values={"alive": ALIVE_SECONDS})
        return {self._keys[key] for key in rows if key in self._keys}

    def mislead(self, days: Iterable[str]) -> None:
        """Deliver what these waits must not take: another day's in a higher version, or an older version."""
        for day in days:
            other = self.dice.random() < 0.5
            shown = day_of(self._number(day) + 40_000) if other else day
            version = VERSION + 7 if other else VERSION - 1
            wrong = parcel(day=shown, version=version, amount=7 + self._number(day))
            self._places[day].put(day, wrong)

    def release(self, days: Iterable[str], *, skew: float = 0.0) -> None:
        """Deliver what these waits wait for.

        :param skew: seconds by which the clocks of their sources are wrong, ahead and behind by turns.
        """
        for place, day in enumerate(days):
            wrong_by = skew if place % 2 else -skew  # those that were misled first look older
            amount = 1_000_000 + self._number(day)
            self.truth[day] = (VERSION, amount)
            right = parcel(day=day, version=VERSION, amount=amount, skew=wrong_by)
            self._places[day].put(day, right, skew=wrong_by)
            if day in self.open:
                self.open.remove(day)

    def give_up(self, days: Iterable[str]) -> None:
        """Never release these: what they wait for is not to come."""
        self.open = [day for day in self.open if day not in set(days)]

    def _new(self, count: int, place: Place) -> list[str]:
        days = [day_of(self._next + number) for number in range(count)]
        self._next += count
        self.open += days
        self._places |= dict.fromkeys(days, place)
        return days

    def _number(self, day: str) -> int:
        return (date.fromisoformat(day) - date.fromisoformat(day_of(0))).days
