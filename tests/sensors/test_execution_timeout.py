"""Verifying is bounded by what is left of the try, and says where the time went."""

from __future__ import annotations

import time
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import anyio
import pytest
from airflow.sdk.exceptions import AirflowFailException

from airflow_landmark.markers import parse_instant
from airflow_landmark.sensors import DeliveryUnavailable
from airflow_landmark.stores import LocalStore
from parcels import deliver
from sensing import context_of, deferral_of, fired, sensor_of


@pytest.fixture
def slow_digests(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every digest take long."""

    async def digest(_store: LocalStore, *_: Any, **__: Any) -> Any:
        await anyio.sleep(60)

    monkeypatch.setattr(LocalStore, "digest", digest)


def ago(seconds: float) -> datetime:
    """An instant that lies so far back."""
    return datetime.now(tz=timezone.utc) - timedelta(seconds=seconds)


@pytest.mark.usefixtures("slow_digests")
def test_resumed_try_has_no_fresh_time(tmp_path: Path) -> None:
    """Of 30 seconds 29 are gone at the resume: verifying ends by the try's end and names its file."""
    deferral = deferral_of(sensor_of(tmp_path))
    deliver(tmp_path, files={"only.csv": b"1"})
    event = fired(deferral)
    sensor = sensor_of(tmp_path, timeout=3600, execution_timeout=timedelta(seconds=30))
    began = time.monotonic()
    with pytest.raises(DeliveryUnavailable, match=r"verifying 0 of 1 files, at only\.csv") as caught:
        sensor.resume_execution("resume", {"event": event}, context_of(start_date=ago(29)))
    assert time.monotonic() - began < 3
    assert not isinstance(caught.value, AirflowFailException)


@pytest.mark.usefixtures("slow_digests")
@pytest.mark.parametrize("soft_fail", [True, False])
def test_first_start_is_bounded_too(soft_fail: bool, tmp_path: Path) -> None:
    """A delivery that lies there already is verified within the try's time, too."""
    deliver(tmp_path)
    sensor = sensor_of(tmp_path, execution_timeout=timedelta(seconds=1.5), soft_fail=soft_fail)
    with pytest.raises(DeliveryUnavailable, match="time ran out after"):
        sensor.execute(context_of())


def test_deferral_ends_before_the_try(tmp_path: Path) -> None:
    """The wait handed to the triggerer is not longer than what is left of the try."""
    sensor = sensor_of(tmp_path, timeout=3600, execution_timeout=timedelta(seconds=30))
    deferral = deferral_of(sensor, context_of(start_date=ago(10)))
    left = parse_instant(deferral.trigger.serialize()[1]["deadline"]) - datetime.now(tz=timezone.utc)
    assert timedelta(seconds=17) < left <= timedelta(seconds=20)


def test_missed_deadline_leaves_time_to_verify(tmp_path: Path) -> None:
    """The wait's deadline does not bound verifying: a marker seen in time is in time."""
    deferral = deferral_of(sensor_of(tmp_path))
    deliver(tmp_path)
    event = fired(deferral)
    context = context_of()
    context["task_state_store"].set("landmark_first_look_2", "2024-05-02T00:00:00Z")
    assert (
        sensor_of(tmp_path, timeout=1).resume_execution("resume", {"event": event}, context)["version"] == 1
    )


def test_instance_without_a_start_counts_from_now(tmp_path: Path) -> None:
    """Where Airflow gives no start of the try, it starts now."""
    sensor = sensor_of(tmp_path, timeout=3600, execution_timeout=timedelta(seconds=30))
    deferral = deferral_of(sensor, context_of(start_date=None))
    left = parse_instant(deferral.trigger.serialize()[1]["deadline"]) - datetime.now(tz=timezone.utc)
    assert timedelta(seconds=25) < left <= timedelta(seconds=30)
