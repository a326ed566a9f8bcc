"""The time that a task has: one absolute deadline over all its tries."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from airflow.sdk.exceptions import (
    AirflowFailException,
    AirflowRescheduleException,
    AirflowSensorTimeout,
    AirflowSkipException,
    TaskDeferred,
)

from airflow_landmark.markers import format_instant, parse_instant
from airflow_landmark.sensors import DeliveryNotInTime, TryOutOfTime
from parcels import END, deliver
from sensing import MODES, StateStore, context_of, deferral_of, run_task, sensor_of

NOW = datetime(2024, 5, 2, 6, tzinfo=timezone.utc)


class Settable(datetime):
    """A clock that tests set."""

    at: datetime = NOW

    @classmethod
    def now(cls, tz: Any = None) -> datetime:
        """The instant that was set."""
        return cls.at


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> type[Settable]:
    """Let the sensors' clock stand still at six in the morning after the interval, until it is set."""
    monkeypatch.setattr(Settable, "at", NOW)
    for module in ("_budget", "_marker"):
        monkeypatch.setattr(f"airflow_landmark.sensors.{module}.datetime", Settable)
    return Settable


class FailingStore:
    """A task state store that is out of order."""

    def get(self, key: str) -> Any:
        """Fail."""
        raise ConnectionError("no store")

    def set(self, key: str, value: Any, *, retention: timedelta | None = None) -> None:
        """Fail."""
        raise ConnectionError("no store")


def deadline_of(sensor: Any, context: dict[str, Any]) -> datetime:
    """When the trigger ends the wait."""
    return parse_instant(deferral_of(sensor, context).trigger.serialize()[1]["deadline"])


def test_tries_share_the_timeout(tmp_path: Path, clock: type[Settable]) -> None:
    """What one try has waited is gone for the next: the deadline stays where it was."""
    store = StateStore()
    first = deadline_of(sensor_of(tmp_path, timeout=60), context_of(task_state_store=store))
    clock.at = NOW + timedelta(seconds=40)
    again = context_of(task_state_store=store, try_number=2, start_date=clock.at)
    deferral = deferral_of(sensor_of(tmp_path, timeout=60), again)
    assert first == parse_instant(deferral.trigger.serialize()[1]["deadline"]) == NOW + timedelta(seconds=60)
    assert deferral.timeout is not None
    assert timedelta(seconds=20) < deferral.timeout < timedelta(seconds=20 + 15 + 200)


@pytest.mark.parametrize("mode", ["deferrable", "reschedule"])
def test_no_wait_begins_after_the_timeout(mode: str, tmp_path: Path, clock: type[Settable]) -> None:
    """A try that starts after the task's deadline looks once and ends."""
    store = StateStore()
    with pytest.raises((AirflowRescheduleException, TaskDeferred)):
        sensor_of(tmp_path, mode, timeout=60).execute(context_of(task_state_store=store))
    clock.at = NOW + timedelta(seconds=61)
    with pytest.raises(DeliveryNotInTime, match="no such file"):
        sensor_of(tmp_path, mode, timeout=60).execute(context_of(task_state_store=store, try_number=2))


@pytest.mark.parametrize("mode", MODES)
def test_late_start_takes_what_lies_there(mode: str, tmp_path: Path, clock: type[Settable]) -> None:
    """The look comes before the deadline: a delivery that is there is taken, however late the run."""
    store = StateStore()
    store.set("landmark_first_look_2", format_instant(NOW - timedelta(days=30)))
    deliver(tmp_path)
    sensor = sensor_of(tmp_path, mode, timeout=60, deadline=1)
    assert sensor.execute(context_of(task_state_store=store))["version"] == 1


def test_clear_starts_anew(tmp_path: Path, clock: type[Settable]) -> None:
    """The store survives a clear, which raises max_tries: the budget is then a new one."""
    store = StateStore()
    deadline_of(sensor_of(tmp_path, timeout=60), context_of(task_state_store=store, max_tries=0))
    clock.at = NOW + timedelta(hours=1)
    cleared = context_of(task_state_store=store, try_number=2, max_tries=1)
    assert deadline_of(sensor_of(tmp_path, timeout=60), cleared) == clock.at + timedelta(seconds=60)


@pytest.mark.parametrize(
    "kept", [None, "yesterday", "2024-05-02", 7, [], {"at": 1}, "", "2024-05-02T00:00:00"]
)
def test_lost_memory_counts_from_now(kept: Any, tmp_path: Path, clock: type[Settable]) -> None:
    """An entry that is gone or makes no sense is as if this were the first look."""
    store = StateStore()
    if kept is not None:
        store["landmark_first_look_2"] = kept
    deadline = deadline_of(sensor_of(tmp_path, timeout=60), context_of(task_state_store=store))
    assert deadline == NOW + timedelta(seconds=60)
    assert store["landmark_first_look_2"] == format_instant(NOW)


@pytest.mark.parametrize("store", [FailingStore(), None])
@pytest.mark.parametrize("mode", ["deferrable", "reschedule"])
def test_wait_does_without_a_store(mode: str, store: Any, tmp_path: Path, clock: type[Settable]) -> None:
    """A store that fails or is missing costs the memory, not the wait."""
    sensor = sensor_of(tmp_path, mode, timeout=60, execution_timeout=timedelta(hours=1))
    context = context_of(task_state_store=store, start_date=NOW)
    if mode == "deferrable":
        assert deadline_of(sensor, context) == NOW + timedelta(seconds=60)
    else:
        with pytest.raises(AirflowRescheduleException):
            sensor.execute(context)


def test_context_without_a_store_is_enough(tmp_path: Path) -> None:
    """Where Airflow gives no store, as in tests, the wait goes on."""
    context = context_of()
    del context["task_state_store"]
    assert deferral_of(sensor_of(tmp_path), context).trigger


def test_memory_outlasts_the_wait(tmp_path: Path) -> None:
    """What is remembered is kept longer than the wait may last."""
    context = context_of()
    deferral_of(sensor_of(tmp_path, timeout=timedelta(days=60)), context)
    (kept_for,) = context["task_state_store"].kept_for.values()
    assert kept_for is not None
    assert timedelta(days=60) < kept_for < timedelta(days=90)


def test_deadline_counts_from_the_end_of_the_interval(tmp_path: Path, clock: type[Settable]) -> None:
    """A deadline is so long after the interval's end, whenever the run started."""
    sensor = sensor_of(tmp_path, timeout=timedelta(days=3), deadline=timedelta(hours=8))
    assert deadline_of(sensor, context_of()) == parse_instant(END) + timedelta(hours=8)


def test_earliest_bound_wins(tmp_path: Path, clock: type[Settable]) -> None:
    """Of timeout, deadline and execution_timeout the earliest ends the wait."""
    for seconds in ((100, 7 * 3600, 900), (9000, 6 * 3600 + 100, 900), (9000, 7 * 3600, 100)):
        timeout, deadline, execution = seconds
        sensor = sensor_of(
            tmp_path, timeout=timeout, deadline=deadline, execution_timeout=timedelta(seconds=execution)
        )
        left = deadline_of(sensor, context_of(start_date=NOW)) - NOW
        assert timedelta(seconds=98) <= left <= timedelta(seconds=100)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    ("bound", "raised"),
    [("timeout", DeliveryNotInTime), ("deadline", DeliveryNotInTime), ("execution_timeout", TryOutOfTime)],
)
def test_missed_deadline_names_what_set_it(mode: str, bound: str, raised: Any, tmp_path: Path) -> None:
    """The error says by which argument the wait ended, and what was seen last."""
    since = datetime.now(tz=timezone.utc) - parse_instant(END)
    change: dict[str, Any] = {
        "timeout": {"timeout": 0.2},
        "deadline": {"deadline": since + timedelta(seconds=0.2)},
        "execution_timeout": {"execution_timeout": timedelta(seconds=0.2)},
    }[bound]
    with pytest.raises(raised) as caught:
        run_task(mode, tmp_path, **change)
    assert f"(by {bound})" in str(caught.value)
    assert "no such file" in str(caught.value)
    assert "sales/orders" in str(caught.value)


def test_missed_deadline_is_not_retried() -> None:
    """Airflow never retries a sensor's timeout."""
    assert issubclass(DeliveryNotInTime, AirflowSensorTimeout)


def test_try_out_of_time_is_retried() -> None:
    """A try that ran into execution_timeout leaves the task's budget to the next one."""
    assert not issubclass(TryOutOfTime, (AirflowFailException, AirflowSensorTimeout, AirflowSkipException))


def test_execution_timeout_counts_from_the_first_start_of_a_try(
    tmp_path: Path, clock: type[Settable]
) -> None:
    """In reschedule mode too: the try's starts share one execution_timeout."""
    store = StateStore()
    bound = {"timeout": 9000, "execution_timeout": timedelta(seconds=100)}
    with pytest.raises(AirflowRescheduleException):
        sensor_of(tmp_path, "reschedule", **bound).execute(context_of(task_state_store=store))
    clock.at = NOW + timedelta(seconds=101)
    late = context_of(task_state_store=store, start_date=clock.at)
    with pytest.raises(TryOutOfTime):
        sensor_of(tmp_path, "reschedule", **bound).execute(late)
    retry = context_of(task_state_store=store, try_number=2, start_date=clock.at)
    with pytest.raises(AirflowRescheduleException):
        sensor_of(tmp_path, "reschedule", **bound).execute(retry)


def test_rescheduled_start_comes_at_the_deadline(tmp_path: Path, clock: type[Settable]) -> None:
    """A long pause between looks does not make a deadline late."""
    with pytest.raises(AirflowRescheduleException) as caught:
        sensor_of(tmp_path, "reschedule", poke_interval=3600, timeout=60).execute(context_of())
    assert caught.value.reschedule_date == NOW + timedelta(seconds=60)


def test_rescheduled_starts_are_spread(tmp_path: Path, clock: type[Settable]) -> None:
    """Tasks that looked together do not look together again, and none earlier than asked."""
    dates = set()
    for _ in range(20):
        with pytest.raises(AirflowRescheduleException) as caught:
            sensor_of(tmp_path, "reschedule", poke_interval=600, timeout=9000).execute(context_of())
        dates.add(caught.value.reschedule_date)
    assert len(dates) == 20
    assert NOW + timedelta(seconds=600) <= min(dates) < max(dates) <= NOW + timedelta(seconds=660)


def test_rescheduled_start_leaves_airflow_time_to_notice(tmp_path: Path, clock: type[Settable]) -> None:
    """The next start comes no sooner than first_event_delay, as no event does."""
    with pytest.raises(AirflowRescheduleException) as caught:
        sensor_of(tmp_path, "reschedule", first_event_delay=6).execute(context_of())
    assert caught.value.reschedule_date == NOW + timedelta(seconds=6)


def test_distant_bounds_do_not_overflow(tmp_path: Path) -> None:
    """Bounds beyond the calendar are bounds that are never reached."""
    sensor = sensor_of(tmp_path, timeout=timedelta.max, deadline=timedelta.max)
    assert deferral_of(sensor).timeout < timedelta(days=3651)  # type: ignore[operator]
