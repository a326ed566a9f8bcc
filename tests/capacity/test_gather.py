"""From a database to the inputs of a check."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from airflow_landmark.capacity import (
    Always,
    Dag,
    Deployment,
    Fixed,
    Gathered,
    Inputs,
    Listed,
    Pool,
    Rate,
    Sources,
    Wait,
    gather,
    merged,
)
from metadata import NOW, Metadata

DAY = 86_400.0
DAILY = {
    "__type": "airflow.timetables.trigger.CronTriggerTimetable",
    "__var": {"expression": "0 6 * * *", "timezone": "UTC", "interval": 0.0, "run_immediately": False},
}


def _gathered(metadata: Metadata, *, days: float | None = None, plan: Inputs | None = None) -> Gathered:
    history = None if days is None else days * DAY
    begin = NOW.timestamp() + DAY
    sources = Sources(database=metadata.url, history_seconds=history, begin=begin, seconds=7 * DAY)
    return gather(plan or Inputs(), sources, tell=lambda *_: None)


def _document(dag_id: str, *tasks: dict[str, Any], timetable: dict[str, Any] | None = None) -> dict[str, Any]:
    encoded = [{"__type": "operator", "__var": one} for one in tasks]
    none = {"__type": "airflow.timetables.simple.NullTimetable", "__var": {}}
    return {"__version": 3, "dag": {"dag_id": dag_id, "timetable": timetable or none, "tasks": encoded}}


def _sensor(task_id: str) -> dict[str, Any]:
    module = "airflow.providers.standard.sensors.filesystem"
    return {"task_id": task_id, "task_type": "FileSensor", "_task_module": module, "_is_sensor": True}


def _waited_daily(metadata: Metadata, days: int, seconds: float) -> None:
    """A task that waited at six on each of the last days."""
    for day in range(days):
        at = -(day + 0.25) * DAY
        for offset, event in (
            (0, "running"),
            (2, "deferred"),
            (2 + seconds, "running"),
            (5 + seconds, "success"),
        ):
            metadata.event(event, at + offset, run=f"r{day}")


def test_dags_and_their_past_meet(metadata: Metadata) -> None:
    """Starts by the timetable, durations by the past, kinds by the code."""
    metadata.dag(_document("d", _sensor("wait"), timetable=DAILY))
    _waited_daily(metadata, 1, 600.0)
    found = _gathered(metadata, days=20_000)
    (wait,) = found.inputs.waits
    assert wait.kind == "airflow.providers.standard.triggers.file.FileTrigger"
    assert (wait.duration, wait.offset) == (Fixed(600.0, "measured"), 2.0)
    assert isinstance(wait.arrivals, Listed)
    horizon = wait.arrivals.fires(begin=NOW.timestamp() + DAY, end=NOW.timestamp() + 8 * DAY)
    assert [at % DAY for at in horizon] == [6 * 3_600.0] * 7
    assert len(found.deferrals) == 1


def test_a_past_without_its_dag(metadata: Metadata) -> None:
    """Its runs are repeated, week for week."""
    _waited_daily(metadata, 3, 60.0)
    (wait,) = _gathered(metadata, days=20_000).inputs.waits
    assert isinstance(wait.arrivals, Listed)
    assert len(wait.arrivals.instants) == 3
    assert wait.dag == "d"


def test_what_the_present_adds(metadata: Metadata) -> None:
    """Watchers wait for ever, pools cap, living triggerers are the deployment when nobody states one."""
    metadata.triggerer(heartbeat_age=1)
    metadata.triggerer(heartbeat_age=500)
    metadata.row("slot_pool", pool="p", slots=3, include_deferred=True)
    metadata.row("asset", id=1, name="a", uri="a", group="", created_at=NOW, updated_at=NOW, extra="{}")
    watcher = metadata.trigger()
    metadata.row("asset_watcher", name="w", asset_id=1, trigger_id=watcher)
    inputs = _gathered(metadata).inputs
    (wait,) = inputs.waits
    assert (wait.arrivals, wait.width.value) == (Always(), 1)
    assert inputs.pools["p"] == Pool(name="p", slots=3, include_deferred=True)
    assert [one.replicas for one in inputs.deployments] == [1]
    assert any("triggerers alive: 1" in note for note in inputs.notes)


def test_the_trigger_that_runs_now_tells_the_kind(metadata: Metadata) -> None:
    """An operator of the user's own cannot be imported here."""
    own = {"task_id": "wait", "task_type": "Own", "_task_module": "unusual_prefix_1_d"}
    metadata.dag(_document("d", own, timetable=DAILY))
    metadata.event("deferred", -100.0)
    metadata.instance(state="deferred", trigger_id=metadata.trigger(classpath="their.Trigger"))
    (wait,) = _gathered(metadata, days=20_000).inputs.waits
    assert wait.kind == "their.Trigger"


def test_time_outs_that_were_seen(metadata: Metadata) -> None:
    """A serialized Dag holds no time-out of a sensor; the deadlines of its tries do. The least one counts."""
    metadata.dag(_document("d", _sensor("wait"), timetable=DAILY))
    for run, late in (("r1", 3), ("r2", 400)):
        start = NOW - timedelta(hours=1)
        metadata.instance(run=run, start_date=start, trigger_timeout=start + timedelta(seconds=3_600 + late))
    (wait,) = _gathered(metadata, days=20_000).inputs.waits
    assert (wait.timeout, wait.duration.longest) == (3_603, 3_603)


def test_the_plan_knows_better() -> None:
    """Waits, Dags and pools that it names, and its deployments if it has any."""
    arrivals = Rate(1.0)

    def wait(name: str, seconds: float) -> Wait:
        return Wait(name=name, kind="k", arrivals=arrivals, duration=Fixed(seconds))

    plan = Inputs(
        waits=(wait("a", 1.0),),
        dags={"x": Dag(name="x", max_active_runs=1)},
        deployments=(Deployment(name="stated", replicas=5),),
    )
    found = Inputs(
        waits=(wait("a", 9.0), wait("b", 2.0)),
        dags={"x": Dag(name="x"), "y": Dag(name="y")},
        deployments=(Deployment(name="alive now", replicas=1),),
        notes=("n",),
    )
    both = merged(plan, found)
    assert [(one.name, one.duration.mean) for one in both.waits] == [("a", 1.0), ("b", 2.0)]
    assert both.dags["x"].max_active_runs == 1
    assert set(both.dags) == {"x", "y"}
    assert [one.name for one in both.deployments] == ["stated"]
    assert merged(Inputs(), found).deployments[0].name == "alive now"


def test_back_test_learns_from_what_came_before(metadata: Metadata) -> None:
    """The first half of the past foretells the second one, which it has not seen."""
    from datetime import datetime, timezone

    now = datetime.now(tz=timezone.utc)
    shift = (now - NOW) / timedelta(seconds=1)
    for day in range(10):
        at = shift - (day + 0.5) * DAY
        seconds = 600.0 if day >= 5 else 30.0
        for offset, event in (
            (0, "running"),
            (1, "deferred"),
            (1 + seconds, "running"),
            (2 + seconds, "success"),
        ):
            for task in ("a", "b", "c"):
                metadata.event(event, at + offset, run=f"r{day}", task=task)
    found = _gathered(metadata, days=12).back_test
    assert found is not None
    assert len(found.days) >= 3
    assert {day.observed for day in found.days} == {3}
    assert found.predicted_mean > 5 * found.observed_mean


def test_too_short_a_past_is_not_tested(metadata: Metadata) -> None:
    """Less than two days."""
    metadata.event("deferred", -60.0)
    metadata.event("running", -30.0)
    assert _gathered(metadata).back_test is None
