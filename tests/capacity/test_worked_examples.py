"""The examples that the documentation works out by hand."""

from __future__ import annotations

import math

import pytest

from airflow_landmark.capacity import (
    Dag,
    Estimate,
    Fixed,
    Inputs,
    Scenario,
    Verdict,
    Wait,
    load_calibrations,
    upper_bound,
)
from airflow_landmark.capacity._curves import Grid
from airflow_landmark.capacity._sweep import Sweep
from sizing import (
    DAY,
    HOUR,
    HOURLY,
    MARKER,
    MIB,
    MINUTE,
    MONDAY,
    S3,
    WEEK,
    a_wait,
    only,
    seed_wait,
    sized,
    triggerers,
)

LATE_WEEKEND = Scenario(name="weekend", kind="late", sources=("partner",), seconds=62 * HOUR)
EVERYTHING = Scenario(name="everything", kind="all-late", seconds=math.inf)


def test_little_and_the_peak_differ_72_times() -> None:
    """2,500 daily waits of 20 minutes are 34.7 on average and 2,500 at midnight."""
    peak = only(sized([seed_wait()], triggerers(3), seconds=DAY)).usual.peak
    assert peak.mean.value == pytest.approx(34.72, abs=0.01)
    assert peak.expected.value == peak.likely.value == 2500
    assert peak.at == MONDAY


@pytest.mark.parametrize(("minutes", "mean", "likely"), [(10, 1516, 1573), (20, 920, 976), (60, 124, 150)])
def test_profile_after_midnight(minutes: int, mean: int, likely: int) -> None:
    """The profile decays as the survival function does, with the spread of independent waits."""
    wait = seed_wait()
    profile = Sweep(Inputs(waits=(wait,)), Grid.covering(begin=MONDAY, seconds=DAY)).profile([wait])
    index = int(minutes * MINUTE / profile.grid.step)
    assert round(profile.total.mean[index]) == pytest.approx(mean, abs=3)
    assert round(profile.total.likely(index)) == pytest.approx(likely, abs=3)


@pytest.mark.parametrize("headroom", [0.0, 0.2])
def test_three_and_with_one_lost_four(headroom: float) -> None:
    """2,500 waits at capacity 1,000 need three triggerers, with one lost four."""
    part = only(sized([seed_wait()], triggerers(3), headroom=headroom))
    assert (part.usual.needed, part.usual.with_spare) == (3, 4)
    assert part.verdict is Verdict.WITHOUT_SPARE


def test_a_quarter_of_headroom_needs_five() -> None:
    """With 25 % headroom it is one more."""
    assert only(sized([seed_wait()], triggerers(5), headroom=0.25)).usual.with_spare == 5


@pytest.mark.parametrize(
    ("memory", "fits", "binding", "with_spare"), [(1024, 459, "memory", 8), (2048, 1084, "capacity", 4)]
)
def test_memory_of_s3_waits(memory: int, fits: int, binding: str, with_spare: int) -> None:
    """On pods of 1 GiB the same waits of S3 need eight triggerers, on 2 GiB four."""
    part = only(sized([seed_wait(kind=S3)], triggerers(8, memory_bytes=memory * MIB)))
    (row,) = part.kinds
    assert row.fits["memory"].value == fits
    assert row.binding == part.usual.binding == binding
    assert part.usual.with_spare == with_spare


@pytest.mark.parametrize(("timeout", "piled"), [(4 * HOUR, 4), (12 * HOUR, 12), (WEEK, 16)])
def test_weekend_outage(timeout: float, piled: int) -> None:
    """An hourly wait of minutes is one at a time; a dead source makes it as many as the time-out lets."""
    wait = a_wait(arrivals=HOURLY, duration=Fixed(5 * MINUTE), timeout=timeout, dag="d", source="partner")
    part = only(sized([wait], triggerers(2), scenarios=(LATE_WEEKEND,), seconds=2 * WEEK))
    usual, late = part.scenarios[:2]
    assert (usual.peak.expected.value, late.peak.expected.value) == (1, piled)


def _hourly_dag(*, width: float = 1.0, limit: int | None = None) -> list[Wait]:
    """Five parallel tasks without a time-out, the first one mapped."""
    first = {"width": Estimate(width), "max_active_tis_per_dagrun": limit}
    return [
        a_wait(name=f"task {number}", arrivals=HOURLY, dag="d", timeout=None, **({} if number else first))
        for number in range(5)
    ]


@pytest.mark.parametrize(("width", "limit", "most"), [(1, None, 130), (100, None, 2704), (100, 10, 364)])
def test_bound_of_a_dag(width: int, limit: int | None, most: int) -> None:
    """(16 + 10) runs of 5 tasks are 130, with one mapped over 100 they are 2,704, capped to 10 a run 364."""
    dags = {"d": Dag(name="d", max_active_runs=16, backfill_runs=10)}
    part = only(
        sized(_hourly_dag(width=width, limit=limit), triggerers(4), dags=dags, scenarios=(EVERYTHING,))
    )
    assert part.scenarios[1].peak.expected.value == most


def test_upper_bound_of_one_task() -> None:
    """``m min(R, ceil(A T / P))``."""
    wait = a_wait(width=Estimate(3), timeout=10 * HOUR)
    assert upper_bound(wait, Dag(name="d"), period=HOUR) == 30
    assert upper_bound(wait, Dag(name="d", max_active_runs=4), period=HOUR) == 12


def test_chain_counts_once() -> None:
    """Tasks that follow each other never wait together: a chain of two counts one, not two."""
    first = a_wait(name="first", dag="d")
    second = a_wait(name="second", dag="d", after=("first",))
    assert only(sized([first, second], triggerers(2))).usual.peak.expected.value == 1


def test_times_of_the_seed_example() -> None:
    """2,500 on three triggerers: 17 s to claim them, 6 s of events, 30 s until a loss is noticed."""
    times = only(sized([seed_wait()], triggerers(3))).times
    start_cpu = load_calibrations().kind(MARKER).start_cpu
    assert times.start_lag == pytest.approx(2500 / 150 + 2500 / 3 * start_cpu)
    assert times.events == pytest.approx(2500 / 390, abs=0.01)
    assert times.gap == 30
    assert times.moved == pytest.approx(2500 / 3)


def test_fail_over_of_s3_waits() -> None:
    """833 S3 waits on three survivors: 30 s, 6 s to claim them, 16 s to start them."""
    part = only(sized([seed_wait(kind=S3)], triggerers(4, memory_bytes=2048 * MIB)))
    moved = 2500 / 4
    assert part.times.recovered == pytest.approx(30 + moved / 150 + moved / 3 * 0.057)
