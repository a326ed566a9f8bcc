"""Waits under faults: killed triggerers and workers, users' hands, bursts, hostile partners."""

from __future__ import annotations

from pathlib import Path

import pytest

from airflow_landmark.testing import LocalAirflow, Run, wait_until
from drops import DAY, conf, deliver, drop, hostile_documents, instants


def start(airflow: LocalAirflow, dag_id: str, folder: Path) -> Run:
    """Start a run that waits for the folder's marker."""
    return airflow.api.start_run(dag_id=dag_id, conf=conf(folder))


def states(airflow: LocalAirflow, run: Run) -> dict[str, int]:
    """How many task instances of the run are in which state."""
    return airflow.database.task_states(dag_id=run.dag_id, run_id=run.run_id)


def test_cleared_wait_starts_anew(airflow: LocalAirflow, landing: Path) -> None:
    """A wait that was cleared while deferred is followed by one that takes the delivery."""
    folder = landing / "cleared"
    run = start(airflow, "wait_one", folder)
    first = run.wait_task(task_id="wait", states=["deferred"])
    run.clear(task_ids=["wait"])
    wait_until(
        check=lambda: run.task(task_id="wait")["try_number"] > first["try_number"],
        what="a new try",
        seconds=30,
    )
    run.wait_task(task_id="wait", states=["deferred"])
    deliver(folder)
    run.wait()


def test_marked_wait_leaves_no_trigger(airflow: LocalAirflow, landing: Path) -> None:
    """A wait that a user marks as failed ends its trigger, and no event comes after it."""
    folder = landing / "marked"
    run = start(airflow, "wait_one", folder)
    run.wait_task(task_id="wait", states=["deferred"])
    run.mark_task(task_id="wait", state="failed")
    run.wait(states=["failed"])
    deliver(folder)
    wait_until(check=lambda: airflow.database.trigger_count() == 0, what="no triggers", seconds=30)
    assert run.task(task_id="wait")["state"] == "failed"


def test_killed_triggerer_loses_no_wait(airflow: LocalAirflow, landing: Path) -> None:
    """A wait whose triggerer was killed goes on in the next one and is resumed once."""
    folder = landing / "killed"
    run = start(airflow, "wait_one", folder)
    run.wait_task(task_id="wait", states=["deferred"])
    wait_until(check=lambda: None not in airflow.database.trigger_owners(), what="an owner", seconds=30)
    name = next(name for name in airflow.components if name.startswith("triggerer"))
    airflow.kill(name=name)
    airflow.start_triggerer(name=name)
    deliver(folder)
    run.wait(seconds=90)
    assert run.task(task_id="wait")["try_number"] == 1
    assert run.log(task_id="wait").count("Accepted ") == 1


def test_killed_resume_is_retried(airflow: LocalAirflow, landing: Path) -> None:
    """When the worker dies while it resumes, the retry finds the delivery lying there."""
    folder = landing / "dying"
    run = start(airflow, "wait_dying", folder)
    run.wait_task(task_id="wait", states=["deferred"])
    deliver(folder, version=4)
    run.wait_task(task_id="wait", states=["running"], seconds=60)
    airflow.task_process(run=run, task_id="wait").kill()
    run.wait(seconds=120)
    assert run.task(task_id="wait")["try_number"] == 2
    assert run.xcom(task_id="wait")["version"] == 4


def test_arrival_at_the_moment_of_deferral_kills_nothing(airflow: LocalAirflow, landing: Path) -> None:
    """Of a hundred waits whose marker comes while they are being deferred none is failed by the scheduler."""
    folder = landing / "moment"
    run = start(airflow, "wait_at_once", folder)
    wait_until(check=lambda: states(airflow, run).get("deferred", 0) >= 1, what="one deferred", seconds=60)
    deliver(folder)
    run.wait(seconds=240)
    assert states(airflow, run) == {"success": 101}


@pytest.mark.timeout(600)
def test_mapped_waits_each_take_their_own(airflow: LocalAirflow, landing: Path) -> None:
    """Two hundred mapped waits on two hundred folders each return their own delivery."""
    folders = [landing / "mapped" / str(number) for number in range(200)]
    begin, end = instants(DAY)
    run = airflow.api.start_run(
        dag_id="wait_mapped",
        conf={"uris": [f"{folder}/_delivery.json" for folder in folders], "start": begin, "end": end},
    )
    wait_until(check=lambda: states(airflow, run).get("deferred", 0) == 200, what="200 waits", seconds=200)
    for number, folder in enumerate(folders):
        deliver(folder, version=number + 1)
    run.wait(seconds=380)
    assert states(airflow, run) == {"success": 201}
    for index in (0, 99, 199):
        assert run.xcom(task_id="wait", map_index=index)["version"] == index + 1


@pytest.mark.timeout(400)
def test_hostile_markers_end_only_their_own_wait(airflow: LocalAirflow, landing: Path) -> None:
    """Hostile markers fail their own tasks; the triggerer and its other waits go on."""
    neighbour = start(airflow, "wait_one", landing / "neighbour")
    neighbour.wait_task(task_id="wait", states=["deferred"])
    documents = hostile_documents()
    folders = [landing / "hostile" / str(number) for number in range(len(documents))]
    begin, end = instants(DAY)
    run = airflow.api.start_run(
        dag_id="wait_mapped",
        conf={"uris": [f"{folder}/_delivery.json" for folder in folders], "start": begin, "end": end},
    )
    count = len(documents)
    wait_until(check=lambda: states(airflow, run).get("deferred", 0) == count, what="the waits", seconds=60)
    owners = set(airflow.database.trigger_owners()) - {None}
    for folder, document in zip(folders, documents, strict=True):
        drop(folder, document)
    run.wait(states=["failed"], seconds=120)
    assert states(airflow, run) == {"success": 1, "failed": count}
    for index in range(count):
        assert "unreadable" in run.log(task_id="wait", map_index=index)
    deliver(landing / "neighbour")
    neighbour.wait(seconds=60)
    assert set(airflow.database.trigger_owners()) - {None} <= owners
    assert all(airflow.process_tree(name=name) for name in airflow.components)
