"""When tasks that failed together count as coming back together."""

from __future__ import annotations

import random
from types import SimpleNamespace
from typing import Any, cast

import pytest

from airflow_landmark.sensors import LandmarkRetryPolicy
from airflow_landmark.testing import AttemptsWrong, Pipeline, Run
from airflow_landmark.testing._seven_errors import RUNS, _check_spread

SPREAD = [30.0 + 3 * number for number in range(RUNS)]


def look(delays: list[float | None]) -> None:
    """Check the delays of so many runs."""
    runs = [SimpleNamespace(run_id=f"run-{number}") for number in range(len(delays))]
    _check_spread(cast("Pipeline", SimpleNamespace(write_task="load")), delays, cast("list[Run]", runs))


@pytest.mark.parametrize(
    "delays",
    [
        [30.0, 30.0, 30.01],
        [30.0, 30.01, 30.02],
        [None, 30.0, None],
        [None, *SPREAD[1:]],
        [None] * RUNS,
        [30.0] * RUNS,
        [0.0] * RUNS,
        [30.0] * (RUNS - 1) + [60.0],
        [*SPREAD[:3], *(50.0 + number / 100 for number in range(7))],
        [30.0 + number * 0.3 for number in range(RUNS)],
    ],
    ids=str,
)
def test_delays_that_come_together(delays: list[float | None]) -> None:
    """A delay that no policy has set, and delays that are nearly the same, are refused, and told."""
    with pytest.raises(
        AttemptsWrong, match=f"do not come back together\nexpected: {len(delays)} retries"
    ) as caught:
        look(delays)
    told = ["none" if delay is None else f"{delay:.2f} s" for delay in delays]
    assert f"found: {', '.join(told)}\nwhere: load of run-0, run-1" in str(caught.value)


@pytest.mark.parametrize(
    "delays",
    [
        SPREAD,
        [*SPREAD[:4], *[50.0] * 6],
        [30.0 + number * 0.34 for number in range(RUNS)],
        [0.01 * (number + 1) for number in range(RUNS)],
    ],
    ids=str,
)
def test_delays_that_differ(delays: list[float | None]) -> None:
    """Delays that differ by more than a tenth pass, also where some of them are the same."""
    look(delays)


@pytest.mark.parametrize("failed", [1, 3, 20])
def test_ready_policy_passes(failed: int) -> None:
    """The delays of ``LandmarkRetryPolicy`` pass, the capped ones too, whatever the runs are called."""
    policy = LandmarkRetryPolicy()
    for group in range(1000):
        tasks = [SimpleNamespace(dag_id="orders", run_id=f"{group}-{run}") for run in range(RUNS)]
        look([policy.delay(failed, cast("Any", {"ti": task})) for task in tasks])


def test_whole_seconds_pass() -> None:
    """A policy that draws whole seconds passes, though some of ten delays are the same by chance."""
    drawn = random.Random(1)
    for _ in range(1000):
        look([float(drawn.randint(30, 60)) for _ in range(RUNS)])
