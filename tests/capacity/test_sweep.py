"""The profile against counting waits one by one."""

from __future__ import annotations

import math
import random
from datetime import datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from airflow_landmark.capacity import (
    Always,
    Cron,
    Dag,
    Estimate,
    Every,
    Exponential,
    Fixed,
    Inputs,
    Listed,
    Pool,
    Rate,
    Uniform,
    Wait,
)
from airflow_landmark.capacity._curves import Curve, Grid, Profile, highest_load
from airflow_landmark.capacity._sweep import Sweep
from sizing import DAILY, DAY, HOUR, HOURLY, MINUTE, MONDAY, WEEK, a_wait, at_once


def _profile(*waits: Wait, seconds: float = DAY, coarseness: int = 1, **fields: object) -> Profile:
    inputs = Inputs(waits=waits, **fields)  # type: ignore[arg-type]
    return Sweep(inputs, Grid.covering(begin=MONDAY, seconds=seconds), coarseness=coarseness).profile(waits)


FIXED = st.builds(
    lambda number, every, anchor, lasts, offset, width: a_wait(
        name=f"w{number}",
        arrivals=Every(every, MONDAY + anchor),
        duration=Fixed(lasts),
        offset=offset,
        width=Estimate(float(width)),
    ),
    st.integers(0, 9),
    st.integers(200, 5000),
    st.integers(0, 4000),
    st.integers(1, 6000),
    st.integers(0, 900),
    st.integers(1, 5),
)


@given(waits=st.lists(FIXED, min_size=1, max_size=4, unique_by=lambda wait: wait.name))
@settings(max_examples=15)
def test_fixed_waits_are_counted_exactly(waits: list[Wait]) -> None:
    """On a grid of whole seconds the profile is the number of waits that are there, at every second."""
    dags = {wait.name: Dag(name=wait.name, max_active_runs=100) for wait in waits}
    profile = _profile(*waits, seconds=HOUR, dags=dags)
    expected = [0.0] * profile.grid.cells
    for wait in waits:
        fires = wait.arrivals.fires(begin=MONDAY - 3 * HOUR, end=MONDAY + HOUR)  # type: ignore[union-attr]
        for start in (at + wait.offset for at in fires):
            for second in range(profile.grid.cells):
                expected[second] += wait.width.value * (0 <= MONDAY + second - start < wait.duration.longest)
    assert list(profile.total.mean) == pytest.approx(expected)
    assert profile.mean == pytest.approx(sum(expected) / len(expected))


@given(
    starts=st.lists(st.floats(0, 7000), min_size=1, max_size=30),
    lasts=st.floats(1, 4000),
)
@settings(max_examples=50)
def test_starts_within_a_step_are_never_missed(starts: list[float], lasts: float) -> None:
    """Whatever the fraction of the second, no step is below what is there in it."""
    ordered = sorted(MONDAY + one for one in starts)
    profile = _profile(a_wait(arrivals=Listed(tuple(ordered)), duration=Fixed(lasts)), seconds=2 * HOUR)
    edges = [*ordered, *(one + lasts for one in ordered)]
    for at in (one for one in edges if one < profile.grid.end):
        index = int(at - profile.grid.begin)
        assert profile.total.mean[index] >= at_once(ordered, [lasts] * len(ordered), at) - 1e-6


def test_profile_is_what_a_simulation_averages() -> None:
    """A thousand nights of thirty Dags, drawn with a fixed seed: mean and 99th percentile of every moment."""
    dice = random.Random(11)
    waits = [
        a_wait(
            name=f"w{number}",
            arrivals=Every(DAY, MONDAY + dice.randrange(0, 7200, 60)),
            duration=dice.choice([Exponential(1800.0), Uniform(0.0, 5400.0)]),
            width=Estimate(float(dice.randrange(5, 40))),
            timeout=4 * HOUR,
        )
        for number in range(30)
    ]
    profile = _profile(*waits)
    moments = [MONDAY + minute * MINUTE for minute in (30, 60, 90, 120, 180)]
    nights = [_night(waits, dice, moments) for _ in range(1000)]
    for number, moment in enumerate(moments):
        counts = sorted(night[number] for night in nights)
        index = int((moment - MONDAY) / profile.grid.step)
        assert profile.total.mean[index] == pytest.approx(sum(counts) / len(counts), rel=0.01, abs=1)
        assert profile.total.likely(index) == pytest.approx(counts[989], rel=0.03, abs=2)


def _night(waits: list[Wait], dice: random.Random, moments: list[float]) -> list[int]:
    counts = [0] * len(moments)
    for wait in waits:
        (start,) = wait.arrivals.fires(begin=MONDAY, end=MONDAY + DAY)  # type: ignore[union-attr]
        for _ in range(int(wait.width.value)):
            lasts = (
                dice.expovariate(1 / 1800)
                if isinstance(wait.duration, Exponential)
                else dice.uniform(0, 5400)
            )
            for number, moment in enumerate(moments):
                counts[number] += start <= moment < start + min(lasts, wait.timeout or lasts)
    return counts


def test_waits_that_began_before_count() -> None:
    """A wait of a day and a half leaves yesterday's at the begin."""
    profile = _profile(a_wait(duration=Fixed(1.5 * DAY)), seconds=2 * DAY)
    assert profile.total.mean[0] == 2
    assert profile.total.mean[int(13 * HOUR / profile.grid.step)] == 1
    assert profile.mean == pytest.approx(1.5)


@pytest.mark.parametrize(("day", "most"), [((2026, 3, 29), 2), ((2026, 10, 25), 3)])
def test_days_of_a_clock_change(day: tuple[int, int, int], most: int) -> None:
    """Two hours before the change of October lie three hours before 03:00, in March one."""
    zone = "Europe/Berlin"
    begin = datetime(*day, tzinfo=ZoneInfo(zone)).timestamp()
    wait = a_wait(arrivals=Cron("0 1,3 * * *", zone), duration=Fixed(2.5 * HOUR), width=Estimate(1))
    sweep = Sweep(Inputs(waits=(wait,)), Grid.covering(begin=begin, seconds=DAY))
    gap = 1 if most == 2 else 3
    first, second = wait.arrivals.fires(begin=begin, end=begin + DAY)  # type: ignore[union-attr]
    assert (second - first) == gap * HOUR
    assert sweep.profile([wait]).total.highest() == (2 if gap * HOUR < 2.5 * HOUR else 1)


def test_rate_has_the_mean_of_littles_law() -> None:
    """240 an hour for 6 minutes on average are 24, at any time, with the variance of a Poisson number."""
    profile = _profile(a_wait(arrivals=Rate(240 / HOUR), duration=Exponential(6 * MINUTE)))
    assert profile.mean == pytest.approx(24)
    assert profile.total.highest() == pytest.approx(24)
    assert profile.total.variance[0] == pytest.approx(24)


def test_permanent_waits_are_always_there() -> None:
    """Triggers of asset watchers."""
    profile = _profile(a_wait(arrivals=Always(), width=Estimate(7)))
    assert (profile.mean, profile.total.highest(), profile.total.highest_likely()) == (7, 7, 7)


def test_runs_cap_what_never_ends() -> None:
    """A daily wait without an end is there as often as runs may be."""
    wait = a_wait(duration=Fixed(math.inf), dag="d", width=Estimate(3))
    profile = _profile(wait, seconds=WEEK, dags={"d": Dag(name="d", max_active_runs=2)})
    assert profile.total.highest() == 6


def test_pool_that_counts_deferred_tasks_caps() -> None:
    """Ten slots of two each let five wait; without include_deferred they all do."""
    wait = a_wait(width=Estimate(40), pool="p", pool_slots=2)
    pool = Pool(name="p", slots=10, include_deferred=True)
    assert _profile(wait, pools={"p": pool}).total.highest() == 5
    assert _profile(wait, pools={"p": Pool(name="p", slots=10)}).total.highest() == 40


def test_start_from_trigger_passes_pools_by() -> None:
    """No pool and no concurrency limit holds for tasks that start in the triggerer."""
    wait = a_wait(
        width=Estimate(40),
        pool="p",
        from_trigger=True,
        max_active_tis_per_dag=3,
        max_active_tis_per_dagrun=3,
        dag="d",
    )
    pools = {"p": Pool(name="p", slots=10, include_deferred=True)}
    assert _profile(wait, pools=pools).total.highest() == 40


@pytest.mark.parametrize(
    ("limits", "most"), [({"max_active_tis_per_dag": 3}, 3), ({"max_active_tis_per_dagrun": 5}, 5)]
)
def test_concurrency_limits_cap(limits: dict[str, int], most: int) -> None:
    """Both count deferred tasks."""
    wait = a_wait(width=Estimate(40), dag="d", **limits)
    profile = _profile(wait, dags={"d": Dag(name="d", max_active_runs=1)})
    assert profile.total.highest() == most


@pytest.mark.parametrize("coarseness", [1, 8])
def test_never_below_the_truth(coarseness: int) -> None:
    """Fast or exact, every step errs upwards only, and by little."""
    lasts = Exponential(2 * HOUR)
    hours = range(0, 24, 3)
    waits = [a_wait(name=str(hour), arrivals=Cron(f"7 {hour} * * *"), duration=lasts) for hour in hours]
    profile = _profile(*waits, seconds=WEEK, coarseness=coarseness)
    fires = [MONDAY + day * DAY + hour * HOUR + 7 * MINUTE for day in (-3, -2, -1, 0, 1) for hour in hours]
    for index in range(0, 8640, 7):
        at = MONDAY + index * profile.grid.step
        truth = sum(lasts.survival(at - fire) for fire in fires if fire <= at)
        assert truth - 1e-3 <= profile.total.mean[index] <= truth * 1.05 + 1e-3


def test_what_is_added_can_be_taken_away() -> None:
    """A profile without some of its waits is the profile of the others."""
    a, b = a_wait(name="a"), a_wait(name="b", arrivals=HOURLY, duration=Exponential(HOUR))
    left = _profile(a, b).minus(_profile(b))
    assert list(left.total.mean) == pytest.approx(list(_profile(a).total.mean), abs=1e-9)


@given(
    means=st.lists(st.floats(0, 100), min_size=1, max_size=300),
    seed=st.integers(0, 100),
    weights=st.lists(st.floats(0, 5), min_size=1, max_size=3),
)
def test_highest_load_is_the_highest(means: list[float], seed: int, weights: list[float]) -> None:
    """The search by blocks finds what looking everywhere finds."""
    from array import array

    dice = random.Random(seed)
    curves = []
    for _ in weights:
        mean = array("d", dice.sample(means, len(means)))
        variance = array("d", (dice.random() * one for one in mean))
        curves.append(Curve(mean, variance, array("d", (one * 2 for one in mean))))
    expected = 0.0
    for index in range(len(means)):
        mean = sum(weight * curve.mean[index] for curve, weight in zip(curves, weights, strict=True))
        spread = sum(weight**2 * curve.variance[index] for curve, weight in zip(curves, weights, strict=True))
        most = sum(weight * curve.most[index] for curve, weight in zip(curves, weights, strict=True))
        expected = max(expected, min(most, mean + 2.326 * math.sqrt(spread)))
    assert highest_load(list(zip(curves, weights, strict=True))) == pytest.approx(expected)


@pytest.mark.parametrize("seconds", [60, HOUR, DAY, WEEK, 5 * WEEK, 366 * DAY])
def test_grid_covers_the_horizon(seconds: float) -> None:
    """From the begin or just before it to the end, in few enough steps."""
    grid = Grid.covering(begin=MONDAY + 17, seconds=seconds)
    assert grid.begin <= MONDAY + 17
    assert grid.end >= MONDAY + 17 + seconds
    assert grid.cells <= 60_482


def test_daily_wait_is_there_at_its_time_only() -> None:
    """Twenty minutes from midnight."""
    profile = _profile(a_wait(arrivals=DAILY))
    there = sum(profile.total.mean) * profile.grid.step
    assert there == 20 * MINUTE
