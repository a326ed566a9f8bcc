"""Plan files: what is read from them."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from airflow_landmark.capacity import (
    Always,
    Cron,
    Dag,
    Every,
    Exponential,
    Fixed,
    Inputs,
    LogNormal,
    Platform,
    Quantiles,
    Rate,
    Retry,
    Uniform,
    bound,
    read_plan,
    seconds_of,
)

EXAMPLE = Path(__file__).parents[2] / "examples/capacity/plan.toml"
TABLES = [
    "[platform]",
    *(f"[[{name}]]" for name in ("deployment", "dag", "wait", "pool", "scenario", "task")),
]


@pytest.fixture
def plan(tmp_path: Path) -> Path:
    """Return where a plan is written."""
    return tmp_path / "plan.toml"


def _read(plan: Path, text: str) -> Inputs:
    plan.write_text(f"version = 1\n{text}")
    return read_plan(plan).inputs


def _wait(fields: str) -> str:
    return f'[[wait]]\nname = "w"\n{fields}\n'


def test_the_example() -> None:
    """It is a plan, and says what its comments say."""
    found = read_plan(EXAMPLE)
    waits = {wait.name: wait for wait in found.inputs.waits}
    assert len(waits) == 9
    assert waits["ledger.regions"].after == ("ledger.bookings", "ledger.rates")
    assert waits["ledger.bookings"].arrivals == Cron("30 5 * * 1-5", "Europe/Berlin")
    assert {task.name for task in found.tasks} == {
        "load_facts",
        "query_region",
        "rebuild_mart",
        "check_row_counts",
    }


def test_fields_of_a_wait(plan: Path) -> None:
    """Every field arrives where it belongs."""
    text = """
        [[wait]]
        name = "w"
        kind = "S3KeyTrigger"
        count = 3
        width = 4
        dag = "d"
        schedule = "0 6 * * *"
        timezone = "Europe/Berlin"
        duration = "20m"
        origin = "measured"
        timeout = "4h"
        poll_interval = 30
        offset = "1m 30s"
        source = "s3://bucket"
        pool = "p"
        pool_slots = 2
        queue = "q"
        team = "t"
        mode = "reschedule"
        start_from_trigger = true
        sensor = false
        retries = 2
        retry_delay = "1m"
        max_retry_delay = "10m"
        retry_exponential_backoff = true
        max_active_tis_per_dag = 5
        max_active_tis_per_dagrun = 6
    """
    (wait,) = _read(plan, text).waits
    assert wait.kind == "airflow.providers.amazon.aws.triggers.s3.S3KeyTrigger"
    assert (wait.width.value, wait.dag, wait.offset, wait.timeout, wait.poll_interval) == (
        12,
        "d",
        90,
        14_400,
        30,
    )
    assert wait.arrivals == Cron("0 6 * * *", "Europe/Berlin")
    assert wait.duration == Fixed(1200, "measured")
    assert (wait.source, wait.pool, wait.pool_slots, wait.queue, wait.team) == (
        "s3://bucket",
        "p",
        2,
        "q",
        "t",
    )
    assert (wait.mode, wait.from_trigger, wait.sensor) == ("reschedule", True, False)
    assert wait.retry == Retry(retries=2, delay=60, longest=600, exponential=True)
    assert (wait.max_active_tis_per_dag, wait.max_active_tis_per_dagrun) == (5, 6)


@pytest.mark.parametrize(
    ("text", "arrivals"),
    [
        ('schedule = "@hourly"', Cron("@hourly")),
        ('every = "90s"', Every(90)),
        ("per_minute = 2", Rate(2 / 60)),
        ("per_hour = 240", Rate(240 / 3600)),
        ("per_day = 10", Rate(10 / 86_400)),
        ("always = true", Always()),
    ],
)
def test_when_waits_start(plan: Path, text: str, arrivals: object) -> None:
    """At a schedule, at equal steps, at a rate, always."""
    assert _read(plan, _wait(text)).waits[0].arrivals == arrivals


@pytest.mark.parametrize(
    ("text", "duration"),
    [
        ("duration = 90.5", Fixed(90.5)),
        ('duration = { fixed = "2m" }', Fixed(120)),
        ('duration = { uniform = ["0m", "90m"] }', Uniform(0, 5400)),
        ('duration = { exponential = "20m" }', Exponential(1200)),
        ('duration = { bound = "4h" }', bound(14_400)),
        ("duration = { quantiles = { p50 = 60, p100 = 600 } }", Quantiles(((0, 0), (0.5, 60), (1, 600)))),
        (
            "timeout = 900\nduration = { quantiles = { p0 = 5, p90 = 60 } }",
            Quantiles(((0, 5), (0.9, 60), (1, 900))),
        ),
        ("timeout = 600", bound(600)),
        ("", bound(None)),
    ],
)
def test_how_long_waits_last(plan: Path, text: str, duration: object) -> None:
    """A time, a distribution, quantiles, a bound; without any, the time-out."""
    assert _read(plan, _wait(f"always = true\n{text}")).waits[0].duration == duration


def test_median_and_a_high_quantile(plan: Path) -> None:
    """They make a log-normal distribution."""
    (wait,) = _read(plan, _wait('always = true\nduration = { median = "8m", p95 = "35m" }')).waits
    assert isinstance(wait.duration, LogNormal)
    assert wait.duration.survival(480) == pytest.approx(0.5)
    assert wait.duration.survival(2100) == pytest.approx(0.05, abs=1e-3)


def test_unlimited_width_is_a_bound(plan: Path) -> None:
    """Mapped over a result of any length: as many as Airflow allows."""
    (wait,) = _read(plan, _wait('always = true\nwidth = "unlimited"')).waits
    assert (wait.width.value, wait.width.origin) == (1024, "bounded")


def test_waits_take_the_schedule_of_their_dag(plan: Path) -> None:
    """And its team."""
    text = '[[dag]]\nname = "d"\nevery = 600\nteam = "t"\nmax_active_runs = 4\nbackfill_runs = 2\n'
    found = _read(plan, text + _wait('dag = "d"'))
    assert (found.waits[0].arrivals, found.waits[0].team) == (Every(600), "t")
    assert found.dags == {"d": Dag(name="d", max_active_runs=4, backfill_runs=2)}


def test_platform_and_deployment(plan: Path) -> None:
    """What stands around the triggerers, and they themselves."""
    text = """
        [platform]
        worker_slots = 64
        resume_seconds = 3
        headroom = 0.5
        [[deployment]]
        name = "t"
        replicas = 3
        capacity = 500
        queues = ["a", "b"]
        team = "x"
        cpu = 0.5
        memory_mib = 1536
        nofile = 1024
        spare = 2
        heartbeat = 4
        dead_after = 40
        select_per_loop = 20
    """
    found = _read(plan, text)
    assert found.platform == Platform(worker_slots=64, resume_seconds=3, headroom=0.5)
    (one,) = found.deployments
    assert (one.replicas, one.capacity, one.queues, one.team, one.cpu) == (3, 500, ("a", "b"), "x", 0.5)
    assert (one.memory_bytes, one.nofile, one.spare) == (1536 * 1024**2, 1024, 2)
    assert (one.heartbeat, one.dead_after, one.select_per_loop) == (4, 40, 20)


def test_scenarios(plan: Path) -> None:
    """Late sources, everything late, a backfill over a range, losses."""
    text = """
        [[dag]]
        name = "d"
        schedule = "@daily"
        [[wait]]
        name = "w"
        dag = "d"
        source = "s"
        [[scenario]]
        name = "late"
        sources = "s"
        by = "62h"
        [[scenario]]
        name = "all"
        kind = "all-late"
        [[scenario]]
        name = "backfill"
        kind = "backfill"
        dag = "d"
        from = 2026-01-01
        to = 2026-03-31
        max_active_runs = 6
        [[scenario]]
        name = "lost"
        kind = "lost"
        triggerers = 2
        [[scenario]]
        name = "rolling"
        kind = "rolling"
    """
    late, everything, backfill, lost, rolling = _read(plan, text).scenarios
    assert (late.kind, late.sources, late.seconds) == ("late", ("s",), 62 * 3600)
    assert (everything.kind, everything.seconds) == ("all-late", math.inf)
    assert (backfill.runs, backfill.at_once) == (90, 6)
    assert (lost.kind, lost.count, rolling.kind) == ("lost", 2, "rolling")


def test_tasks_that_are_alike(plan: Path) -> None:
    """``count`` of them are so many mapped ones."""
    plan.write_text(
        'version = 1\n[[task]]\nname = "t"\ncount = 3\nslots = 2\nstate = "running"\npriority = 7\n'
    )
    tasks = read_plan(plan).tasks
    assert [(task.map_index, task.slots, task.state, task.priority) for task in tasks] == [
        (index, 2, "running", 7) for index in range(3)
    ]


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        (0, 0.0),
        (1.5, 1.5),
        ("90s", 90.0),
        ("20m", 1200.0),
        ("20min", 1200.0),
        ("1d 12h", 129_600.0),
        ("5w", 3_024_000.0),
        ("1.5h", 5400.0),
        ("", None),
        ("h", None),
        ("4 hours", None),
        ("-5m", None),
        (-1, None),
        (True, None),
        (math.inf, None),
        (math.nan, None),
        ("9" * 70 + "s", None),
        ("99999w", None),
        (None, None),
        ([], None),
    ],
)
def test_durations(value: object, seconds: float | None) -> None:
    """Numbers are seconds; texts are numbers with units; all else is neither."""
    assert seconds_of(value) == seconds
