"""Past waits and the present state by the REST API, for who may not read the metadata database."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime, timedelta, timezone
from typing import Any

from ._errors import MissingRights
from ._pairing import EVENTS, AuditRow, Pairing, PastWait, TryKey, key_of
from ._read_history import CLEANED_SECONDS, WARM_UP_SECONDS, PastWaits
from ._read_live import DEAD_AFTER, NAMED, pool_usage
from ._read_rest import RestApi, instant, understood
from ._values import LiveState, LiveTrigger, LiveTriggerer, Partition

__all__ = ["read_live_api", "read_past_waits_api"]

Tell = Callable[[int, int], None]
_TELL_EVERY = 1_000


def read_past_waits_api(api: RestApi, *, since: datetime, tell: Tell | None = None) -> PastWaits:
    """The deferrals that were open at ``since`` or later, from the audit log.

    Tasks that start in the triggerer write no row ``deferred``; the API does not tell which they are, so
    their waits are missing here.

    :param tell: called with rows done and an estimate of all.
    :raises CannotTell: when the API does not answer or refuses.
    """
    with understood(api.place):
        return _Reader(api, since, tell).read()


class _Reader:
    """One pass over the audit log."""

    def __init__(self, api: RestApi, since: datetime, tell: Tell | None) -> None:
        self._api = api
        self._since = since
        self._tell = tell
        self._pairing = Pairing()
        self._rows = 0
        self._first: float | None = None

    def read(self) -> PastWaits:
        ended = [wait for wait in self._ended() if (wait.end or 0.0) >= self._since.timestamp()]
        rest, notes = _unfinished(self._api, list(self._pairing.rest()))
        if self._first is None or self._first > self._since.timestamp() + CLEANED_SECONDS:
            notes.append("the audit log does not reach back as far as asked; the time before tells nothing")
        return PastWaits(
            intervals=(*ended, *rest),
            bounded=0,
            run_starts=self._pairing.run_starts,
            tries=self._pairing.tries,
            rescheduled=self._pairing.rescheduled,
            begins=self._first,
            rows=self._rows,
            notes=tuple(notes),
        )

    def _ended(self) -> Iterator[PastWait]:
        query = {"after": self._since.isoformat(), "included_events": list(EVENTS)}
        total = int(self._api.get("eventLogs", limit=1, **query)["total_entries"])
        for row in _audit_rows(self._api, self._since - timedelta(seconds=WARM_UP_SECONDS)):
            self._rows += 1
            if self._first is None:
                self._first = row.at
            if self._tell is not None and self._rows % _TELL_EVERY == 0:
                self._tell(self._rows, max(total, self._rows))
            wait = self._pairing.feed(row)
            if wait is not None:
                yield wait


def read_live_api(api: RestApi, *, dead_after: float = DEAD_AFTER) -> LiveState:
    """The state now, as far as the API tells it: waits of tasks, not of callbacks.

    ``GET /jobs?is_alive=true`` filters after it has cut the page, so ages are computed here, by this
    machine's clock; and the list is asked for newest first.

    :raises CannotTell: when the API does not answer or refuses.
    """
    with understood(api.place):
        return _live(api, dead_after)


def _live(api: RestApi, dead_after: float) -> LiveState:
    now = datetime.now(tz=timezone.utc).timestamp()
    waits = {int(one["trigger"]["id"]): one for one in _deferred(api) if one.get("trigger")}
    owned = Counter(one["trigger"].get("triggerer_id") for one in waits.values())
    triggerers = _triggerers(api, owned, now, dead_after)
    alive = {one.job for one in triggerers if one.alive}
    starving = [one for one in waits.values() if one["trigger"].get("triggerer_id") not in alive]
    starving.sort(key=lambda one: str(one["trigger"]["created_date"]))
    return LiveState(
        taken_at=now,
        triggerers=triggerers,
        triggers=len(waits),
        kinds=Counter(str(one["trigger"]["classpath"]) for one in waits.values()),
        partitions=Counter(Partition(one["trigger"].get("queue") or "") for one in waits.values()),
        starving=tuple(_starving(one, now) for one in starving[:NAMED]),
        starving_total=len(starving),
        pools={str(one["name"]): _pool(one) for one in api.pages("pools", "pools")},
        watchers=_watchers(api),
    )


def _audit_rows(api: RestApi, since: datetime) -> Iterator[AuditRow]:
    for row in api.events(since=since, names=EVENTS):
        if row.get("dag_id") and row.get("task_id") and row.get("run_id"):
            yield AuditRow(_key(row), str(row["event"]), instant(row["when"]).timestamp())


def _key(row: Mapping[str, Any], run: str = "run_id") -> TryKey:
    return key_of(
        dag_id=str(row["dag_id"]),
        task_id=str(row["task_id"]),
        run_id=str(row[run]),
        map_index=row.get("map_index"),
        try_number=row.get("try_number"),
    )


def _unfinished(api: RestApi, rest: list[PastWait]) -> tuple[list[PastWait], list[str]]:
    """Of the deferrals without a later row those that still wait, and what became of the others in words."""
    if not rest:
        return [], []
    waiting = {_key(one, "dag_run_id") for one in _deferred(api)}
    open_ones = [one for one in rest if one.key in waiting]
    unseen = len(rest) - len(open_ones)
    notes = [f"{unseen:,} deferrals have no end in the audit log and were left out"] if unseen else []
    return open_ones, notes


def _deferred(api: RestApi) -> Iterator[Mapping[str, Any]]:
    return api.pages("dags/~/dagRuns/~/taskInstances", "task_instances", state="deferred")


def _triggerers(
    api: RestApi, owned: Mapping[Any, int], now: float, dead_after: float
) -> tuple[LiveTriggerer, ...]:
    """Living triggerers, and dead ones that still have waits: newest first, until the first long-dead one."""
    found = []
    query = {"job_type": "TriggererJob", "job_state": "running", "order_by": "-latest_heartbeat"}
    for job in api.get("jobs", limit=1_000, **query).get("jobs", ()):
        heartbeat = job.get("latest_heartbeat")
        age = now - instant(heartbeat).timestamp() if heartbeat else float("inf")
        dead = age > dead_after or job.get("end_date") is not None
        if dead and not owned.get(job["id"]):
            continue
        found.append(
            LiveTriggerer(
                job=int(job["id"]),
                host=str(job.get("hostname") or ""),
                heartbeat_age=max(0.0, age),
                triggers=owned.get(job["id"], 0),
                alive=not dead,
                capacity=None,
            )
        )
    return tuple(found)


def _starving(one: Mapping[str, Any], now: float) -> LiveTrigger:
    trigger = one["trigger"]
    return LiveTrigger(
        trigger=int(trigger["id"]),
        kind=str(trigger["classpath"]),
        age=max(0.0, now - instant(trigger["created_date"]).timestamp()),
        name=f"{one['dag_id']}.{one['task_id']}",
        partition=Partition(trigger.get("queue") or ""),
    )


def _pool(one: Mapping[str, Any]) -> dict[str, Any]:
    used = {state: int(one.get(f"{state}_slots") or 0) for state in ("running", "queued", "deferred")}
    return pool_usage(slots=int(one["slots"]), include_deferred=bool(one.get("include_deferred")), used=used)


def _watchers(api: RestApi) -> int:
    """Distinct triggers of watchers; 0 when the token may not read assets."""
    try:
        assets = list(api.pages("assets", "assets"))
    except MissingRights:
        return 0
    return len({watcher.get("trigger_id") for asset in assets for watcher in asset.get("watchers") or ()})
