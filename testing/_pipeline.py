"""A team's Dag, as the injections see it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta, timezone
from typing import TYPE_CHECKING, Any

from ._airflow import LocalAirflow
from ._checks import Row, check_rows
from ._errors import NotExercised
from ._injection import Action, Injection, When
from ._injections import Injections
from ._partner import Partner
from ._run import Run

if TYPE_CHECKING:
    from airflow_landmark.markers import Interval

__all__ = ["Contents", "Pipeline"]

ENDED = ("success", "failed")
LOT = 13
"""So many intervals are in a lot: one injection needs 12."""


@dataclass(frozen=True, kw_only=True)
class Contents:
    """What is delivered, and what the destination must then hold.

    :param files: contents by name.
    :param rows: the rows as the pipeline's reader gives them; their order does not matter.
    """

    files: Mapping[str, str | bytes]
    rows: Collection[Row]


@dataclass(frozen=True, kw_only=True)
class Pipeline:
    """A Dag that waits for a delivery of one interval and puts it into a destination.

    :param airflow: where it runs; it was started with the injections.
    :param injections: what can be injected into its tasks.
    :param partner: delivers to where the Dag waits.
    :param dag_id: the Dag.
    :param wait_task: the task that waits.
    :param write_task: the task that writes.
    :param write: the function in which that task commits the interval's rows, as ``module:function`` of a
        module that the Dag imports.
    :param rows: reads the destination: returns an interval's rows as consumers see them.
    :param first: returns what is delivered first for an interval.
    :param corrected: returns what is delivered as a correction: a row of ``first`` is missing in it.
    :param publish_task: the task that makes the rows visible; None: the write does.
    :param publish: its function; None: the write is meant.
    :param inside: a function that the write calls in its transaction, after which it commits; None: there is
        none. An error is raised when it has returned: what the write has done so far must not stay.
    :param alerts: returns the alerts that are raised at the moment, as texts; None: the team has none.
    :param alert_seconds: how soon an alert must be raised.
    :param permanent: an exception of the kind that no retry helps, as ``module:Class``.
    :param transient: one of the kind that may pass.
    :param conf: the conf of an interval's run; None: none.
    :param interval: returns the interval of a number. Those from 0 on are over, each injection takes others
        of them; those below 0 are to come, so that a wait for one has not missed its deadline. None: days in
        UTC, 0 two days before ``today``, -1 the day after it. The day before is left to the run that the
        Dag's own schedule makes as soon as the Dag is unpaused.
    :param today: a UTC day from which days are counted.
    :param deferrable: whether the task that waits defers.
    :param quiet_seconds: how long nothing may be written while a wrong delivery lies there.
    :param seconds: how long a run may take.
    """

    airflow: LocalAirflow
    injections: Injections
    partner: Partner
    dag_id: str
    wait_task: str
    write_task: str
    write: str
    rows: Callable[[Interval], Collection[Row]]
    first: Callable[[Interval], Contents]
    corrected: Callable[[Interval], Contents]
    publish_task: str | None = None
    publish: str | None = None
    inside: str | None = None
    alerts: Callable[[], Collection[str]] | None = None
    alert_seconds: float = 60.0
    permanent: str = "builtins:PermissionError"
    transient: str = "builtins:ConnectionError"
    conf: Callable[[Interval], Mapping[str, Any]] | None = None
    interval: Callable[[int], Interval] | None = None
    today: date = field(default_factory=lambda: datetime.now(tz=timezone.utc).date())
    deferrable: bool = True
    quiet_seconds: float = 10.0
    seconds: float = 150.0

    def intervals(self, lot: int, count: int) -> list[Interval]:
        """Return so many intervals of a lot: an injection that is given a lot of its own meets no other."""
        return [self._interval(lot * LOT + index) for index in range(count)]

    def coming(self, lot: int, count: int) -> list[Interval]:
        """Return so many intervals of a lot that are not over."""
        return [self._interval(-1 - lot * LOT - index) for index in range(count)]

    def run_id(self, interval: Interval, *, name: str = "first") -> str:
        """Return the run id that :meth:`start` gives: an injection can be meant for it before it starts."""
        return f"landmark_{name}__{interval.start:%Y-%m-%dT%H:%M:%S}"

    def start(self, interval: Interval, *, name: str = "first", after: timedelta = timedelta()) -> Run:
        """Start a run of the interval.

        :param name: becomes a part of the run id.
        :param after: how long after the interval's start the run's logical date is: two runs of one
            interval have different ones. A logical date is never to come: Airflow would wait for it.
        """
        told = interval.to_json()
        logical = min(interval.start + after, datetime.now(tz=timezone.utc))
        return self.airflow.api.start_run(
            dag_id=self.dag_id,
            logical_date=logical.isoformat(),
            interval=(told["start"], told["end"]),
            conf=None if self.conf is None else self.conf(interval),
            run_id=self.run_id(interval, name=name),
        )

    def end(self, run: Run) -> str:
        """Wait until a run has ended, well or not, and return how."""
        return run.wait(states=ENDED, seconds=self.seconds)

    def at_write(
        self,
        action: Action,
        *,
        when: When = "before",
        run_id: str = "*",
        tries: tuple[int, ...] = (1,),
        target: str | None = None,
    ) -> Injection:
        """Return an injection in the task that writes.

        :param target: None: the write.
        """
        return Injection(
            action=action,
            target=target or self.write,
            when=when,
            dag_id=self.dag_id,
            task_id=self.write_task,
            run_id=run_id,
            tries=tries,
        )

    def repeat(self, run: Run) -> str:
        """Run all tasks of an ended run again, as a person does who clears it, and return how it ended."""
        self.clear(run)
        return self.end(run)

    def clear(self, run: Run) -> None:
        """Have all tasks of a run start again."""
        run.clear(task_ids=[task["task_id"] for task in run.tasks()])

    def expect(self, interval: Interval, *contents: Collection[Row], rule: str, advice: str) -> None:
        """Look whether the destination holds one of the contents for the interval.

        :raises DestinationWrong: when it does not.
        """
        where = f"{self.dag_id}, interval {interval}, as {_name(self.rows)} reads it"
        found = self.rows(interval)
        check_rows(rule=rule, found=found, expected=contents, where=where, advice=advice)

    def expect_unused(self, interval: Interval) -> None:
        """Look whether an injection has the interval for itself.

        :raises NotExercised: when the destination holds something for it.
        """
        if self.rows(interval):
            raise NotExercised(
                f"the destination holds rows for {interval} already; give each injection another lot"
            )

    def _interval(self, number: int) -> Interval:
        if self.interval is not None:
            return self.interval(number)
        return _day(self.today - timedelta(days=number + 2 if number >= 0 else number))


def _day(day: date) -> Interval:
    from airflow_landmark.markers import Interval  # noqa: PLC0415 - slow, and not for Airflow's processes

    start = datetime(day.year, day.month, day.day, tzinfo=timezone.utc)
    return Interval(start, start + timedelta(days=1))


def _name(function: object) -> str:
    return str(getattr(function, "__qualname__", function))
