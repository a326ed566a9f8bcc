"""What piles up when sources are late: runs, then the caps in their order."""

from __future__ import annotations

import math
from typing import Any

import pytest

from airflow_landmark.capacity import Always, Cron, Dag, Estimate, Inputs, Pool, Rate, Scenario, Wait
from airflow_landmark.capacity._curves import Grid
from airflow_landmark.capacity._scenarios import Pile, piled_up, sources_by_pile, text_of
from airflow_landmark.capacity._sweep import Sweep
from sizing import DAY, HOUR, HOURLY, MONDAY, WEEK, a_wait, modelled, triggerers


def _piled(*waits: Wait, late: float = DAY, **fields: Any) -> Pile:
    inputs = Inputs(waits=waits, **fields)
    sweep = Sweep(inputs, Grid.covering(begin=MONDAY, seconds=WEEK))
    return piled_up(waits, late=late, inputs=inputs, sweep=sweep)


def _hourly(**fields: Any) -> Wait:
    return a_wait(**{"arrivals": HOURLY, "dag": "d", "timeout": DAY, **fields})


@pytest.mark.parametrize(
    ("late", "piled"), [(60.0, 1), (HOUR, 1), (HOUR + 1, 2), (5 * HOUR, 5), (5.5 * HOUR, 6), (WEEK, 16)]
)
def test_runs_pile_up(late: float, piled: int) -> None:
    """One an hour, at least one, at most ``max_active_runs``."""
    assert _piled(_hourly(), late=late).total == piled


def test_densest_hours_count() -> None:
    """A schedule of working hours piles up by day what it does not by night."""
    wait = _hourly(arrivals=Cron("0 8-17 * * 1-5"), timeout=WEEK)
    assert _piled(wait, late=4 * HOUR).total == 4
    assert _piled(wait, late=40 * HOUR, dags={"d": Dag(name="d", max_active_runs=99)}).total == 20


def test_tasks_that_follow_each_other_do_not_add_up() -> None:
    """Of a chain of two, each run has one waiting; of two side by side, both."""
    first, second = _hourly(name="a"), _hourly(name="b", after=("a",))
    assert _piled(first, second, late=5 * HOUR).total == 5
    assert _piled(first, _hourly(name="b"), late=5 * HOUR).total == 10


def test_no_class_has_more_than_its_dag() -> None:
    """Under a cap that two kinds share, each may reach it, and together they do not pass it."""
    first, second = _hourly(name="a", kind="x.A"), _hourly(name="b", kind="x.B", after=("a",))
    pile = _piled(first, second, late=5 * HOUR)
    assert pile.total == 5
    assert sorted(pile.classes.values()) == [5, 5]


def test_retries_wait_again() -> None:
    """A sensor that times out is not retried; another operator waits once a try."""
    from airflow_landmark.capacity import Retry

    tries = {"timeout": 2 * HOUR, "retry": Retry(retries=3)}
    assert _piled(_hourly(**tries)).total == 2
    assert _piled(_hourly(**tries, sensor=False)).total == 8


@pytest.mark.parametrize(
    ("fields", "piled"),
    [
        ({"max_active_tis_per_dagrun": 3}, 30),
        ({"max_active_tis_per_dag": 7}, 7),
        ({"max_active_tis_per_dag": 7, "from_trigger": True}, 100),
    ],
)
def test_concurrency_limits(fields: dict[str, Any], piled: int) -> None:
    """Per run, then per Dag; neither for tasks that start in the triggerer."""
    assert _piled(_hourly(width=Estimate(10), **fields), late=10 * HOUR).total == piled


@pytest.mark.parametrize(("counted", "piled"), [(True, 4), (False, 20)])
def test_pools(counted: bool, piled: int) -> None:
    """Two Dags share a pool of eight slots, each task takes two: only ``include_deferred`` caps them."""
    waits = [_hourly(name=name, dag=name, pool="p", pool_slots=2) for name in "ab"]
    pools = {"p": Pool(name="p", slots=8, include_deferred=counted)}
    assert _piled(*waits, late=10 * HOUR, pools=pools).total == piled


def test_rates_and_permanent_waits() -> None:
    """A rate piles up as long as the source is late; what is always there is there once."""
    assert _piled(a_wait(arrivals=Rate(1 / 60), timeout=HOUR)).total == 60
    assert _piled(a_wait(arrivals=Rate(1 / 60), timeout=None), late=math.inf).total == 7 * 24 * 60
    assert _piled(a_wait(arrivals=Always(), width=Estimate(3)), late=math.inf).total == 3


def test_schedule_that_never_fires() -> None:
    """Nothing piles up."""
    assert _piled(a_wait(arrivals=Cron("0 0 30 2 *")), late=WEEK).total == 0


def test_worst_source_first() -> None:
    """By what piles up, not by how many waits there are; permanent waits have no source to be late."""
    waits = [
        a_wait(name="many", source="many", width=Estimate(5), timeout=DAY),
        _hourly(name="often", source="often"),
        a_wait(name="watchers", arrivals=Always(), width=Estimate(99)),
    ]
    inputs = Inputs(waits=tuple(waits))
    sweep = Sweep(inputs, Grid.covering(begin=MONDAY, seconds=WEEK))
    assert sources_by_pile(waits, late=DAY, inputs=inputs, sweep=sweep) == [("often", 16), ("many", 5)]


def test_backfill_runs_are_limited_like_others() -> None:
    """Fewer runs than may be at once, and the limit of the Dag."""
    wait = _hourly(width=Estimate(10), max_active_tis_per_dag=25)
    model = modelled([wait], triggerers(2), dags={"d": Dag(name="d")})

    def extra(**fields: Any) -> float:
        return model.load(Scenario(name="b", kind="backfill", dag="d", **fields)).pile.total

    assert extra(runs=2, at_once=6) == 20
    assert extra(runs=90, at_once=6) == 25
    assert model.load(Scenario(name="b", kind="backfill", dag="other", runs=9)).pile.total == 0


@pytest.mark.parametrize(
    ("scenario", "text"),
    [
        (Scenario(name="s", kind="late", sources=("a", "b"), seconds=5400), "a, b late by 1.5 h"),
        (Scenario(name="s", kind="late", sources=tuple("abcd"), seconds=90), "a, b, c, ... late by 1.5 min"),
        (Scenario(name="s", kind="all-late", seconds=30), "every source late by 30 s"),
        (Scenario(name="s", kind="all-late", seconds=math.inf), "every source late until its waits time out"),
        (
            Scenario(name="s", kind="backfill", dag="d", runs=90, at_once=6),
            "backfill of d: 90 runs, 6 at once",
        ),
        (Scenario(name="s", kind="lost", count=2), "2 triggerers lost"),
        (Scenario(name="s", kind="rolling"), "rolling restart: one triggerer at a time is gone"),
    ],
)
def test_scenarios_in_words(scenario: Scenario, text: str) -> None:
    """What may happen, in one line."""
    assert text_of(scenario) == text
