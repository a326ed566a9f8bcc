"""Admission into pools: the published scenarios."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_landmark.capacity import Admission, Pool, PoolTask, admit

EIGHT = Pool(name="p", slots=8)


def _task(name: str, slots: int, **fields: Any) -> PoolTask:
    return PoolTask(name=name, slots=slots, pool="p", **fields)


EXTRACTS = [_task(f"extract_{number}", 2) for number in (1, 2, 3, 4)]
CHECKS = [_task(f"check_{number}", 1) for number in (1, 2, 3)]
RUNNING = [_task(f"extract_{number}", 2, state="running") for number in (1, 2, 3)]
DEFERRED = [_task(f"extract_{number}", 2, state="deferred") for number in (1, 2, 3, 4)]
HEAVY = _task("heavy", 2, priority=100)


def _let_in(found: Admission) -> list[str]:
    return sorted(task.name for task in found.admitted)


def test_a_small_tasks_fill_what_big_ones_leave() -> None:
    """Three extracts take six slots, two checks the rest; the third check waits."""
    found = admit([EIGHT], [*EXTRACTS[:3], *CHECKS])
    assert _let_in(found) == ["check_1", "check_2", "extract_1", "extract_2", "extract_3"]
    assert [one.task.name for one in found.refused] == ["check_3"]
    assert found.open_after["p"] == 0


def test_b_four_extracts_fill_the_pool() -> None:
    """All checks wait."""
    found = admit([EIGHT], [*EXTRACTS, *CHECKS])
    assert _let_in(found) == ["extract_1", "extract_2", "extract_3", "extract_4"]
    assert (len(found.refused), found.open_after["p"]) == (3, 0)


def test_c_a_giant_is_never_let_in() -> None:
    """Nine slots of eight: never an error in Airflow, counted as starving, and named here."""
    found = admit([EIGHT], [_task("giant", 9)])
    (refused,) = found.refused
    assert not found.admitted
    assert refused.never
    assert "asks for 9 slots, pool p has 8" in refused.reason
    assert (found.starving["p"], found.open_after["p"]) == (1, 8)


def test_d_running_tasks_are_subtracted() -> None:
    """Two open slots go to the extract that comes first."""
    found = admit([EIGHT], [*RUNNING, EXTRACTS[3], *CHECKS])
    assert (_let_in(found), found.open_before["p"], found.open_after["p"]) == (["extract_4"], 2, 0)


@pytest.mark.parametrize(
    ("eligible", "let_in", "open_after"),
    [
        ([_task("check_1", 1, state="running"), HEAVY, CHECKS[1]], ["check_2"], 0),
        ([_task("check_2", 1, state="running"), HEAVY, CHECKS[2]], ["check_3"], 0),
        ([_task("check_3", 1, state="running"), HEAVY], [], 1),
        ([HEAVY], ["heavy"], 0),
    ],
)
def test_e_small_tasks_pass_a_big_one(eligible: list[PoolTask], let_in: list[str], open_after: int) -> None:
    """Nothing is held back for the task of the highest priority: it starves until no small one is left."""
    found = admit([EIGHT], [*RUNNING, *eligible])
    assert (_let_in(found), found.open_after["p"]) == (let_in, open_after)


@pytest.mark.parametrize(("counted", "let_in", "open_before"), [(False, ["check_1"], 8), (True, [], 0)])
def test_f_deferred_tasks_count_or_not(counted: bool, let_in: list[str], open_before: int) -> None:
    """By ``include_deferred``."""
    pool = Pool(name="p", slots=8, include_deferred=counted)
    found = admit([pool], [*DEFERRED, CHECKS[0]])
    assert (_let_in(found), found.open_before["p"]) == (let_in, open_before)


def test_order_is_priority_then_date_then_map_index() -> None:
    """And the order in which they stand, among equals."""
    tasks = [
        _task("late", 1, logical_date=2.0),
        _task("mapped", 1, logical_date=1.0, map_index=1),
        _task("early", 1, logical_date=1.0, map_index=0),
        _task("urgent", 1, priority=5, logical_date=9.0),
    ]
    found = admit([Pool(name="p", slots=3)], tasks)
    assert [task.name for task in found.admitted] == ["urgent", "early", "mapped"]


def test_pool_that_is_not_there() -> None:
    """Its tasks are never let in."""
    (refused,) = admit([EIGHT], [PoolTask(name="t", pool="q")]).refused
    assert refused.never
    assert "no pool q" in refused.reason


def test_pool_without_a_limit() -> None:
    """-1 slots are as many as it takes."""
    found = admit([Pool(name="p", slots=-1)], [_task(str(number), 50) for number in range(9)])
    assert len(found.admitted) == 9


TASKS = st.lists(
    st.builds(
        lambda name, slots, state, priority: _task(f"t{name}", slots, state=state, priority=priority),
        st.integers(0, 99),
        st.integers(1, 9),
        st.sampled_from(["scheduled", "scheduled", "running", "queued", "deferred"]),
        st.integers(1, 4),
    ),
    max_size=12,
    unique_by=lambda task: task.name,
)


@given(tasks=TASKS, slots=st.integers(0, 20), counted=st.booleans())
def test_never_more_than_there_is(tasks: list[PoolTask], slots: int, counted: bool) -> None:
    """Slots given are slots that were open, and every scheduled task is let in or refused."""
    found = admit([Pool(name="p", slots=slots, include_deferred=counted)], tasks)
    given_out = sum(task.slots for task in found.admitted)
    assert given_out == found.open_before["p"] - found.open_after["p"]
    assert given_out <= max(0.0, found.open_before["p"])
    scheduled = sum(task.state == "scheduled" for task in tasks)
    assert len(found.admitted) + len(found.refused) == scheduled
