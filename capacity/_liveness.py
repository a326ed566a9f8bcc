"""What the present state means, and as a document. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ._results import Verdict
from ._values import LiveState, LiveTrigger

__all__ = ["GRACE", "LiveVerdict", "judge_live", "live_document"]

GRACE = 30.0
"""Seconds that a new trigger may be without a triggerer: with room it is claimed within a few loops."""
_SKEW = 1.5
_FEW = 20


@dataclass(frozen=True)
class LiveVerdict:
    """What is to be said of the present state.

    :ivar reasons: sentences, the worst first.
    :ivar starving: how many triggers have been without a living triggerer for longer than the grace.
    """

    verdict: Verdict
    reasons: tuple[str, ...]
    starving: int


def judge_live(live: LiveState, *, grace: float = GRACE) -> LiveVerdict:
    """``DOES_NOT_HOLD`` when waits starve, ``WITHOUT_SPARE`` when the next loss would make them."""
    late = [one for one in live.starving if one.age > grace]
    # only the oldest ones are named: when all of these are late, so may be the others
    starving = live.starving_total if late and len(late) == len(live.starving) else len(late)
    found = list(_reasons(live, late, starving))
    verdict = max((verdict for verdict, _ in found), default=Verdict.HOLDS)
    ordered = sorted(found, key=lambda one: -one[0])
    return LiveVerdict(verdict, tuple(text for _, text in ordered), starving)


def _reasons(live: LiveState, late: list[LiveTrigger], starving: int) -> Iterator[tuple[Verdict, str]]:
    alive = [one for one in live.triggerers if one.alive]
    dead = [one for one in live.triggerers if not one.alive and one.triggers]
    if late:
        oldest = late[0]
        place = f", {oldest.partition}" if str(oldest.partition) != "no queue" else ""
        text = f"waits without a triggerer: {starving:,}, the oldest for {oldest.age:,.0f} s{place}"
        soon = [one for one in late if one.timeout_in is not None and one.timeout_in < 600]
        yield Verdict.DOES_NOT_HOLD, text + (f"; time out within 10 minutes: {len(soon)}" if soon else "")
    if not alive and live.triggers:
        yield Verdict.DOES_NOT_HOLD, f"no triggerer is alive; triggers: {live.triggers:,}"
    if dead:
        owned = sum(one.triggers for one in dead)
        yield Verdict.WITHOUT_SPARE, f"triggers that still belong to dead triggerers: {owned:,}"
    if len(alive) == 1:
        yield Verdict.WITHOUT_SPARE, "one triggerer only: nobody takes over when it dies"
    counts = [one.triggers for one in alive]
    if len(counts) > 1 and max(counts) > _FEW and max(counts) > _SKEW * sum(counts) / len(counts):
        text = (
            f"the fullest triggerer has {max(counts):,} of {sum(counts):,} triggers; Airflow never moves them"
        )
        yield Verdict.HOLDS, text


def live_document(live: LiveState, judged: LiveVerdict) -> dict[str, Any]:
    """Plain JSON, version 1: ``landmark_capacity_watch``."""
    return {
        "landmark_capacity_watch": 1,
        "taken_at": live.taken_at,
        "verdict": judged.verdict.name.lower(),
        "reasons": list(judged.reasons),
        "triggers": live.triggers,
        "starving": {
            "total": live.starving_total,
            "late": judged.starving,
            "oldest": [_trigger(one) for one in live.starving],
        },
        "triggerers": [
            {
                "job": one.job,
                "host": one.host,
                "alive": one.alive,
                "heartbeat_age": round(one.heartbeat_age, 3),
                "triggers": one.triggers,
                "team": one.team or None,
            }
            for one in live.triggerers
        ],
        "kinds": dict(live.kinds),
        "partitions": [
            {"queue": place.queue or None, "team": place.team or None, "triggers": count}
            for place, count in sorted(live.partitions.items())
        ],
        "pools": {name: dict(pool) for name, pool in live.pools.items()},
        "watchers": live.watchers,
        "callbacks": live.callbacks,
        "backfills": dict(live.backfills),
    }


def _trigger(one: LiveTrigger) -> dict[str, Any]:
    return {
        "trigger": one.trigger,
        "kind": one.kind,
        "name": one.name or None,
        "age": round(one.age, 3),
        "timeout_in": None if one.timeout_in is None else round(one.timeout_in, 3),
        "queue": one.partition.queue or None,
        "team": one.partition.team or None,
    }
