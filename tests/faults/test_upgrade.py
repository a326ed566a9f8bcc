"""The package is upgraded while waits are deferred: what the release before has stored still works."""

from __future__ import annotations

import hashlib
import json
import time
from pathlib import Path
from typing import Any

import pytest

from airflow_landmark.deliveries import Outcome
from airflow_landmark.triggers import MarkerTrigger, parse_event
from faultlab import RELEASED, Lab, Record, interval_of, parcel, park

FIXTURES = Path(__file__).parent / "fixtures"
KWARGS: dict[str, Any] = json.loads((FIXTURES / "kwargs-0.1.0.json").read_text())
EVENTS: dict[str, Any] = json.loads((FIXTURES / "events-0.1.0.json").read_text())


async def _fire(arguments: dict[str, Any]) -> Outcome:
    [event] = [event async for event in MarkerTrigger(**arguments).run()]
    return parse_event(event.payload)


def _here(kind: str, marker: Path) -> dict[str, Any]:
    """The stored arguments, for a marker of this machine."""
    stored = dict(KWARGS["kwargs"][kind])
    return stored | {"uri": str(marker.parent if stored["pattern"] else marker)}


@pytest.mark.parametrize("kind", sorted(KWARGS["kwargs"]))
async def test_stored_arguments_still_wait(kind: str, tmp_path: Path) -> None:
    """A trigger row of 0.1.0, and one with an argument of a release to come, waits for the same delivery."""
    for name, data in parcel(day="2026-05-01", version=3, amount=5).items():
        (tmp_path / name).write_bytes(data)
    arguments = _here(kind, tmp_path / "_delivery.json")
    for more in ({}, {"of_a_release_to_come": {"a": 1}}):
        outcome = await _fire(arguments | more)
        assert outcome.kind == "arrived"
        assert outcome.stamp is not None
        assert (outcome.stamp.version, str(outcome.interval)) == (3, arguments["interval"])


def test_class_path_is_the_same() -> None:
    """Rows of 0.1.0 name a class that is still there under that name."""
    assert KWARGS["classpath"] == MarkerTrigger().serialize()[0]


@pytest.mark.parametrize("kind", sorted(EVENTS))
def test_stored_events_are_understood(kind: str) -> None:
    """An event of 0.1.0 that waits in the database for its worker tells today's what it told."""
    outcome = parse_event(EVENTS[kind])
    assert outcome.kind == EVENTS[kind]["outcome"]
    assert outcome.looks.count == EVENTS[kind]["looks"]["count"]
    if outcome.kind != "arrived":
        assert outcome.text == EVENTS[kind]["error"]["text"]
        return
    assert outcome.stamp is not None
    stamp, told = outcome.stamp, EVENTS[kind]
    found = (stamp.uri, stamp.sha256, stamp.size, stamp.version, stamp.files, stamp.rows)
    marker, manifest = told["marker"], told["manifest"]
    expected = (marker["uri"], marker["sha256"], marker["size"], told["version"])
    assert found == (*expected, manifest["files"], manifest["rows"])
    assert stamp.interval.to_json() == told["interval"]


def test_upgraded_between_deferral_and_resume(lab: Lab) -> None:
    """Rows as 0.1.0 wrote them, arguments and events, are waited for and resumed by today's code."""
    lab.ready()
    lab.airflow.api.set_pool(name="parked", slots=0)
    days = lab.waits.start_run(RELEASED, lab.folder, dag_id="faults_parked")
    lab.waits.mislead(days[::2])
    began, count = time.time(), len(lab.waits.open)
    fired = days[: len(days) // 3]  # their events were stored before the upgrade
    lab.waits.release(fired)
    kinds = sorted(KWARGS["kwargs"])
    rows: dict[int, tuple[str, dict[str, Any]]] = {}
    for index, day in enumerate(days):
        marker = Path(lab.folder.uri(day))
        if day in fired:
            rows[index] = "faults_trigger.StoredEvent", {"payload": _event(day, marker)}
        else:
            stored = _here(kinds[index % len(kinds)], marker) | {"interval": "/".join(interval_of(day))}
            stored |= {"on_mismatch": "wait", "of_a_release_to_come": 1}
            rows[index] = KWARGS["classpath"], stored
    with lab.explained():
        park(lab.airflow, lab.waits.run_of(days[0]), rows)
        lab.waits.release(days[len(fired) :])
        lab.airflow.api.set_pool(name="parked", slots=100)
        lab.until_written(days)
    lab.airflow.api.set_pool(name="parked", slots=0)
    found, last = lab.count(days), lab.destination.last_write(days)
    record = Record(
        fault="package upgraded from 0.1.0 between deferral and resume",
        way="workers",
        waits=count,
        released=len(days),
        lost=found.lost,
        wrong=found.wrong,
        doubled=found.doubled,
        unsettled=lab.unsettled(days),
        again=found.again,
        written=None if last is None else round(last - began, 1),
    )
    lab.add(record)
    assert record.clean, (record, lab.where())


def _event(day: str, marker: Path) -> dict[str, Any]:
    """The stored event, about the marker that lies there."""
    data = marker.read_bytes()
    start, end = interval_of(day)
    stored = dict(EVENTS["arrived"])
    told = {"uri": str(marker), "sha256": hashlib.sha256(data).hexdigest(), "size": len(data)}
    return stored | {"marker": stored["marker"] | told, "interval": {"start": start, "end": end}}
