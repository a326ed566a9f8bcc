"""Ten thousand waits over five weeks: within reason, and the work grows no faster than the waits."""

from __future__ import annotations

import random
import resource
import sys
import time

import pytest
from sizing import DAY, MARKER, MONDAY, S3, a_wait, triggerers

from airflow_landmark.capacity import Cron, Inputs, Scenario, Wait, check, from_samples


def _many(count: int) -> list[Wait]:
    dice = random.Random(5)
    hours = ["*", "*/2", "0", "1", "6", *(str(hour) for hour in range(24))]
    crons = [
        Cron(f"{dice.randrange(60)} {dice.choice(hours)} * * {dice.choice(['*', '1-5'])}")
        for _ in range(count // 15)
    ]
    return [
        a_wait(
            name=f"w{number}",
            dag=f"d{number // 5}",
            kind=dice.choice([MARKER, S3]),
            arrivals=crons[number // 5 % len(crons)],
            duration=from_samples(
                [dice.lognormvariate(0, 1) * dice.choice([300, 1200, 3600]) for _ in range(60)]
            ),
            offset=dice.choice([0.0, 300.0, 912.0]),
            timeout=dice.choice([3600.0, 14_400.0, 604_800.0]),
            source=f"s{number % 200}",
        )
        for number in range(count)
    ]


def _cpu_seconds(count: int) -> float:
    scenarios = (Scenario(name="late", kind="late", sources=("s1", "s2"), seconds=DAY),)
    inputs = Inputs(waits=tuple(_many(count)), deployments=(triggerers(4),), scenarios=scenarios)
    begin = time.process_time()
    answer = check(inputs, begin=MONDAY, seconds=35 * DAY)
    assert answer.partitions[0].usual.peak.likely.value > 0
    return time.process_time() - begin


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_work_grows_with_the_waits() -> None:
    """1x, 2x and 4x of the waits take at most so much more CPU, with room for what a busy machine adds."""
    one, two, four = (_cpu_seconds(count) for count in (2500, 5000, 10_000))
    assert two < 2 * one * 1.5
    assert four < 4 * one * 1.5
    peak_bytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (
        1 if sys.platform == "darwin" else 1024
    )
    assert peak_bytes < 2**30
