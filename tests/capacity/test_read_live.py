"""The present state from a metadata database."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

import pytest

from airflow_landmark.capacity import LiveState, Partition
from airflow_landmark.capacity._read_database import open_database
from airflow_landmark.capacity._read_live import live_kinds, read_live
from metadata import NOW, Metadata


def _live(metadata: Metadata) -> LiveState:
    with open_database(metadata.url) as database:
        return read_live(database)


def test_an_empty_installation(metadata: Metadata) -> None:
    """Nothing waits and nobody is there."""
    live = _live(metadata)
    assert (live.triggers, live.triggerers, live.starving_total) == (0, (), 0)
    assert live.pools["default_pool"]["open"] == live.pools["default_pool"]["slots"] > 0


def test_triggerers_by_the_age_of_their_heartbeat(metadata: Metadata) -> None:
    """A killed one keeps its state; one that ended in order, or died long ago with nothing, is not shown."""
    young = metadata.triggerer(heartbeat_age=2, host="young")
    old = metadata.triggerer(heartbeat_age=90, host="old")
    metadata.triggerer(heartbeat_age=90_000, host="forgotten")
    metadata.triggerer(heartbeat_age=1, host="ended", end=NOW)
    for owner in (young, young, old):
        metadata.trigger(owner=owner)
    live = _live(metadata)
    assert [(one.host, one.alive, one.triggers) for one in live.triggerers] == [
        ("young", True, 2),
        ("old", False, 1),
    ]
    assert live.triggerers[1].heartbeat_age == pytest.approx(90, abs=20)


def test_starving_waits(metadata: Metadata) -> None:
    """Without an owner, or with a dead one; the oldest first, with the task's deadline."""
    alive, dead = metadata.triggerer(heartbeat_age=1), metadata.triggerer(heartbeat_age=60)
    metadata.trigger(owner=alive, age=500)
    waiting = metadata.trigger(age=100, queue="q")
    orphaned = metadata.trigger(owner=dead, age=200)
    deadline = datetime.now(tz=timezone.utc) + timedelta(seconds=300)
    metadata.instance(state="deferred", trigger_id=waiting, trigger_timeout=deadline)
    live = _live(metadata)
    assert [one.trigger for one in live.starving] == [orphaned, waiting]
    assert live.starving_total == 2
    assert live.starving[1].name == "d.wait"
    assert live.starving[1].partition == Partition("q")
    assert live.starving[1].timeout_in == pytest.approx(300, abs=20)
    assert live.starving[0].timeout_in is None


def test_pools(metadata: Metadata) -> None:
    """Deferred tasks take slots only where the pool says so; too many make open slots negative."""
    metadata.row("slot_pool", **_pool("counts", slots=3, include=True))
    metadata.row("slot_pool", **_pool("endless", slots=-1, include=False))
    for number, (pool, state) in enumerate(
        [("counts", "deferred"), ("counts", "running"), ("default_pool", "deferred"), ("endless", "queued")]
    ):
        metadata.instance(task=f"t{number}", pool=pool, state=state, pool_slots=2)
    pools = _live(metadata).pools
    assert (pools["counts"]["deferred"], pools["counts"]["open"]) == (2, -1)
    assert pools["default_pool"]["deferred"] == 2
    assert pools["default_pool"]["open"] == pools["default_pool"]["slots"]
    assert pools["endless"]["open"] is None


def _pool(name: str, *, slots: int, include: bool) -> dict[str, object]:
    return {"pool": name, "slots": slots, "include_deferred": include}


def test_backfills_and_kinds(metadata: Metadata) -> None:
    """Active backfills with the runs they allow; the trigger that each waiting task has."""
    stamps = {"created_at": NOW, "updated_at": NOW, "from_date": NOW, "to_date": NOW}
    for number, done in ((5, None), (7, NOW)):
        metadata.row(
            "backfill",
            dag_id="d",
            max_active_runs=number,
            completed_at=done,
            dag_run_conf="{}",
            reprocess_behavior="none",
            **stamps,
        )
    trigger = metadata.trigger(classpath="a.B")
    metadata.instance(state="deferred", trigger_id=trigger)
    assert _live(metadata).backfills == {"d": 5}
    assert _live(metadata).kinds == {"a.B": 1}
    with open_database(metadata.url) as database:
        assert live_kinds(database) == {"d.wait": "a.B"}
