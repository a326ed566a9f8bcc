"""What the past says of each task."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_landmark.capacity._history import TaskHistory, deferrals_of, histories
from airflow_landmark.capacity._pairing import PastWait, key_of

WEEK = 7 * 86_400.0


def _wait(start: float, end: float | None, *, run: str = "r", index: int = -1, attempt: int = 1) -> PastWait:
    key = key_of(dag_id="d", task_id="t", run_id=run, map_index=index, try_number=attempt)
    return PastWait(key, start, end)


def _only(waits: list[PastWait], **kwargs: object) -> TaskHistory:
    found = histories(waits, **{"run_starts": {}, "tries": {}, **kwargs})  # type: ignore[arg-type]
    assert list(found) == ["d.t"]
    return found["d.t"]


def test_deferrals_of_one_try_add_up() -> None:
    """A try that defers twice has waited for both together."""
    assert _only([_wait(0, 10), _wait(20, 50)]).samples == [40.0]


def test_tries_that_did_not_defer_count_as_nothing() -> None:
    """A sensor whose condition held at once makes the typical wait shorter."""
    past = _only([_wait(0, 100)], tries={("d", "t"): 4})
    assert sorted(past.samples) == [0, 0, 0, 100]
    assert past.duration.mean == pytest.approx(25, rel=0.4)
    assert past.duration.origin == "measured"


def test_open_waits_tell_no_duration() -> None:
    """A wait that lasts still is no sample, but its run counts."""
    past = _only([_wait(0, None)])
    assert past.samples == []
    assert past.runs == [0]


def test_offset_is_the_usual_one_of_first_tries() -> None:
    """A retry's late deferral does not move the offset."""
    starts = {("d", "r1"): 0.0, ("d", "r2"): 1_000.0, ("d", "r3"): 2_000.0}
    waits = [_wait(30, 40, run="r1"), _wait(1_040, 1_050, run="r2"), _wait(2_050, 2_060, run="r3")]
    past = _only([*waits, _wait(9_000, 9_001, run="r3", attempt=2)], run_starts=starts)
    assert past.offset == 40


def test_width_is_the_widest_run() -> None:
    """Map indices count from 0."""
    waits = [_wait(0, 1, run="r1", index=index) for index in range(3)]
    assert _only([*waits, _wait(0, 1, run="r2", index=6)]).width == 7


def test_reschedule_sensors_are_known_as_such() -> None:
    """What was rescheduled and never deferred may be converted."""
    past = _only([], rescheduled={("d", "t"): [60.0, 120.0]})
    assert past.rescheduled
    assert past.samples == [60, 120]


@given(
    st.lists(st.floats(0, 5 * WEEK, allow_nan=False), min_size=1, max_size=30),
    st.floats(-3 * WEEK, 20 * WEEK, allow_nan=False),
)
def test_replayed_runs_keep_their_place_in_the_week(runs: list[float], begin: float) -> None:
    """Moved by whole weeks, all within the horizon, each run of the last weeks once a cycle."""
    past = TaskHistory(dag_id="d", task_id="t", runs=sorted(set(runs)))
    found = past.replayed(begin=begin, end=begin + 5 * WEEK)
    assert list(found) == sorted(found)
    assert all(begin - 1e-3 <= one < begin + 5 * WEEK for one in found)
    places = [run % WEEK for run in past.runs]
    for one in found:
        apart = [abs((one % WEEK) - place) for place in places]
        assert min(min(distance, WEEK - distance) for distance in apart) < 1e-3  # a week is a circle
    cycle = max(1, (past.runs[-1] - past.runs[0]) // WEEK)
    kept = sum(run > past.runs[-1] - cycle * WEEK for run in past.runs)
    assert len(found) == pytest.approx(kept * 5 / cycle, abs=kept)


def test_no_runs_no_replay() -> None:
    """Nothing is made up."""
    assert TaskHistory(dag_id="d", task_id="t").replayed(begin=0, end=WEEK) == ()


def test_deferrals_get_their_names() -> None:
    """The pure part knows tasks by the names of their waits."""
    (found,) = deferrals_of([_wait(1, 2)], {})
    assert (found.name, found.start, found.end) == ("d.t", 1, 2)
