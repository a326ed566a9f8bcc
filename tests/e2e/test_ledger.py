"""Ledgers on a real Airflow: what one run has taken, another run of the same day knows."""

from __future__ import annotations

import json
import urllib.request
from datetime import date, timedelta
from pathlib import Path

import pytest
from click.testing import CliRunner

from airflow_landmark.cli import main
from airflow_landmark.deliveries import SqlLedger
from airflow_landmark.markers import Interval
from airflow_landmark.testing import LocalAirflow, Run
from drops import DAY, conf, deliver, instants
from s3server import S3Server


@pytest.fixture(scope="module")
def ledger(landing: Path) -> SqlLedger:
    """Return the ledger of the Dags that keep theirs in a file."""
    ledger = SqlLedger(f"sqlite:///{landing}/ledger.db")
    ledger.create()
    return ledger


def start(airflow: LocalAirflow, dag_id: str, folder: Path, day: date) -> Run:
    """Start a run about a day."""
    return airflow.api.start_run(dag_id=dag_id, conf=conf(folder, day=day))


def states(run: Run) -> dict[str, str]:
    """State by task."""
    return {str(one["task_id"]): str(one["state"]) for one in run.tasks()}


def span(day: date) -> Interval:
    """The interval of a day."""
    return Interval.parse("/".join(instants(day)))


def loads(landing: Path, day: date) -> list[str]:
    """Which versions of a day were loaded, in order."""
    return (landing / f"loads_{day:%Y%m%d}").read_text().split()


ALL_DONE = {"wait": "success", "load": "success", "commit": "success"}


def test_second_run_of_a_day(airflow: LocalAirflow, landing: Path, ledger: SqlLedger) -> None:
    """The same bytes are accepted, skipped or refused; other bytes and older versions are never taken."""
    day, folder = DAY + timedelta(days=100), landing / "taken"
    first = start(airflow, "ledger_accept", folder, day)
    first.wait_task(task_id="wait", states=["deferred"])
    deliver(folder, day=day, version=2)
    first.wait()
    entry = ledger.entry("shop/orders", span(day))
    assert entry is not None
    assert entry.taken is not None
    assert (entry.taken.version, entry.claim) == (2, None)
    assert entry.taken.owner == f"ledger_accept/{first.run_id}/wait/-1"
    assert first.xcom(task_id="commit")["version"] == 2

    again = {name: start(airflow, f"ledger_{name}", folder, day) for name in ("accept", "skip", "fail")}
    again["accept"].wait()
    again["skip"].wait()
    again["fail"].wait(states=["failed"])
    assert states(again["accept"]) == ALL_DONE
    assert states(again["skip"]) == dict.fromkeys(ALL_DONE, "skipped")
    assert "already taken" in again["fail"].log(task_id="wait")
    assert loads(landing, day) == ["2", "2"]

    deliver(landing / "other bytes", day=day, version=2, text="id\n7\n")
    reused = start(airflow, "ledger_accept", landing / "other bytes", day)
    reused.wait(states=["failed"])
    assert "reused version" in reused.log(task_id="wait")
    deliver(landing / "older", day=day, version=1)
    stale = start(airflow, "ledger_impatient", landing / "older", day)
    stale.wait(states=["failed"])
    assert "version 2 or higher, the one taken before" in stale.log(task_id="wait")
    assert loads(landing, day) == ["2", "2"]


def test_delivery_that_another_run_holds(airflow: LocalAirflow, landing: Path, ledger: SqlLedger) -> None:
    """While one run holds a delivery, another fails its tries; once it is given back, a retry has it."""
    day, folder = DAY + timedelta(days=101), landing / "held"
    deliver(folder, day=day)
    first = start(airflow, "ledger_held", folder, day)
    first.wait()
    second = start(airflow, "ledger_held", folder, day)
    second.wait_task(task_id="wait", states=["up_for_retry"])
    assert f"claimed by ledger_held/{first.run_id}/wait/-1" in second.log(task_id="wait", try_number=1)
    entry = ledger.entry("shop/orders", span(day))
    assert entry is not None
    assert entry.claim is not None
    released = CliRunner().invoke(
        main,
        ["ledger", "release", "--ledger", f"sqlite:///{landing}/ledger.db", "--owner", entry.claim.owner,
         "--dataset", "shop/orders", "--interval", str(span(day))],
    )  # fmt: skip
    assert released.exit_code == 0, released.output
    second.wait()
    assert second.xcom(task_id="wait")["claim"] == {"owner": f"ledger_held/{second.run_id}/wait/-1"}


def test_killed_load_is_committed_once(airflow: LocalAirflow, landing: Path, ledger: SqlLedger) -> None:
    """A load that is killed after its write is retried, and the version is taken once."""
    day, folder = DAY + timedelta(days=102), landing / "killed load"
    deliver(folder, day=day, version=3)
    run = start(airflow, "ledger_dying", folder, day)
    run.wait()
    assert run.task(task_id="dies_once")["try_number"] == 2
    assert loads(landing, day) == ["3", "3"]
    words = [event.word for event in ledger.history("shop/orders", span(day))]
    assert words == ["claimed", "taken"]


def test_ledger_in_airflow(
    airflow: LocalAirflow, landing: Path, monkeypatch: pytest.MonkeyPatch
) -> None:  # fmt: skip
    """The asset's state remembers over runs, and the command reads it from outside with a token."""
    day, folder = DAY + timedelta(days=103), landing / "in airflow"
    deliver(folder, day=day, version=4)
    first = start(airflow, "ledger_in_airflow", folder, day)
    first.wait()
    second = start(airflow, "ledger_in_airflow", folder, day)
    second.wait()
    assert states(second) == dict.fromkeys(ALL_DONE, "skipped")
    with urllib.request.urlopen(f"{airflow.url}/auth/token", timeout=60) as answer:  # noqa: S310 - its own
        monkeypatch.setenv("LANDMARK_API_TOKEN", json.load(answer)["access_token"])
    place = f"airflow+{airflow.url}?asset=e2e_ledger"
    shown = CliRunner().invoke(main, ["ledger", "show", "--ledger", place, "--json"])
    assert shown.exit_code == 0, shown.output
    (entry,) = json.loads(shown.stdout)["entries"]
    assert (entry["taken"]["version"], entry["claim"]) == (4, None)
    assert entry["taken"]["owner"] == f"ledger_in_airflow/{first.run_id}/wait/-1"
    monkeypatch.setenv("LANDMARK_API_TOKEN", "wrong")
    refused = CliRunner().invoke(main, ["ledger", "show", "--ledger", place])
    assert refused.exit_code == 3


def test_ledger_in_a_bucket(airflow: LocalAirflow, landing: Path, s3_server: S3Server) -> None:
    """The bucket is reached by the connection, from the sensor and from a TaskFlow task."""
    day, folder = DAY + timedelta(days=104), landing / "in a bucket"
    s3_server.client.create_bucket(
        Bucket="e2e-ledger", CreateBucketConfiguration={"LocationConstraint": "eu-west-3"}
    )
    deliver(folder, day=day, version=5)
    first = start(airflow, "ledger_in_a_bucket", folder, day)
    first.wait()
    assert first.xcom(task_id="commit")["version"] == 5
    second = start(airflow, "ledger_in_a_bucket", folder, day)
    second.wait()
    assert states(second) == dict.fromkeys(ALL_DONE, "skipped")
