"""Tasks that wait, run without an Airflow around them: context, store, and the way through the triggerer."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from airflow.sdk.exceptions import AirflowRescheduleException, TaskDeferred
from airflow.sdk.module_loading import import_string

from airflow_landmark.deliveries import Entry, SqlLedger, Stamp
from airflow_landmark.markers import Interval
from airflow_landmark.sensors import MarkerSensor
from airflow_landmark.stores import Pin
from parcels import DATASET, END, START

MODES = ("deferrable", "poke", "reschedule")
DAY = (START, END)
SPAN = Interval.parse(f"{START}/{END}")
OWNER = "orders/scheduled/wait/-1"
"""In whose name the task of :func:`context_of` claims."""


class StateStore(dict[str, Any]):
    """The task state store of one task, which keeps its values as JSON."""

    def __init__(self) -> None:
        super().__init__()
        self.kept_for: dict[str, timedelta | None] = {}

    def set(self, key: str, value: Any, *, retention: timedelta | None = None) -> None:
        """Keep a value."""
        assert value is not None
        self[key] = json.loads(json.dumps(value, allow_nan=False))
        self.kept_for[key] = retention


def context_of(**changes: Any) -> dict[str, Any]:
    """The context of one start of a task; fields of its instance may be given by name."""
    ti = {
        "dag_id": "orders",
        "run_id": "scheduled",
        "task_id": "wait",
        "map_index": -1,
        "try_number": 1,
        "max_tries": 2,
        "start_date": datetime.now(tz=timezone.utc),
    }
    for name in ti.keys() & changes.keys():
        ti[name] = changes.pop(name)
    return {"ti": SimpleNamespace(**ti), "task_state_store": StateStore()} | changes


def sensor_of(folder: Path, mode: str = "deferrable", **changes: Any) -> MarkerSensor:
    """A new instance of the sensor, as each start of a task has one."""
    made = changes.pop("made", MarkerSensor)
    arguments = {
        "task_id": "wait",
        "uri": f"{folder}/_delivery.json",
        "dataset": DATASET,
        "interval": DAY,
        "poke_interval": 0.1,
        "timeout": 20,
        "first_event_delay": 0,
        "deferrable": mode == "deferrable",
        "mode": "reschedule" if mode == "reschedule" else "poke",
    }
    sensor = made(**arguments | changes)
    assert isinstance(sensor, MarkerSensor)
    return sensor


def deferral_of(sensor: MarkerSensor, context: dict[str, Any] | None = None) -> TaskDeferred:
    """The deferral that a start ends with."""
    try:
        result = sensor.execute(context or context_of())
    except TaskDeferred as deferral:
        return deferral
    raise AssertionError(f"not deferred: {result}")


def fired(deferral: TaskDeferred) -> Any:
    """The payload that the triggerer hands back, after both ways through the database."""
    classpath, kwargs = deferral.trigger.serialize()
    trigger = import_string(classpath)(**json.loads(json.dumps(kwargs, allow_nan=False)))

    async def first_event() -> Any:
        events = [event.payload async for event in trigger.run()]
        assert len(events) == 1
        return events[0]

    return json.loads(json.dumps(asyncio.run(first_event()), allow_nan=False))


def run_task(
    mode: str,
    folder: Path,
    *,
    context: dict[str, Any] | None = None,
    meanwhile: Callable[[], Any] | None = None,
    **changes: Any,
) -> Any:
    """One try of a task from its first start to its end: its result, or what it raises.

    :param meanwhile: is called once, after the event and before the resume, where there are such.
    """
    context = context or context_of()
    if mode == "poke":
        return sensor_of(folder, mode, **changes).execute(context)
    while True:
        try:
            return sensor_of(folder, mode, **changes).execute(context)
        except AirflowRescheduleException as again:
            pause = again.reschedule_date - datetime.now(tz=timezone.utc)
            time.sleep(max(0.0, pause.total_seconds()))
        except TaskDeferred as deferral:
            event = fired(deferral)
            if meanwhile is not None:
                meanwhile()
            kwargs = {**(deferral.kwargs or {}), "event": event}
            return sensor_of(folder, mode, **changes).resume_execution(deferral.method_name, kwargs, context)


def sql_ledger(folder: Path) -> SqlLedger:
    """A new ledger in a file of that folder."""
    ledger = SqlLedger(f"sqlite:///{folder}/ledger.db")
    ledger.create()
    return ledger


def stamp_of(version: int = 1, *, letter: str = "a", dataset: str = DATASET) -> Stamp:
    """The stamp of a delivery for the day.

    :param letter: 64 of it are the marker's sha256.
    """
    return Stamp(
        uri="/in/_delivery.json", sha256=letter * 64, size=10, pin=Pin(), dataset=dataset, interval=SPAN,
        version=version, files=0, size_bytes=0, rows=None,
    )  # fmt: skip


def held(entry: Entry | None) -> tuple[int | None, int | None]:
    """The version that is taken and the one that is claimed."""
    taken, claim = (entry.taken, entry.claim) if entry else (None, None)
    return taken and taken.version, claim and claim.version
