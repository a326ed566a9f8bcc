"""What is handed to the triggerer, when anything is."""

from __future__ import annotations

import json
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from airflow.sdk import serde

from airflow_landmark.deliveries import Stamp
from airflow_landmark.markers import Interval, Taken, parse_instant
from airflow_landmark.sensors import Delivery, MarkerSensor
from airflow_landmark.triggers import MarkerTrigger
from parcels import DATASET, END, START, deliver
from sensing import MODES, context_of, deferral_of, fired, run_task, sensor_of


def now() -> datetime:
    """The present instant."""
    return datetime.now(tz=timezone.utc)


@pytest.mark.parametrize("mode", MODES)
def test_delivery_that_lies_there_needs_no_wait(mode: str, tmp_path: Path) -> None:
    """A delivery that is there is verified and returned by the first start, in every mode."""
    path = deliver(tmp_path, version=3)
    document = sensor_of(tmp_path, mode).execute(context_of())
    assert json.loads(json.dumps(document)) == document
    assert (document["landmark_delivery"], document["dataset"], document["version"]) == (1, DATASET, 3)
    assert document["interval"] == {"start": START, "end": END}
    assert document["marker"]["uri"] == str(path)
    assert document["verified"] == "digests"
    assert [f["path"] for f in document["files"]] == ["a.csv", "b.csv"]
    with Delivery.from_xcom(document).open("a.csv") as file:
        assert file.read() == b"id\n1\n"


def test_trigger_gets_every_argument(tmp_path: Path) -> None:
    """The trigger waits for exactly what the sensor was told to wait for."""

    class Held:
        def taken(self, dataset: str, interval: Interval) -> Taken:
            return Taken(2, "ab" * 32)

        def claim(self, stamp: Stamp, owner: str) -> None:
            raise AssertionError("nothing has arrived")

    before = now()
    sensor = sensor_of(
        tmp_path, min_version=2, verify="rows", poke_interval=7, on_mismatch="fail", on_incomplete="fail",
        on_taken="skip", unreadable_looks=4, timeout=600, first_event_delay=6, ledger=Held(),
    )  # fmt: skip
    deferral = deferral_of(sensor)
    assert isinstance(deferral.trigger, MarkerTrigger)
    classpath, kwargs = deferral.trigger.serialize()
    deadline, not_before = (parse_instant(kwargs.pop(name)) for name in ("deadline", "not_before"))
    assert classpath == "airflow_landmark.triggers.MarkerTrigger"
    assert kwargs == {
        "uri": f"{tmp_path}/_delivery.json",
        "dataset": DATASET,
        "interval": f"{START}/{END}",
        "min_version": 2,
        "pattern": None,
        "verify": "rows",
        "poll_interval": 7.0,
        "on_mismatch": "fail",
        "on_incomplete": "fail",
        "on_taken": "skip",
        "taken": {"version": 2, "identity": "ab" * 32},
        "unreadable_looks": 4,
    }
    assert timedelta(seconds=599) < deadline - before < timedelta(seconds=605)
    assert timedelta(seconds=6) <= not_before - before < timedelta(seconds=10)
    assert deferral.method_name == "resume"


def test_pattern_is_handed_over(tmp_path: Path) -> None:
    """With a pattern the place is the folder."""
    deferral = deferral_of(sensor_of(tmp_path, uri=str(tmp_path), pattern="*.json"))
    kwargs = deferral.trigger.serialize()[1]
    assert (kwargs["uri"], kwargs["pattern"]) == (str(tmp_path), "*.json")


def test_what_is_handed_over_survives_airflow(tmp_path: Path) -> None:
    """Airflow's own serialization takes the trigger's arguments and gives them back unchanged."""
    kwargs = deferral_of(sensor_of(tmp_path)).trigger.serialize()[1]
    assert serde.deserialize(json.loads(json.dumps(serde.serialize(kwargs), allow_nan=False))) == kwargs


@pytest.mark.parametrize("timeout", [0.5, 60, timedelta(minutes=1), 1e10, None])
def test_deferral_has_a_finite_timeout(timeout: Any, tmp_path: Path) -> None:
    """Airflow's own timeout is finite, and later than deadline, delay and sweep together."""
    deferral = deferral_of(sensor_of(tmp_path, timeout=timeout, first_event_delay=6))
    assert isinstance(deferral.timeout, timedelta)
    deadline = parse_instant(deferral.trigger.serialize()[1]["deadline"])
    assert now() + deferral.timeout > deadline + timedelta(seconds=6 + 15)
    assert deferral.timeout < timedelta(days=3651)


def test_default_wait_is_bounded_too(tmp_path: Path) -> None:
    """A sensor with nothing but place, dataset and interval ends by Airflow's default for sensors."""
    sensor = MarkerSensor(task_id="wait", uri=f"{tmp_path}/", dataset=DATASET, interval=(START, END))
    deferral = deferral_of(sensor)
    assert isinstance(deferral.timeout, timedelta)
    assert timedelta(days=7) < deferral.timeout < timedelta(days=7, minutes=10)


def test_trailing_slash_stands_for_the_default_name(tmp_path: Path) -> None:
    """A folder's marker has the default name."""
    deliver(tmp_path)
    assert sensor_of(tmp_path, uri=f"{tmp_path}/").execute(context_of())["version"] == 1


@pytest.mark.parametrize("verify", ["marker", "files", "digests", "rows"])
@pytest.mark.parametrize("mode", ["deferrable"])
def test_absent_marker_always_defers(verify: str, mode: str, tmp_path: Path) -> None:
    """Whatever else is asked for, no worker is held while nothing lies there."""
    deferral = deferral_of(sensor_of(tmp_path, mode, verify=verify, outlets=[], soft_fail=True, retries=3))
    assert deferral.trigger.serialize()[1]["verify"] == verify


def test_one_deferral_serves_a_wait(tmp_path: Path) -> None:
    """Wrong markers are waited out by the trigger: the task defers once and resumes once."""
    deliver(tmp_path, version=1)
    deferral = deferral_of(sensor_of(tmp_path, min_version=2, timeout=0.3))
    event = fired(deferral)
    assert (event["outcome"], event["looks"]["last"].count("version 1")) == ("deadline", 1)


def test_result_is_the_same_deferred_or_not(tmp_path: Path) -> None:
    """A delivery that is resumed with has the same document as one that lay there."""
    (tmp_path / "one").mkdir()
    deferral = deferral_of(sensor_of(tmp_path / "one"))
    deliver(tmp_path / "one")
    resumed = sensor_of(tmp_path / "one").resume_execution("resume", {"event": fired(deferral)}, context_of())
    assert resumed == run_task("poke", tmp_path / "one")
