"""Which runs a backfill makes, and what Airflow refuses: the rules by themselves."""

from __future__ import annotations

import pytest

from airflow_landmark.capacity._backfill_runs import (
    Asked,
    DagFacts,
    Fate,
    PastRun,
    Reprocess,
    RunSlot,
    planned,
    refusals,
)

DAY = 86_400.0
NOW = 100 * DAY
SOUND = DagFacts(schedule="@daily", periodic=True)
ASKED = Asked(dag_id="d", begin=0.0, to=10 * DAY)


@pytest.mark.parametrize(
    ("state", "reprocess", "fate"),
    [
        ("success", "none", "already exists"),
        ("success", "failed", "already exists"),
        ("success", "completed", "again"),
        ("failed", "none", "already exists"),
        ("failed", "failed", "again"),
        ("failed", "completed", "again"),
        *[
            (state, how, "in flight")
            for state in ("queued", "running")
            for how in ("none", "failed", "completed")
        ],
    ],
)
def test_what_becomes_of_a_date_with_a_run(state: str, reprocess: Reprocess, fate: Fate) -> None:
    """Running and queued runs are never doubled; the others by ``--reprocess``."""
    asked = Asked(dag_id="d", begin=0.0, to=DAY, reprocess=reprocess)
    (run,) = planned([RunSlot(0.0, DAY)], {0.0: PastRun("r", state)}, asked, partitioned=False, now=NOW)
    assert (run.fate, run.run_id) == (fate, "r")


def test_dates_without_a_run() -> None:
    """A run is made, unless the interval has not ended; an interval that ends now has not."""
    slots = [RunSlot(NOW - 2 * DAY, NOW - DAY), RunSlot(NOW - DAY, NOW), RunSlot(NOW, NOW + DAY)]
    found = planned(slots, {}, ASKED, partitioned=False, now=NOW)
    assert [run.fate for run in found] == ["new", "not ended", "not ended"]


def test_partitions_have_no_interval() -> None:
    """Airflow makes their runs whether or not they have ended."""
    (run,) = planned([RunSlot(NOW + DAY, None)], {}, ASKED, partitioned=True, now=NOW)
    assert run.fate == "new"


def test_backwards() -> None:
    """The latest date first."""
    asked = Asked(dag_id="d", begin=0.0, to=DAY, backwards=True)
    found = planned([RunSlot(0.0, DAY), RunSlot(DAY, 2 * DAY)], {}, asked, partitioned=False, now=NOW)
    assert [run.date for run in found] == [DAY, 0.0]


def test_a_sound_one_is_not_refused() -> None:
    """Nothing stands against it."""
    assert refusals(ASKED, SOUND, runs=3, now=NOW) == ()


@pytest.mark.parametrize(
    ("asked", "dag", "runs", "text"),
    [
        ({"begin": 11 * DAY}, {}, 3, "ends before it begins"),
        ({"begin": NOW + DAY, "to": NOW + 2 * DAY}, {}, 0, "lies in the future"),
        ({"backwards": True, "reprocess": "failed"}, {"depends_on_past": True}, 3, "cannot run backwards"),
        ({}, {"depends_on_past": True}, 3, "--reprocess must be failed or completed"),
        ({}, {"periodic": False}, 0, "no periodic schedule"),
        ({}, {"active": 1}, 3, "another backfill of d is active"),
        ({}, {"run_types": ("scheduled", "manual")}, 3, "does not allow backfill runs"),
        ({}, {}, 0, "no date in this range"),
    ],
)
def test_refusals(asked: dict[str, object], dag: dict[str, object], runs: int, text: str) -> None:
    """One reason each, in words that say what to change."""
    wanted = Asked(**{"dag_id": "d", "begin": 0.0, "to": 10 * DAY, **asked})  # type: ignore[arg-type]
    facts = DagFacts(**{"schedule": "@daily", "periodic": True, **dag})  # type: ignore[arg-type]
    (reason,) = refusals(wanted, facts, runs=runs, now=NOW)
    assert text in reason


def test_all_reasons_are_told_at_once() -> None:
    """Who mends one should not meet the next."""
    asked = Asked(dag_id="d", begin=0.0, to=DAY, backwards=True)
    facts = DagFacts(schedule="@daily", periodic=True, depends_on_past=True, active=2)
    assert len(refusals(asked, facts, runs=1, now=NOW)) == 3
