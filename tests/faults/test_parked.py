"""More waits than workers can defer in a test: rows in the database, counted to resumable."""

from __future__ import annotations

import hashlib
import os
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from airflow_landmark.testing import NotInTime, Run, wait_until
from airflow_landmark.triggers import MarkerTrigger
from faultlab import (
    VERSION,
    Fault,
    FolderPlace,
    Lab,
    Record,
    day_of,
    everything_killed,
    forget,
    interval_of,
    parcel,
    park,
    resumable,
    stopped,
)

SIZES = [int(size) for size in os.environ.get("FAULTS_PARKED", "2000").split(",")]
DAY = day_of(30_000)
FAULTS: list[tuple[str, Fault]] = [
    ("kill -9 of a whole triggerer", everything_killed),
    ("SIGSTOP of a triggerer, SIGCONT after the other took over", stopped),
]


@pytest.mark.parametrize("size", SIZES)
def test_thousands_survive_and_are_released_by_one_marker(lab: Lab, size: int, tmp_path: Path) -> None:
    """One triggerer is killed, one is stopped and woken; then one marker releases all, each once."""
    lab.ready()
    place = FolderPlace(tmp_path)
    with _parked(lab, size, place) as (run, labels):
        records = [_lose(lab, fault, inject, labels) for fault, inject in FAULTS]
        records.append(_burst(lab, run, labels, place))
    for record in records:
        lab.add(record)
    assert all(record.clean for record in records), (records, lab.where())


@contextmanager
def _parked(lab: Lab, size: int, place: FolderPlace) -> Iterator[tuple[Run, list[str]]]:
    """Waits for one marker, in a run whose pool is shut; their labels."""
    lab.airflow.api.set_pool(name="parked", slots=0)
    wait = {"uri": place.uri(DAY), "interval": "/".join(interval_of(DAY))}
    # The scheduler reads a run's conf with each of its tasks: two thousand places in it took it gigabytes.
    run = lab.airflow.api.start_run(dag_id="faults_parked", conf={"waits": [wait], "copies": size})
    labels = [f"{run.run_id}/{index}" for index in range(size)]
    try:
        with lab.explained():
            park(lab.airflow, run, {index: _row(place, label) for index, label in enumerate(labels)})
            wait_until(check=lambda: _running(lab, labels), what="all run", seconds=600, every=0.5)
        yield run, labels
    finally:
        forget(lab.airflow, run)


def _row(place: FolderPlace, label: str) -> tuple[str, dict[str, Any]]:
    trigger = MarkerTrigger(
        uri=place.uri(DAY),
        dataset="shop/orders",
        interval="/".join(interval_of(DAY)),
        min_version=VERSION,
        poll_interval=1.0,
    )
    return "faults_trigger.ToldTrigger", trigger.serialize()[1] | {"label": label}


def _running(lab: Lab, labels: list[str]) -> bool:
    return set(labels) <= set(lab.told.running()) and lab.held() >= len(labels)


def _lose(lab: Lab, fault: str, inject: Fault, labels: list[str]) -> Record:
    """Lose a triggerer, and wait until the other runs all."""
    lab.ready()
    used, ended, began, running = lab.usage(), len(lab.supervisor.exits), time.time(), None
    with inject(lab):
        try:
            wait_until(check=lambda: _running(lab, labels), what="all run", seconds=600, every=0.5)
            running = round(time.time() - began, 1)
        except NotInTime:
            running = None
    lab.ready()
    now = lab.usage()
    return Record(
        fault=fault,
        way="parked",
        waits=len(labels),
        released=0,
        lost=len(set(labels) - set(lab.told.running())),
        wrong=sum(lab.told.count("fire")[label] for label in labels),
        doubled=0,
        running=running,
        memory=(used.memory, now.memory),
        descriptors=(used.descriptors, now.descriptors),
        exits=tuple(lab.supervisor.exits[ended:]),
    )


def _burst(lab: Lab, run: Run, labels: list[str], place: FolderPlace) -> Record:
    """Release all by one marker, after one that is not theirs, and wait until all may be resumed."""
    used, ended = lab.usage(), len(lab.supervisor.exits)
    place.put(DAY, parcel(day=day_of(30_001), version=VERSION + 1, amount=1))
    time.sleep(3)
    documents = parcel(day=DAY, version=VERSION, amount=2)
    began = time.time()
    place.put(DAY, documents)
    with lab.explained():
        wait_until(
            check=lambda: len(resumable(lab.airflow, run)) >= len(labels),
            what=f"{len(labels)} events stored",
            seconds=900,
            every=0.5,
        )
    seconds = round(time.time() - began, 1)
    identity = hashlib.sha256(documents["_delivery.json"]).hexdigest()
    events = Counter(event["marker"]["sha256"] for event in resumable(lab.airflow, run))
    now = lab.usage()
    return Record(
        fault="all released by one marker",
        way="parked",
        waits=len(labels),
        released=len(labels),
        lost=len(labels) - events.total(),
        wrong=events.total() - events[identity],
        doubled=max(0, events.total() - len(labels)),
        fired_again=sum(max(0, lab.told.count("fire")[label] - 1) for label in labels),
        written=seconds,
        memory=(used.memory, now.memory),
        descriptors=(used.descriptors, now.descriptors),
        exits=tuple(lab.supervisor.exits[ended:]),
    )
