"""What the metadata database holds now: triggerers, triggers, waits that no triggerer has, pools."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from ._history import wait_name
from ._read_database import Database, Row, epoch
from ._values import LiveState, LiveTrigger, LiveTriggerer, Partition

__all__ = ["DEAD_AFTER", "NAMED", "NEEDED_LIVE", "live_kinds", "pool_usage", "read_live"]

DEAD_AFTER = 30.0
"""``[triggerer] triggerer_health_check_threshold``: a heartbeat that is older belongs to a dead triggerer."""
NAMED = 200
"""How many starving triggers are named; all are counted."""
_FORGOTTEN_SECONDS = 3_600.0

NEEDED_LIVE: dict[str, Sequence[str]] = {
    "job": ("id", "job_type", "state", "hostname", "latest_heartbeat", "end_date"),
    "trigger": ("id", "classpath", "created_date", "triggerer_id", "queue", "team_name"),
    "task_instance": ("trigger_id", "trigger_timeout", "pool", "pool_slots", "state"),
    "slot_pool": ("pool", "slots", "include_deferred"),
    "asset_watcher": ("trigger_id",),
    "callback": ("trigger_id",),
    "backfill": ("dag_id", "max_active_runs", "completed_at"),
}
_JOBS = """
    SELECT id, hostname, latest_heartbeat FROM job
    WHERE job_type = 'TriggererJob' AND state = 'running' AND end_date IS NULL
    ORDER BY latest_heartbeat DESC LIMIT 1000
"""
_TRIGGERS = """
    SELECT triggerer_id, classpath, queue, team_name, COUNT(*) FROM trigger
    GROUP BY triggerer_id, classpath, queue, team_name
"""
_STARVING = """
    SELECT t.id, t.classpath, t.created_date, t.queue, t.team_name, i.dag_id, i.task_id, i.trigger_timeout
    FROM trigger t LEFT JOIN task_instance i ON i.trigger_id = t.id
    WHERE t.triggerer_id IS NULL OR t.triggerer_id NOT IN :alive
    ORDER BY t.created_date, t.id LIMIT :named
"""
_SLOTS = """
    SELECT pool, state, SUM(pool_slots) FROM task_instance
    WHERE state IN ('running', 'queued', 'deferred') GROUP BY pool, state
"""
_BACKFILLS = "SELECT dag_id, max_active_runs FROM backfill WHERE completed_at IS NULL"


def read_live(database: Database, *, dead_after: float = DEAD_AFTER) -> LiveState:
    """The state now.

    :param dead_after: seconds after which a triggerer without a heartbeat counts as dead.
    :raises CannotTell: when the database refuses.
    """
    database.require(NEEDED_LIVE)
    now = database.now()
    groups = database.rows(_TRIGGERS)
    triggerers = _triggerers(database.rows(_JOBS), groups, now, dead_after)
    alive = tuple(one.job for one in triggerers if one.alive)
    return LiveState(
        taken_at=now,
        triggerers=triggerers,
        triggers=sum(row[4] for row in groups),
        kinds=_summed((row[1], row[4]) for row in groups),
        partitions=_summed((Partition(row[2] or "", row[3] or ""), row[4]) for row in groups),
        starving=tuple(_starving(row, now) for row in database.rows(_STARVING, alive=alive, named=NAMED)),
        starving_total=sum(row[4] for row in groups if row[0] not in alive),
        pools=_pools(database),
        watchers=_count(database, "SELECT COUNT(DISTINCT trigger_id) FROM asset_watcher"),
        callbacks=_count(database, "SELECT COUNT(*) FROM callback WHERE trigger_id IS NOT NULL"),
        backfills=_summed(
            (row[0], row[1])
            for row in database.rows(
                "SELECT dag_id, max_active_runs FROM backfill WHERE completed_at IS NULL"
            )
        ),
    )


def live_kinds(database: Database) -> dict[str, str]:
    """The class path of the trigger that each waiting task has now, by the name of its waits.

    :raises CannotTell: when the database refuses.
    """
    sql = (
        "SELECT i.dag_id, i.task_id, MAX(t.classpath) FROM trigger t "
        "JOIN task_instance i ON i.trigger_id = t.id GROUP BY i.dag_id, i.task_id"
    )
    return {wait_name(dag_id, task_id): kind for dag_id, task_id, kind in database.rows(sql)}


def pool_usage(*, slots: int, include_deferred: bool, used: dict[str, int]) -> dict[str, Any]:
    """A pool's line: deferred tasks count only when the pool says so; open slots may be negative.

    :param used: slots by state.
    """
    taken = used.get("running", 0) + used.get("queued", 0)
    taken += used.get("deferred", 0) if include_deferred else 0
    states = {state: used.get(state, 0) for state in ("running", "queued", "deferred")}
    opened = None if slots < 0 else slots - taken
    return {"slots": slots, "include_deferred": include_deferred, **states, "open": opened}


def _triggerers(
    jobs: list[Row], groups: list[Row], now: float, dead_after: float
) -> tuple[LiveTriggerer, ...]:
    """Living triggerers, and those dead ones that still have triggers or died within the hour."""
    owned = _summed((row[0], row[4]) for row in groups)
    teams = {row[0]: row[3] or "" for row in groups}
    found = []
    for job, host, heartbeat in jobs:
        age = now - (epoch(heartbeat) or 0.0)
        if age > _FORGOTTEN_SECONDS and not owned.get(job):
            continue
        found.append(
            LiveTriggerer(
                job=int(job),
                host=host or "",
                heartbeat_age=max(0.0, age),
                triggers=owned.get(job, 0),
                alive=age <= dead_after,
                team=teams.get(job, ""),
            )
        )
    return tuple(found)


def _starving(row: Row, now: float) -> LiveTrigger:
    trigger, kind, created, queue, team, dag_id, task_id, timeout = row
    ends = epoch(timeout)
    return LiveTrigger(
        trigger=int(trigger),
        kind=kind,
        age=max(0.0, now - (epoch(created) or now)),
        name=wait_name(dag_id, task_id) if dag_id else "",
        partition=Partition(queue or "", team or ""),
        timeout_in=None if ends is None else ends - now,
    )


def _pools(database: Database) -> dict[str, dict[str, Any]]:
    used: dict[str, dict[str, int]] = {}
    for pool, state, slots in database.rows(_SLOTS):
        used.setdefault(pool, {})[state] = int(slots or 0)
    rows = database.rows("SELECT pool, slots, include_deferred FROM slot_pool ORDER BY pool")
    return {
        name: pool_usage(slots=int(slots), include_deferred=bool(include), used=used.get(name, {}))
        for name, slots, include in rows
    }


def _summed(pairs: Any) -> dict[Any, int]:
    found: Counter[Any] = Counter()
    for key, count in pairs:
        found[key] += int(count)
    return dict(found)


def _count(database: Database, sql: str) -> int:
    return int(database.rows(sql)[0][0])
