"""Waits on a real Airflow: what arrives, what is refused, and what the task says of it."""

from __future__ import annotations

import time
from datetime import timedelta
from pathlib import Path

import pytest

from airflow_landmark.testing import LocalAirflow, Run, RunEnded, wait_until
from drops import DAY, conf, deliver, drop


def start(airflow: LocalAirflow, dag_id: str, folder: Path) -> Run:
    """Start a run that waits for the folder's marker."""
    return airflow.api.start_run(dag_id=dag_id, conf=conf(folder))


def see(run: Run, text: str, *, task_id: str = "wait", seconds: float = 40) -> str:
    """The first line of the task's log with that text, once it is there."""

    def find() -> str:
        return next((line for line in run.log(task_id=task_id).splitlines() if text in line), "")

    return wait_until(check=find, what=f"{text!r} in the log", seconds=seconds, every=0.3)


def test_only_the_right_delivery_is_taken(airflow: LocalAirflow, landing: Path) -> None:
    """Another day's marker and half a marker keep the task waiting; the right delivery lets it go on."""
    folder = landing / "right"
    run = start(airflow, "wait_one", folder)
    run.wait_task(task_id="wait", states=["deferred"])
    see(run, "the folder does not exist")
    deliver(folder, day=DAY - timedelta(days=1), version=7)
    see(run, "other interval")
    drop(folder, (folder / "_delivery.json").read_bytes()[:40])
    see(run, "unreadable")
    assert run.task(task_id="wait")["state"] == "deferred"
    (folder / "_delivery.json").unlink()
    announced = deliver(folder, version=2)
    run.wait()
    document = run.xcom(task_id="wait")
    assert (document["version"], document["marker"]["sha256"]) == (2, announced.stamp.sha256)
    assert run.xcom(task_id="load")["texts"] == {"orders.csv": "id\n1\n2\n"}
    log = run.log(task_id="wait")
    assert "The wait looked" in log
    assert "other interval" in log
    assert run.task(task_id="wait")["try_number"] == 1
    events = airflow.api.call(method="GET", path="assets/events")["asset_events"]
    told = next(event["extra"] for event in events if event["source_run_id"] == run.run_id)
    assert (told["version"], told["marker_sha256"]) == (2, announced.stamp.sha256)


def test_what_lies_there_is_taken_without_a_wait(airflow: LocalAirflow, landing: Path) -> None:
    """A delivery that is there already needs no deferral."""
    folder = landing / "there"
    deliver(folder)
    run = start(airflow, "wait_one", folder)
    run.wait()
    assert "Pausing task as DEFERRED" not in run.log(task_id="wait")


def test_corrupt_file_fails_the_first_try(airflow: LocalAirflow, landing: Path) -> None:
    """A file that is not the announced one fails the task by its name, without a retry."""
    folder = landing / "corrupt"
    run = start(airflow, "wait_one", folder)
    run.wait_task(task_id="wait", states=["deferred"])
    deliver(folder / "elsewhere", text="id\n1\n2\n")
    marker = (folder / "elsewhere" / "_delivery.json").read_bytes()
    (folder / "orders.csv").write_text("id\n1\n9\n")
    drop(folder, marker)
    run.wait(states=["failed"])
    assert "corrupt: orders.csv" in run.log(task_id="wait")
    assert run.task(task_id="wait")["try_number"] == 1
    assert run.task(task_id="load")["state"] == "upstream_failed"


def test_soft_fail_does_not_skip_bad_data(airflow: LocalAirflow, landing: Path) -> None:
    """With soft_fail a corrupt delivery still fails the task."""
    folder = landing / "soft"
    deliver(folder)
    (folder / "orders.csv").write_text("id\n1\n9\n")
    run = start(airflow, "wait_soft", folder)
    run.wait(states=["failed"])
    assert run.task(task_id="wait")["state"] == "failed"


def test_deadline_fails_or_skips(airflow: LocalAirflow, landing: Path) -> None:
    """At the deadline the task fails without a retry, or is skipped with soft_fail, and says what it saw."""
    folder = landing / "late"
    deliver(folder, day=DAY - timedelta(days=1))
    run = start(airflow, "wait_late", folder)
    run.wait(states=["failed"], seconds=60)
    assert run.task(task_id="skips")["state"] == "skipped"
    failed = run.task(task_id="fails")
    assert (failed["state"], failed["try_number"]) == ("failed", 1)
    log = run.log(task_id="fails")
    assert "(by timeout); last seen" in log
    assert "other interval" in log


def test_tries_share_one_budget(airflow: LocalAirflow, landing: Path) -> None:
    """Each try ends by execution_timeout, all of them together by timeout: then there is no further try."""
    began = time.monotonic()
    run = start(airflow, "wait_tries", landing / "tries")
    run.wait(states=["failed"], seconds=120)
    took = time.monotonic() - began
    tries = run.task(task_id="wait")["try_number"]
    assert 2 <= tries <= 5
    assert "(by timeout)" in run.log(task_id="wait", try_number=tries)
    assert "(by execution_timeout)" in run.log(task_id="wait", try_number=1)
    assert took < 60


def test_reschedule_mode_takes_it_too(airflow: LocalAirflow, landing: Path) -> None:
    """Without the triggerer the same delivery is taken, in a later start of the task."""
    folder = landing / "rescheduled"
    run = start(airflow, "wait_rescheduled", folder)
    run.wait_task(task_id="wait", states=["up_for_reschedule"])
    deliver(folder, version=3)
    run.wait()
    assert run.xcom(task_id="wait")["version"] == 3


def test_missing_interval_fails_before_waiting(airflow: LocalAirflow, landing: Path) -> None:
    """An interval that does not render to two instants fails at once and says what was found."""
    run = airflow.api.start_run(
        dag_id="wait_soft", conf={"uri": str(landing / "x/"), "start": "2026-05-01", "end": "2026-05-02"}
    )
    with pytest.raises(RunEnded):
        run.wait()
    log = run.log(task_id="wait")
    assert "is not an RFC 3339 instant" in log
    assert "Pausing task as DEFERRED" not in log


def test_airflow_lists_the_provider(airflow: LocalAirflow) -> None:
    """`airflow providers list` shows the package."""
    assert "airflow-landmark" in airflow.command(arguments=["providers", "list"])
