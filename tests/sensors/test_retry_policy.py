"""The retry policy: bad data fails at once, passing trouble is retried with a spread delay."""

from __future__ import annotations

import json
import math
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from airflow.sdk import RetryAction
from airflow.sdk.exceptions import AirflowException, AirflowTaskTimeout, TaskDeferralError
from hypothesis import given
from hypothesis import strategies as st

from airflow_landmark.sensors import (
    AccessRefused,
    DeliveryNotInTime,
    DeliveryRefused,
    DeliveryUnavailable,
    LandmarkRetryPolicy,
    TryOutOfTime,
    UnusableEvent,
    WaitMisconfigured,
)


def context_of(number: int = 0, **changes: Any) -> dict[str, Any]:
    """The context of one of many tasks."""
    ti = {"dag_id": "orders", "run_id": "scheduled", "task_id": "wait", "map_index": number}
    return {"ti": SimpleNamespace(**ti | changes)}


def delays(policy: LandmarkRetryPolicy, *, try_number: int, tasks: int = 200) -> list[float]:
    """What many tasks that failed together wait before they return."""
    decisions = [policy.evaluate(OSError(), try_number, 9, context_of(n)) for n in range(tasks)]
    return [d.retry_delay.total_seconds() for d in decisions if d.retry_delay is not None]


@pytest.mark.parametrize(
    "error",
    [
        DeliveryRefused("no", kind="corrupt", uri="/in"),
        AccessRefused("no"),
        WaitMisconfigured("no"),
        DeliveryNotInTime("no"),
        PermissionError("no"),
    ],
)
def test_what_lasts_fails(error: Exception) -> None:
    """What a retry cannot help is not retried."""
    decision = LandmarkRetryPolicy().evaluate(error, 1, 3, context_of())
    assert (decision.action, decision.retry_delay) == (RetryAction.FAIL, None)


@pytest.mark.parametrize(
    "error",
    [
        DeliveryUnavailable("no"),
        TryOutOfTime("no"),
        UnusableEvent("no"),
        TaskDeferralError("Trigger failure"),
        AirflowException("no"),
        AirflowTaskTimeout("no"),
        ConnectionError("no"),
        ValueError("no"),
    ],
)
def test_what_may_pass_is_retried(error: Any) -> None:
    """Everything else is retried, with a delay."""
    decision = LandmarkRetryPolicy().evaluate(error, 1, 3, context_of())
    if isinstance(error, Exception):
        assert decision.action is RetryAction.RETRY
        assert decision.retry_delay is not None
        assert decision.reason
    else:
        assert decision.action is RetryAction.DEFAULT


def test_delays_grow_to_the_longest() -> None:
    """The delay doubles with each try, up to the longest."""
    policy = LandmarkRetryPolicy(first=30, longest=600)
    for try_number, whole in ((1, 30), (2, 60), (3, 120), (5, 480), (6, 600), (50, 600), (5000, 600)):
        found = delays(policy, try_number=try_number)
        assert whole / 2 <= min(found) <= max(found) <= whole


@pytest.mark.parametrize("try_number", [1, 2, 6, 20])
def test_tasks_that_failed_together_return_apart(try_number: int) -> None:
    """Two hundred tasks share no delay, at the longest delay either."""
    found = sorted(delays(LandmarkRetryPolicy(), try_number=try_number))
    assert len(set(found)) == 200
    spread = found[-1] - found[0]
    assert spread > 0.45 * found[-1]
    quarters = [
        sum(found[0] + spread * n / 4 <= d <= found[0] + spread * (n + 1) / 4 for d in found)
        for n in range(4)
    ]
    assert min(quarters) > 20


def test_delay_is_the_same_whenever_asked() -> None:
    """Within a task and a try the delay does not change."""
    policy = LandmarkRetryPolicy()
    assert policy.delay(3, context_of()) == LandmarkRetryPolicy().delay(3, context_of())
    assert policy.delay(3, context_of()) / 120 != policy.delay(2, context_of()) / 60


@pytest.mark.parametrize("name", ["dag_id", "run_id", "task_id"])
def test_every_part_of_the_identity_counts(name: str) -> None:
    """Tasks of other Dags and runs wait differently, too."""
    policy = LandmarkRetryPolicy()
    assert policy.delay(1, context_of()) != policy.delay(1, context_of(**{name: "other"}))


def test_delay_without_a_context() -> None:
    """Where no context is given there is still a delay."""
    assert 15 <= LandmarkRetryPolicy().delay(1) <= 30
    assert LandmarkRetryPolicy().evaluate(OSError(), 1, 3).action is RetryAction.RETRY


@given(
    st.integers(-5, 10**9),
    st.floats(0.001, 1e6),
    st.floats(1, 30),
    st.text(st.characters(exclude_categories=())),
)
def test_any_delay_is_within_its_bounds(number: int, first: float, factor: float, run_id: str) -> None:
    """Whatever the try and the task's name, the delay is a duration of at most the longest."""
    policy = LandmarkRetryPolicy(first=first, longest=first * factor)
    decision = policy.evaluate(OSError(), number, 3, context_of(run_id=run_id))
    assert decision.retry_delay is not None
    assert timedelta() <= decision.retry_delay <= timedelta(seconds=first * factor + 1e-6)


def test_delays_may_be_timedeltas() -> None:
    """Seconds and timedeltas mean the same."""
    given_apart = LandmarkRetryPolicy(first=timedelta(minutes=1), longest=timedelta(hours=1))
    assert (given_apart.first, given_apart.longest) == (60.0, 3600.0)


@pytest.mark.parametrize(
    ("first", "longest"),
    [
        (0, 10), (-1, 10), (20, 10), (math.nan, 10), (1, math.nan), (math.inf, math.inf), (1, math.inf),
        (1, 1e12), (timedelta(), 10), ("x", 10),
    ],
)  # fmt: skip
def test_impossible_delays_are_refused(first: Any, longest: Any) -> None:
    """Delays that cannot be are refused when the Dag is parsed."""
    with pytest.raises(ValueError, match=r"\w"):
        LandmarkRetryPolicy(first=first, longest=longest)


def test_serializes_to_plain_json() -> None:
    """Airflow can show the policy."""
    plain = LandmarkRetryPolicy(first=5, longest=50).serialize()
    assert json.loads(json.dumps(plain, allow_nan=False)) == plain
    assert (plain["first"], plain["longest"]) == (5.0, 50.0)


def test_comes_back_from_what_it_serialized() -> None:
    """A policy made from what another one serialized decides alike."""
    policy = LandmarkRetryPolicy(first=5, longest=50)
    again = LandmarkRetryPolicy.deserialize(json.loads(json.dumps(policy.serialize())))
    assert again.serialize() == policy.serialize()
    assert again.delay(3, context_of()) == policy.delay(3, context_of())
