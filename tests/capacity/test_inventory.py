"""Waits from serialized Dags."""

from __future__ import annotations

import math
from typing import Any

import pytest

from airflow_landmark.capacity import Inputs, Listed, Wait
from airflow_landmark.capacity._defer_scan import ClassFacts
from airflow_landmark.capacity._history import TaskHistory
from airflow_landmark.capacity._inventory import DescribedDag, Inventory

SENSOR = ClassFacts(True, True, ("pkg.FileTrigger",), True)
ALWAYS = ClassFacts(True, False, ("pkg.TimeTrigger",), False)
WORK = ClassFacts(False, False, (), False)
CLASSES = {"Sensor": SENSOR, "Always": ALWAYS, "Work": WORK}
FIRES = (0.0, 60.0)


def _task(task_id: str, kind: str = "Sensor", *, then: tuple[str, ...] = (), **fields: Any) -> dict[str, Any]:
    known = {"task_id": task_id, "task_type": kind, "_task_module": "m", "downstream_task_ids": list(then)}
    return {"__type": "operator", "__var": {**known, "_is_sensor": kind == "Sensor", **fields}}


def _described(*tasks: dict[str, Any], extras: dict[str, Any] | None = None, **dag: Any) -> DescribedDag:
    document = {"dag": {"dag_id": "d", "timetable": {"__type": "cron"}, "tasks": list(tasks), **dag}}
    return DescribedDag(serialized=document, tasks=extras or {})


def _extra(facts: ClassFacts = SENSOR, **known: Any) -> dict[str, Any]:
    fields = {"deferrable": True, "mode": "poke", "timeout": 3_600.0, "poll": 30.0, "waiter_attempts": None}
    return {**fields, **facts._asdict(), **known}


def _inputs(*dags: DescribedDag, fires: tuple[float, ...] = FIRES, **kwargs: Any) -> Inputs:
    defaults: dict[str, Any] = {"history": {}, "begin": 0.0, "end": 86_400.0}
    inventory = Inventory(
        fires_of=lambda *_: fires, classes=lambda _module, name: CLASSES.get(name), **{**defaults, **kwargs}
    )
    return inventory.inputs(dags)


def _waits(*dags: DescribedDag, **kwargs: Any) -> dict[str, Wait]:
    return {wait.name: wait for wait in _inputs(*dags, **kwargs).waits}


def test_a_dag_from_its_file() -> None:
    """All that matters of a task reaches its wait."""
    extras = {"s": _extra(), "w": _extra(WORK, deferrable=None)}
    sensor = _task("s", pool="p", pool_slots=2, queue="q", retries=3, filepath="/in/shop/x", then=("w",))
    (wait,) = _waits(_described(sensor, _task("w", "Work"), extras=extras)).values()
    assert (wait.name, wait.kind, wait.dag) == ("d.s", "pkg.FileTrigger", "d")
    assert (wait.timeout, wait.poll_interval, wait.pool, wait.pool_slots) == (3_600, 30, "p", 2)
    assert (wait.source, wait.retry.retries, wait.sensor) == ("file:/in/shop", 3, True)
    assert wait.arrivals == Listed(FIRES)
    assert (wait.duration.longest, wait.duration.origin) == (3_600, "bounded")


@pytest.mark.parametrize(
    ("facts", "known", "defers"),
    [
        (SENSOR, {"deferrable": True}, True),
        (SENSOR, {"deferrable": False}, False),
        (ALWAYS, {"deferrable": None}, True),
        (WORK, {"deferrable": None}, False),
    ],
)
def test_who_defers_by_the_file(facts: ClassFacts, known: dict[str, Any], defers: bool) -> None:
    """The attribute, or a class that always does."""
    found = _waits(_described(_task("t"), extras={"t": _extra(facts, **known)}))
    assert bool(found) == defers


def test_who_defers_by_the_serialized_form() -> None:
    """It does not tell for most: without a past they count, with one only those that it shows."""
    dag = _described(_task("s"), _task("a", "Always"), _task("x", "Elsewhere"), _task("w", "Work"))
    found = _inputs(dag)
    assert {wait.name for wait in found.waits} == {"d.s", "d.a"}
    assert found.notes == (
        "tasks that may defer or not, counted as deferring: serialized Dags do not tell: 1",
    )
    past = {"d.x": TaskHistory(dag_id="d", task_id="x", samples=[5.0])}
    assert set(_waits(dag, history=past)) == {"d.x", "d.a"}


def test_start_from_trigger_defers_whatever_else_is_said() -> None:
    """Its trigger and time-out stand in the serialized form, and it never has a queue."""
    started = {"trigger_cls": "pkg.Own", "timeout": 77.0, "trigger_kwargs": None}
    task = _task("t", "Elsewhere", start_from_trigger=True, start_trigger_args=started, queue="q")
    (wait,) = _waits(_described(task), queues_enabled=True).values()
    assert (wait.kind, wait.timeout, wait.from_trigger, wait.queue) == ("pkg.Own", 77.0, True, "")


def test_time_outs() -> None:
    """A deferral without one may last for ever; a sensor's default is seven days; waiters count attempts."""
    extras = {
        "none": _extra(ALWAYS, deferrable=None, poll=None),
        "default": _extra(timeout=None),
        "waiter": _extra(ALWAYS, deferrable=None, timeout=None, poll=20.0, waiter_attempts=60.0),
    }
    found = _waits(
        _described(_task("none", "Always"), _task("default"), _task("waiter", "Always"), extras=extras)
    )
    assert found["d.none"].timeout is None
    assert math.isinf(found["d.none"].duration.longest)
    assert found["d.default"].timeout == 604_800
    assert found["d.waiter"].timeout == 1_200


def _mapped(value: Any, kind: str = "dict-of-lists") -> dict[str, Any]:
    return {"_is_mapped": True, "expand_input": {"type": kind, "value": value}}


REF = {"__type": "xcomref", "__var": {}}


@pytest.mark.parametrize(
    ("expansion", "width", "origin"),
    [
        (_mapped({"__type": "dict", "__var": {"a": [1, 2, 3]}}), 3, "measured"),
        (_mapped({"__type": "dict", "__var": {"a": [1, 2, 3], "b": [1, 2]}}), 6, "measured"),
        (
            _mapped({"__type": "dict", "__var": {"a": {"__type": "dict", "__var": {"x": 1, "y": 2}}}}),
            2,
            "measured",
        ),
        (_mapped([{"a": 1}, {"a": 2}], "list-of-dicts"), 2, "measured"),
        (_mapped({"__type": "dict", "__var": {"a": [1, 2], "b": REF}}), 1024, "bounded"),
        (_mapped(REF, "list-of-dicts"), 1024, "bounded"),
    ],
)
def test_mapped_width(expansion: dict[str, Any], width: int, origin: str) -> None:
    """Literal lists are counted; what another task decides is Airflow's own limit, unless the past knows."""
    dag = _described(_task("t", **expansion), extras={"t": _extra()})
    (wait,) = _waits(dag).values()
    assert (wait.width.value, wait.width.origin) == (width, origin)
    past = {"d.t": TaskHistory(dag_id="d", task_id="t", width=7)}
    (wait,) = _waits(dag, history=past).values()
    assert wait.width.value == (width if origin == "measured" else 7)


def test_tasks_of_a_mapped_group_are_multiplied() -> None:
    """The group's width times the task's."""
    inner = {"children": {"t": ["operator", "g.t"]}, "is_mapped": True}
    inner["expand_input"] = {"type": "dict-of-lists", "value": {"__type": "dict", "__var": {"a": [1, 2, 3]}}}
    group = {"children": {"g": ["taskgroup", inner], "x": ["operator", "x"]}}
    mapped = _mapped({"__type": "dict", "__var": {"b": [1, 2]}})
    extras = {"g.t": _extra(), "x": _extra()}
    found = _waits(_described(_task("g.t", **mapped), _task("x"), task_group=group, extras=extras))
    assert (found["d.g.t"].width.value, found["d.x"].width.value) == (6, 1)


def test_arguments_of_mapped_tasks() -> None:
    """What is the same for all instances stands apart in the serialized form."""
    partial = {
        "pool": "p",
        "deferrable": True,
        "bucket_name": "b",
        "retry_delay": {"__type": "timedelta", "__var": 9.0},
    }
    task = _task("t", **_mapped({"__type": "dict", "__var": {"k": [1]}}), partial_kwargs=partial)
    (wait,) = _waits(_described(task)).values()
    assert (wait.pool, wait.source, wait.retry.delay) == ("p", "s3://b", 9.0)


def test_order_over_other_tasks() -> None:
    """A wait comes after the nearest waits before it, over any number of tasks that do not wait."""
    tasks = [
        _task("first", then=("work",)),
        _task("beside"),
        _task("work", "Work", then=("more",)),
        _task("more", "Work", then=("second",)),
        _task("second", then=("third",)),
        _task("third"),
    ]
    names = ("first", "beside", "second", "third")
    extras = {name: _extra() for name in names} | {
        name: _extra(WORK, deferrable=None) for name in ("work", "more")
    }
    found = _waits(_described(*tasks, extras=extras))
    assert {name: found[f"d.{name}"].after for name in names} == {
        "first": (),
        "beside": (),
        "second": ("d.first",),
        "third": ("d.second",),
    }


def test_paused_dags_are_left_out() -> None:
    """And said."""
    dag = DescribedDag(serialized=_described(_task("s")).serialized, paused=True)
    found = _inputs(dag)
    assert found.waits == ()
    assert found.notes == ("paused Dags, left out: 1",)


def test_runs_allowed() -> None:
    """Active backfills come on top of the Dag's own limit."""
    document = _described(_task("s"), max_active_runs=4).serialized
    found = _inputs(DescribedDag(serialized=document, backfill_runs=10))
    assert found.dags["d"].runs == 14
    assert _inputs(_described(_task("s"))).dags["d"].runs == 16


def test_queues_only_when_enabled() -> None:
    """A trigger has its task's queue only with ``queues_enabled``; then the default queue counts, too."""
    dag = _described(_task("a", queue="q"), _task("b"))
    assert {wait.queue for wait in _waits(dag).values()} == {""}
    assert {wait.queue for wait in _waits(dag, queues_enabled=True).values()} == {"q", "default"}


def test_without_a_timetable_the_past_is_repeated() -> None:
    """Dags that assets or people start have no starts to ask for."""
    dag = _described(_task("s"), _task("t"))
    past = {"d.s": TaskHistory(dag_id="d", task_id="s", samples=[5.0], runs=[-86_400.0 * 7 + 60])}
    past["d.t"] = TaskHistory(dag_id="d", task_id="t", samples=[5.0])
    found = _inputs(dag, fires=(), history=past)
    (wait,) = found.waits
    assert wait.arrivals == Listed((60.0,))
    assert any("past runs are repeated: 1" in note for note in found.notes)
    assert any("not counted: 1" in note for note in found.notes)


def test_a_timetable_that_fails_is_reported() -> None:
    """It is code of the user; the other Dags go on."""

    def fires(*_: Any) -> tuple[float, ...]:
        raise RuntimeError("no calendar")

    inventory = Inventory(
        fires_of=fires, classes=lambda _module, name: CLASSES.get(name), history={}, begin=0.0, end=1.0
    )
    found = inventory.inputs([_described(_task("s"))])
    assert any(
        "timetable of d could not be asked (RuntimeError: no calendar)" in note for note in found.notes
    )


def test_reschedule_sensors_may_be_converted() -> None:
    """A past of reschedules is a wait that needs no triggerer, until the file says otherwise."""
    past = {"d.s": TaskHistory(dag_id="d", task_id="s", samples=[60.0], rescheduled=True)}
    dag = _described(_task("s"), extras={"s": _extra(deferrable=False)})
    (wait,) = _waits(dag, history=past).values()
    assert (wait.mode, wait.duration.mean) == ("reschedule", 60)
    converted = _described(_task("s"), extras={"s": _extra(deferrable=True)})
    (wait,) = _waits(converted, history=past).values()
    assert wait.mode == "deferrable"
