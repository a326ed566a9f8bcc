"""soft_fail skips a missed deadline and nothing else, in every mode."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from airflow.sdk.exceptions import AirflowSkipException, TaskDeferralError

from airflow_landmark.sensors import (
    AccessRefused,
    DeliveryNotInTime,
    DeliveryRefused,
    TryOutOfTime,
    UnusableEvent,
    WaitMisconfigured,
)
from parcels import DAY_BEFORE, FILES, deliver, put
from sensing import MODES, context_of, deferral_of, fired, run_task, sensor_of

DAMAGED = {"a.csv": FILES["a.csv"], "b.csv": b"id\n2\n4\n"}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(("soft_fail", "raised"), [(True, AirflowSkipException), (False, DeliveryNotInTime)])
def test_missed_deadline_is_skipped(mode: str, soft_fail: bool, raised: Any, tmp_path: Path) -> None:
    """The deadline is the one end of a wait that soft_fail turns into a skip."""
    with pytest.raises(raised, match="no such file"):
        run_task(mode, tmp_path, timeout=0.2, soft_fail=soft_fail)


def damage(folder: Path) -> dict[str, Any]:
    """Files that are not what the marker says."""
    deliver(folder, written=DAMAGED)
    return {}


def half(folder: Path) -> dict[str, Any]:
    """A marker that is never finished."""
    put(folder / "_delivery.json", "{")
    return {"unreadable_looks": 2}


def other(folder: Path) -> dict[str, Any]:
    """A marker of another day, which is not to be waited out."""
    deliver(folder, interval=DAY_BEFORE)
    return {"on_mismatch": "fail"}


@pytest.mark.parametrize("soft_fail", [True, False])
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    ("what", "kind"), [(damage, "corrupt"), (half, "unreadable"), (other, "other interval")]
)
def test_bad_data_is_never_skipped(
    what: Callable[[Path], dict[str, Any]], kind: str, mode: str, soft_fail: bool, tmp_path: Path
) -> None:  # fmt: skip
    """Whatever soft_fail says, bad data fails the task, without a retry."""
    change = what(tmp_path)
    with pytest.raises(DeliveryRefused) as caught:
        run_task(mode, tmp_path, soft_fail=soft_fail, **change)
    assert caught.value.kind == kind
    assert caught.value.uri == f"{tmp_path}/_delivery.json"


@pytest.mark.parametrize("soft_fail", [True, False])
def test_bad_data_after_the_wait_is_never_skipped(soft_fail: bool, tmp_path: Path) -> None:
    """Damage that is found after the wait fails the task, too."""
    deferral = deferral_of(sensor_of(tmp_path, soft_fail=soft_fail))
    deliver(tmp_path, written=DAMAGED)
    event = fired(deferral)
    assert event["outcome"] == "arrived"
    with pytest.raises(DeliveryRefused) as caught:
        sensor_of(tmp_path, soft_fail=soft_fail).resume_execution("resume", {"event": event}, context_of())
    assert [problem.place for problem in caught.value.problems] == ["b.csv"]


@pytest.mark.parametrize("soft_fail", [True, False])
def test_broken_trigger_is_never_skipped(soft_fail: bool, tmp_path: Path) -> None:
    """A trigger that crashed proves nothing about the delivery: the task fails, and may be retried."""
    sensor = sensor_of(tmp_path, soft_fail=soft_fail)
    crash = {"error": "Trigger failure", "traceback": ["Traceback", "ValueError: no"]}
    with pytest.raises(TaskDeferralError, match="Trigger failure") as caught:
        sensor.resume_execution("__fail__", crash, context_of())
    assert type(caught.value) is TaskDeferralError


@pytest.mark.parametrize("soft_fail", [True, False])
@pytest.mark.parametrize("next_kwargs", [None, {}, {"event": {"landmark": 1}}])
def test_failure_without_a_reason_is_never_skipped(next_kwargs: Any, soft_fail: bool, tmp_path: Path) -> None:
    """A resume that says nothing but that it failed fails the task."""
    with pytest.raises(TaskDeferralError):
        sensor_of(tmp_path, soft_fail=soft_fail).resume_execution("__fail__", next_kwargs, context_of())


@pytest.mark.parametrize("soft_fail", [True, False])
@pytest.mark.parametrize("event", [None, {}, "text", {"landmark": 1, "outcome": "arrived"}])
def test_unusable_event_is_never_skipped(event: Any, soft_fail: bool, tmp_path: Path) -> None:
    """What is no event of a wait fails the task, even where the delivery lies there."""
    deliver(tmp_path)
    with pytest.raises(UnusableEvent):
        sensor_of(tmp_path, soft_fail=soft_fail).resume_execution("resume", {"event": event}, context_of())


@pytest.mark.parametrize(("soft_fail", "raised"), [(True, AirflowSkipException), (False, DeliveryNotInTime)])
def test_trigger_that_never_fired_is_a_missed_deadline(soft_fail: bool, raised: Any, tmp_path: Path) -> None:
    """Airflow's own timeout is the deadline's backstop, and points at the triggerer."""
    sensor = sensor_of(tmp_path, soft_fail=soft_fail)
    with pytest.raises(raised, match=r"triggerer.*capacity"):
        sensor.resume_execution("__fail__", {"error": "Trigger timeout"}, context_of())


@pytest.mark.parametrize(("soft_fail", "raised"), [(True, AirflowSkipException), (False, TryOutOfTime)])
def test_try_out_of_time(soft_fail: bool, raised: Any, tmp_path: Path) -> None:
    """execution_timeout ends a wait as a deadline does: skipped where asked, and else retried."""
    with pytest.raises(raised):
        run_task("poke", tmp_path, soft_fail=soft_fail, execution_timeout=timedelta(seconds=0.3))


@pytest.mark.parametrize("mode", MODES)
def test_wrong_place_is_never_skipped(mode: str, tmp_path: Path) -> None:
    """A path that the store refuses for good is somebody's to mend."""
    put(tmp_path / "blocked", "a file")
    with pytest.raises(AccessRefused, match="not a folder"):
        run_task(mode, tmp_path, uri=f"{tmp_path}/blocked/_delivery.json", soft_fail=True)


@pytest.mark.parametrize("mode", MODES)
def test_wrong_arguments_are_never_skipped(mode: str, tmp_path: Path) -> None:
    """A Dag that has to be changed fails."""
    with pytest.raises(WaitMisconfigured):
        run_task(mode, tmp_path, interval=None, soft_fail=True)
