"""Backfills on a real Airflow: ninety days beside the live run, corrections, deadlines, reprocessing."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pytest

from airflow_landmark.deliveries import SqlLedger
from airflow_landmark.testing import LocalAirflow, LocalPostgres, wait_until
from backfills import SECONDS, DagRun, Past, Stored, interval_of, make_destination, most_at_once

pytestmark = pytest.mark.timeout(2400)  # two hundred tasks, on a machine that may be busy

HERE = Path(__file__).parent
FIRST = date(2026, 1, 20)
DAYS = [FIRST + timedelta(days=number) for number in range(90)]
CLOCK_CHANGE = date(2026, 3, 29)
MISSING = [FIRST, date(2026, 3, 1), CLOCK_CHANGE]
AT_ONCE = 8
SPRING = [date(2026, 3, day) for day in range(26, 32)]
SETTINGS = {
    "AIRFLOW__CORE__PARALLELISM": "6",
    # What is slow must not be taken for dead.
    "AIRFLOW__WORKERS__EXECUTION_API_TIMEOUT": "60",
    "AIRFLOW__SCHEDULER__TASK_INSTANCE_HEARTBEAT_TIMEOUT": "120",
}


@pytest.fixture(scope="module")
def airflow_past(tmp_path_factory: pytest.TempPathFactory, landing: Path) -> Iterator[LocalAirflow]:
    """Return an Airflow of its own on PostgreSQL: SQLite refuses to create a backfill while it is busy."""
    make_destination(landing)
    SqlLedger(f"sqlite:///{landing}/backfill-ledger.db").create()
    home = tmp_path_factory.mktemp("past")
    environment = {"LANDING": str(landing), **SETTINGS}
    with (
        LocalPostgres() as postgres,
        LocalAirflow(home=home, dags=HERE / "dags", database=postgres.url, environment=environment) as it,
    ):
        yield it


def past(airflow: LocalAirflow, landing: Path, dag_id: str) -> Past:
    """Return a Dag whose runs may start."""
    found = Past(airflow, landing, dag_id)
    found.open()
    return found


@dataclass(frozen=True)
class Waiting:
    """What was seen while nothing but the days that were not delivered was left."""

    deferred: list[date]
    taken: list[date]
    kwargs: list[Mapping[str, Any]]
    pool: Mapping[str, Any]
    running: list[date]

    @classmethod
    def see(cls, one: Past) -> Waiting:
        """Look now."""
        runs = [run for run in one.runs() if run.kind == "backfill"]
        return cls(
            deferred=one.days_in("deferred"),
            taken=[run.day for run in runs if run.state == "success"],
            kwargs=_kwargs(one),
            pool=one.airflow.api.call(method="GET", path="pools/default_pool"),
            running=[run.day for run in runs if run.state == "running"],
        )


@dataclass(frozen=True)
class Ninety:
    """The backfill of ninety days: while its missing days waited, when the live run ended, at its end."""

    waiting: Waiting
    live_day: date
    left_by_live: list[date]
    states: Mapping[date, str]
    runs: list[DagRun]
    deferrals: list[date]
    stored: Mapping[date, Stored]
    documents: Mapping[date, Mapping[str, Any]]


def _kwargs(one: Past) -> list[Mapping[str, Any]]:
    """What the triggers of the backfill's waits were given, the oldest day first."""
    rows = one.airflow.database.query(
        sql="select t.kwargs from trigger t join task_instance i on i.trigger_id = t.id "
        "join dag_run r on r.dag_id = i.dag_id and r.run_id = i.run_id "
        "where i.dag_id = :dag_id and r.run_type = 'backfill' order by r.logical_date",
        values={"dag_id": one.dag_id},
    )
    return [json.loads(row[0]) for row in rows]


def _fill(one: Past) -> Waiting:
    """Create the backfill, and wait until only missing days are left, and the live run's."""
    words = one.range(DAYS[0], DAYS[-1])
    span = ["--from-date", words["from_date"], "--to-date", words["to_date"]]
    limit = ["--max-active-runs", str(AT_ONCE)]
    one.airflow.command(
        arguments=["backfill", "create", "--dag-id", one.dag_id, *span, *limit], seconds=2 * SECONDS
    )

    def look() -> list[Waiting]:
        seen = Waiting.see(one)
        all_wait = len(seen.deferred) == len(seen.kwargs) + 1 == len(MISSING) + 1
        return [seen] if all_wait and len(seen.taken) == len(DAYS) - len(MISSING) else []

    return wait_until(check=look, what="delivered days taken", seconds=1800, every=1)[0]


@pytest.fixture(scope="module")
def ninety(airflow_past: LocalAirflow, landing: Path) -> Ninety:
    """Fill up ninety days, three of them not delivered yet, while the live run waits for its own day."""
    one = Past(airflow_past, landing, "backfill_ninety")
    one.deliver(*(day for day in DAYS if day not in MISSING))
    one.open()
    waiting = _fill(one)
    live_day = next(run.day for run in one.runs() if run.kind == "scheduled")
    one.deliver(live_day)
    one.run(live_day).wait(seconds=SECONDS)
    left_by_live = one.days_in("deferred")
    one.deliver(*MISSING)
    states = one.finish(one.newest())
    shown = (CLOCK_CHANGE - timedelta(days=1), CLOCK_CHANGE)
    return Ninety(
        waiting=waiting,
        live_day=live_day,
        left_by_live=left_by_live,
        states=states,
        runs=one.runs(),
        deferrals=one.deferrals(),
        stored=one.stored(),
        documents={day: one.run(day).xcom(task_id="wait") for day in shown},
    )


def test_days_that_lie_there_do_not_defer(ninety: Ninety) -> None:
    """Only the days that were not delivered have deferred, each once, and the live run."""
    assert ninety.deferrals == sorted([*MISSING, ninety.live_day])
    assert ninety.waiting.taken == [day for day in DAYS if day not in MISSING]


def test_waiting_days_hold_a_run_and_no_worker(ninety: Ninety) -> None:
    """A day that waits is a running run; it takes no slot of the pool, and no process."""
    pool = ninety.waiting.pool
    assert ninety.waiting.running == MISSING
    assert ninety.waiting.deferred == sorted([*MISSING, ninety.live_day])
    slots = {name: pool[name] for name in ("running_slots", "queued_slots", "deferred_slots")}
    assert slots == {"running_slots": 0, "queued_slots": 0, "deferred_slots": len(MISSING) + 1}
    assert pool["open_slots"] == pool["slots"]


def test_never_more_runs_than_allowed(ninety: Ninety) -> None:
    """The backfill's own limit is reached and never passed; the Dag's limit of one is another."""
    assert most_at_once(run for run in ninety.runs if run.kind == "backfill") == AT_ONCE
    assert most_at_once(ninety.runs) == AT_ONCE + 1


def test_live_run_goes_on_beside(ninety: Ninety) -> None:
    """The live run takes its day while days of the backfill still wait."""
    assert ninety.left_by_live == MISSING
    assert ninety.states[ninety.live_day] == "success"


def test_each_day_expects_its_own_interval(ninety: Ninety) -> None:
    """What a day waits for, takes and writes is its own interval, 23 hours long at the clock change."""
    waits = ninety.waiting.kwargs
    assert [kwargs["interval"] for kwargs in waits] == [str(interval_of(day)) for day in MISSING]
    assert {kwargs["dataset"] for kwargs in waits} == {"shop/backfill_ninety"}
    for day, document in ninety.documents.items():
        assert document["interval"] == interval_of(day).to_json()
    change = interval_of(CLOCK_CHANGE)
    assert change.end - change.start == timedelta(hours=23)
    for day in DAYS:
        interval = interval_of(day)
        found = ninety.stored[day]
        assert (found.starts, found.ends) == (interval.start.isoformat(), interval.end.isoformat())


def test_destination_holds_each_day_once(ninety: Ninety) -> None:
    """At the end every day is there, written by its own run."""
    assert sorted(ninety.stored) == sorted([*DAYS, ninety.live_day])
    assert set(ninety.states.values()) == {"success"}
    by_day = {run.day: run.run_id for run in ninety.runs}
    assert {day: found.run_id for day, found in ninety.stored.items()} == by_day


def test_waiting_days_block_the_rest(airflow_past: LocalAirflow, landing: Path) -> None:
    """As many waiting days as runs allowed stop the backfill; from the other end the delivered ones come."""
    one = past(airflow_past, landing, "backfill_blocked")
    missing, there = SPRING[:3], SPRING[3:]
    one.deliver(*there)
    first = one.create(SPRING[0], SPRING[-1], max_active_runs=3)
    wait_until(check=lambda: one.days_in("deferred") == missing, what="three waits", seconds=SECONDS)
    other = past(airflow_past, landing, "backfill_soft")
    other.deliver(SPRING[0])
    other.finish(other.create(SPRING[0], SPRING[0]))  # the scheduler had time for all that can start
    assert {run.day: run.state for run in one.runs()} == {
        **dict.fromkeys(missing, "running"),
        **dict.fromkeys(there, "queued"),
    }
    airflow_past.api.call(method="PUT", path=f"backfills/{first}/cancel")
    assert {run.day: run.state for run in one.runs()} == {
        **dict.fromkeys(missing, "running"),
        **dict.fromkeys(there, "failed"),
    }
    second = one.create(
        SPRING[0], SPRING[-1], max_active_runs=3, run_backwards=True, reprocess_behavior="failed"
    )
    states = one.finish(second)
    assert states == {**dict.fromkeys(missing, "running"), **dict.fromkeys(there, "success")}
    assert one.reasons(second) == dict.fromkeys(missing, "in flight")
    assert one.deferrals() == missing
    one.deliver(*missing)
    for day in missing:
        one.run(day).wait(seconds=SECONDS)
    assert sorted(one.stored()) == SPRING


def test_deadline_after_the_interval_is_past(airflow_past: LocalAirflow, landing: Path) -> None:
    """With a deadline old days that lie there are taken, and missing ones fail at once without a wait."""
    one = past(airflow_past, landing, "backfill_late")
    there, missing = SPRING[0], SPRING[1]
    one.deliver(there)
    states = one.finish(one.create(there, missing))
    assert (states[there], states[missing]) == ("success", "failed")
    assert one.deferrals() == []
    log = one.run(missing).log(task_id="wait")
    assert "(by deadline); last seen: " in log
    assert f"no delivery of {one.dataset} for {interval_of(missing)}" in log
    assert one.run(missing).task(task_id="wait")["try_number"] == 1


def test_skipped_days_are_not_failed_ones(airflow_past: LocalAirflow, landing: Path) -> None:
    """With soft_fail a missing old day is skipped and its run a success: "failed" does not repeat it."""
    one = past(airflow_past, landing, "backfill_soft")
    day = SPRING[2]
    states = one.finish(one.create(day, day))
    assert states[day] == "success"
    assert one.run(day).task(task_id="wait")["state"] == "skipped"
    assert one.would_make(day, day, reprocess_behavior="failed") == []
    assert one.would_make(day, day, reprocess_behavior="completed") == [day]
    assert day not in one.stored()


def test_reprocessing(airflow_past: LocalAirflow, landing: Path) -> None:
    """Same bytes are accepted again, a correction is taken, a lower version than the ledger's is refused."""
    one = past(airflow_past, landing, "backfill_ledger")
    same, corrected, lowered, late = days = SPRING[:4]
    one.deliver(same, corrected)
    one.deliver(lowered, version=2)
    assert one.finish(one.create(same, late)) == {**dict.fromkeys(days, "success"), late: "failed"}
    one.deliver(corrected, version=2)
    one.deliver(lowered, late)

    none = one.create(same, late, reprocess_behavior="none")
    assert one.finish(none)[late] == "failed"
    assert one.reasons(none) == dict.fromkeys(days, "already exists")
    assert one.would_make(same, late, reprocess_behavior="failed") == [late]
    states = one.finish(one.create(same, late, reprocess_behavior="failed"))
    assert states == dict.fromkeys(days, "success")
    assert one.stored()[corrected].version == 1

    states = one.finish(one.create(same, late, reprocess_behavior="completed"))
    assert states == {**dict.fromkeys(days, "success"), lowered: "failed"}
    words = {day: one.run(day).xcom(task_id="load") for day in (same, corrected, late)}
    assert words == {same: "same", corrected: "corrected", late: "same"}
    versions = {day: found.version for day, found in one.stored().items()}
    assert versions == {same: 1, corrected: 2, lowered: 2, late: 1}
    assert "older version" in one.run(lowered).log(task_id="wait")


def test_correction_survives_the_backfill(airflow_past: LocalAirflow, landing: Path) -> None:
    """A version published while a backfill holds the older one stays, and the conflict is reported."""
    one = past(airflow_past, landing, "backfill_late")
    day = SPRING[4]
    one.deliver(day)
    held = one.folder(day).with_name("held-1")
    held.touch()
    number = one.create(day, day)
    wait_until(check=lambda: day in one.days_in("success"), what="version 1 taken", seconds=SECONDS)
    old = one.run(day)
    old.wait_task(task_id="load", states=["running"], seconds=SECONDS)
    one.deliver(day, version=2)
    live = airflow_past.api.start_run(
        dag_id="backfill_correction",
        conf={
            "uri": f"{one.folder(day)}/_delivery.json",
            "dataset": one.dataset,
            "interval": str(interval_of(day)),
        },
    )
    wait_until(check=lambda: day in one.stored(), what="the correction is published", seconds=SECONDS)
    held.unlink()
    assert one.finish(number)[day] == "failed"
    assert "version 2 is stored, this run has version 1; nothing was written" in old.log(task_id="load")
    assert one.stored()[day][2:] == (2, live.run_id)
    one.finish(one.create(day, day, reprocess_behavior="failed"))
    assert old.xcom(task_id="load") == "same"
