"""Ten thousand waits over five weeks: within reason, and the work grows no faster than the waits."""

from __future__ import annotations

import random
import time
from pathlib import Path

import pytest

from airflow_landmark.capacity import Cron, Inputs, Scenario, Wait, check, from_samples
from peaks import measured
from sizing import DAY, MARKER, MONDAY, S3, a_wait, triggerers

SUPPORT = Path(__file__).parents[1] / "support"
IN_A_PROCESS = """
import runpy, sys
sys.path.insert(0, sys.argv[1])
print(runpy.run_path(sys.argv[2])["_cpu_seconds"](int(sys.argv[3])))
"""


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


def _measured(count: int) -> tuple[float, int]:
    """CPU seconds and bytes of a process that sizes so many waits and does nothing else."""
    done = measured(IN_A_PROCESS, str(SUPPORT), __file__, str(count))
    assert done.code == 0, done.errors
    return float(done.output), done.peak_bytes


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_work_grows_with_the_waits() -> None:
    """1x, 2x and 4x of the waits take at most so much more CPU, with room for what a busy machine adds."""
    (one, _), (two, _), (four, peak_bytes) = (_measured(count) for count in (2500, 5000, 10_000))
    assert two < 2 * one * 1.5
    assert four < 4 * one * 1.5
    assert peak_bytes < 2**30
