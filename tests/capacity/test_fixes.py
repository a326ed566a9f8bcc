"""Fixes: each comes with the number that a fresh check gives after the change was made by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest

from airflow_landmark.capacity import Cron, Estimate, Fix, Fixed, PartitionAnswer, Pool, Scenario
from sizing import (
    DAY,
    HOUR,
    HOURLY,
    MARKER,
    MIB,
    MINUTE,
    S3,
    WEEK,
    WORKFLOW,
    a_wait,
    only,
    seed_wait,
    sized,
    triggerers,
)


def _fix(part: PartitionAnswer, code: str) -> Fix:
    found = [fix for fix in part.fixes if fix.code == code]
    assert found, [fix.code for fix in part.fixes]
    return found[0]


def test_stagger() -> None:
    """A Dag that is moved away from the peak is worth what it says."""
    big = a_wait(name="big", dag="big", width=Estimate(600))
    small = a_wait(name="small", dag="small", width=Estimate(500))
    fix = _fix(only(sized([big, small], triggerers(2))), "stagger")
    assert "20 minutes later" in fix.text
    moved = only(sized([replace(big, offset=20 * MINUTE), small], triggerers(2)))
    assert (fix.peak, fix.needed) == (moved.usual.peak.likely.value, moved.usual.needed)
    assert fix.saves == 1


def test_spread_of_many_alike() -> None:
    """2,500 tasks of one schedule are spread over an hour, in twelve parts."""
    fix = _fix(only(sized([seed_wait()], triggerers(3))), "stagger")
    parts = [
        seed_wait(name=str(part), width=Estimate(2500 / 12), offset=part * 5 * MINUTE) for part in range(12)
    ]
    spread = only(sized(parts, triggerers(3)))
    assert fix.peak == pytest.approx(spread.usual.peak.likely.value)
    assert fix.with_spare == spread.usual.with_spare == 3


def test_time_out() -> None:
    """With a late source the time-out is the cheapest lever."""
    wait = a_wait(arrivals=HOURLY, width=Estimate(100), duration=Fixed(5 * MINUTE), timeout=WEEK, source="s")
    late = Scenario(name="late", kind="late", sources=("s",), seconds=62 * HOUR)
    fix = _fix(only(sized([wait], triggerers(4), scenarios=(late,))), "timeout")
    assert "set timeout to 1 h on wait" in fix.text
    after = only(sized([replace(wait, timeout=HOUR)], triggerers(4), scenarios=(late,)))
    assert (fix.peak, fix.with_spare) == (after.worst.peak.likely.value, after.worst.with_spare)


def test_poll_interval() -> None:
    """Half as many checks load the supervisor half as much."""
    wait = a_wait(kind=WORKFLOW, poll_interval=5.0, width=Estimate(1000))
    fix = _fix(only(sized([wait], triggerers(2))), "poll")
    after = only(sized([replace(wait, poll_interval=10.0)], triggerers(2)))
    assert "every 10 s instead of every 5 s" in fix.text
    assert fix.with_spare == after.usual.with_spare == 4


def test_pool_with_deferred_tasks() -> None:
    """The rest waits for slots: the triggerers that are there hold what is let in."""
    wait = a_wait(dag="d", width=Estimate(1500))
    fix = _fix(only(sized([wait], triggerers(2))), "pool")
    pool = Pool(name="own", slots=833, include_deferred=True)
    after = only(sized([replace(wait, pool="own")], triggerers(2), pools={"own": pool}))
    assert "pool of 833 slots" in fix.text
    assert (fix.peak, fix.with_spare) == (after.usual.peak.likely.value, 2)


def test_shared_watch_and_memory() -> None:
    """On 1 GiB the waits of S3 need eight; sharing a client or doubling the memory makes it four."""
    part = only(sized([seed_wait(kind=S3)], triggerers(8, memory_bytes=1024 * MIB)))
    watch = only(sized([seed_wait(kind=MARKER)], triggerers(8, memory_bytes=1024 * MIB)))
    memory = only(sized([seed_wait(kind=S3)], triggerers(8, memory_bytes=2048 * MIB)))
    assert _fix(part, "watch").with_spare == watch.usual.with_spare == 4
    assert "2,048 MiB of memory instead of 1,024" in _fix(part, "memory").text
    assert _fix(part, "memory").with_spare == memory.usual.with_spare == 4


def test_open_files() -> None:
    """More descriptors, where they bind."""
    fix = _fix(only(sized([seed_wait()], triggerers(6, nofile=600))), "nofile")
    assert fix.with_spare == 4


def test_conversion_buys_worker_slots() -> None:
    """A sensor that reschedules would add a trigger: shown although it saves none."""
    old = a_wait(name="old", mode="reschedule", width=Estimate(40), arrivals=Cron("30 0 * * *"))
    part = only(sized([a_wait(), old], triggerers(2)))
    fix = _fix(part, "convert")
    after = only(sized([a_wait(), replace(old, mode="deferrable")], triggerers(2)))
    assert "40 tasks" in fix.text
    assert fix.peak == after.usual.peak.likely.value > part.usual.peak.likely.value


def test_one_more() -> None:
    """What is missing can be bought."""
    fix = _fix(only(sized([seed_wait()], triggerers(3))), "replicas")
    assert fix.text == "run 4 triggerers instead of 3"


def test_best_first_and_nothing_to_fix() -> None:
    """Fixes come by what they save; waits that fit need none."""
    part = only(sized([seed_wait(kind=S3)], triggerers(3, memory_bytes=1024 * MIB)))
    saved = [fix.saves for fix in part.fixes]
    assert saved == sorted(saved, reverse=True)
    assert only(sized([a_wait(timeout=DAY)], triggerers(2))).fixes == ()
