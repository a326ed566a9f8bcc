"""What the present state means."""

from __future__ import annotations

import json

from airflow_landmark.capacity import (
    LiveState,
    LiveTrigger,
    LiveTriggerer,
    Partition,
    Verdict,
    judge_live,
    live_document,
)


def _triggerer(job: int, triggers: int = 0, *, alive: bool = True) -> LiveTriggerer:
    return LiveTriggerer(job=job, host=f"h{job}", heartbeat_age=1.0, triggers=triggers, alive=alive)


def _trigger(age: float, *, timeout_in: float | None = None) -> LiveTrigger:
    return LiveTrigger(trigger=int(age), kind="a.B", age=age, name="d.t", timeout_in=timeout_in)


TWO = (_triggerer(1), _triggerer(2))


def test_all_is_well() -> None:
    """Two triggerers and nothing that starves; a trigger may be without one for a moment."""
    live = LiveState(taken_at=0.0, triggerers=TWO, triggers=1, starving=(_trigger(5.0),), starving_total=1)
    judged = judge_live(live)
    assert (judged.verdict, judged.reasons, judged.starving) == (Verdict.HOLDS, (), 0)


def test_starving_waits() -> None:
    """The oldest is named, and those that time out soon are counted."""
    starving = (_trigger(500.0, timeout_in=60.0), _trigger(400.0), _trigger(3.0))
    live = LiveState(taken_at=0.0, triggerers=TWO, triggers=3, starving=starving, starving_total=3)
    judged = judge_live(live)
    assert judged.verdict is Verdict.DOES_NOT_HOLD
    assert judged.reasons == (
        "waits without a triggerer: 2, the oldest for 500 s; time out within 10 minutes: 1",
    )


def test_only_the_oldest_are_named_all_are_counted() -> None:
    """When all named ones are late, the others may be late, too."""
    live = LiveState(
        taken_at=0.0, triggerers=TWO, triggers=900, starving=(_trigger(99.0),), starving_total=900
    )
    assert judge_live(live).starving == 900


def test_a_queue_without_triggerer_is_named() -> None:
    """Nobody may serve it at all."""
    lost = LiveTrigger(trigger=1, kind="a.B", age=90.0, partition=Partition("heavy"))
    live = LiveState(taken_at=0.0, triggerers=TWO, triggers=1, starving=(lost,), starving_total=1)
    assert "queue heavy" in judge_live(live).reasons[0]


def test_one_triggerer_only() -> None:
    """The next loss leaves all waits alone."""
    live = LiveState(taken_at=0.0, triggerers=(_triggerer(1),))
    assert judge_live(live).verdict is Verdict.WITHOUT_SPARE


def test_nobody_is_alive() -> None:
    """With waits it does not hold, without any there is nothing to hold."""
    assert judge_live(LiveState(taken_at=0.0, triggers=4)).verdict is Verdict.DOES_NOT_HOLD
    assert judge_live(LiveState(taken_at=0.0)).verdict is Verdict.HOLDS


def test_skew_is_said() -> None:
    """Airflow never moves triggers from a full triggerer to an empty one."""
    live = LiveState(taken_at=0.0, triggerers=(_triggerer(1, 500), _triggerer(2, 3)), triggers=503)
    judged = judge_live(live)
    assert judged.verdict is Verdict.HOLDS
    assert "never moves" in judged.reasons[0]


def test_triggers_of_the_dead() -> None:
    """They are taken over soon; until then the spare is in use."""
    live = LiveState(taken_at=0.0, triggerers=(*TWO, _triggerer(3, 7, alive=False)), triggers=7)
    judged = judge_live(live)
    assert judged.verdict is Verdict.WITHOUT_SPARE
    assert "belong to dead triggerers: 7" in judged.reasons[0]


def test_the_document_is_plain_json() -> None:
    """Versioned, with all that a monitor may want."""
    live = LiveState(
        taken_at=1.0,
        triggerers=TWO,
        triggers=1,
        kinds={"a.B": 1},
        partitions={Partition("q", "t"): 1},
        starving=(_trigger(99.0),),
        starving_total=1,
        pools={"p": {"slots": 1, "open": None}},
    )
    document = json.loads(json.dumps(live_document(live, judge_live(live))))
    assert document["landmark_capacity_watch"] == 1
    assert document["verdict"] == "does_not_hold"
    assert document["partitions"] == [{"queue": "q", "team": "t", "triggers": 1}]
    assert document["starving"]["oldest"][0]["name"] == "d.t"
