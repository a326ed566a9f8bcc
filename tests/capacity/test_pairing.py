"""Deferrals from audit rows."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from airflow_landmark.capacity._pairing import AuditRow, Pairing, PastWait, TryKey, key_of


def _key(number: int = 0) -> TryKey:
    return key_of(dag_id="d", task_id=f"t{number}", run_id="r", map_index=None, try_number=None)


def _fed(rows: list[tuple[int, str, float]], pairing: Pairing) -> list[PastWait]:
    found = [pairing.feed(AuditRow(_key(number), event, at)) for number, event, at in rows]
    return [one for one in found if one is not None] + list(pairing.rest())


def test_a_wait_lasts_to_the_next_row_of_its_try() -> None:
    """Several deferrals of one try are several waits; what runs in between is none."""
    rows = [(0, "running", 0), (0, "deferred", 5), (0, "running", 45), (0, "deferred", 50), (0, "failed", 60)]
    assert _fed(rows, Pairing()) == [PastWait(_key(), 5, 45), PastWait(_key(), 50, 60)]


def test_tries_are_apart() -> None:
    """A row of another task, run or try ends no wait."""
    rows = [(0, "deferred", 1.0), (1, "running", 2.0), (0, "running", 3.0)]
    assert _fed(rows, Pairing()) == [PastWait(_key(), 1.0, 3.0)]


def test_unfinished_waits_have_no_end() -> None:
    """A deferral without a later row is open."""
    assert _fed([(0, "deferred", 7.0)], Pairing()) == [PastWait(_key(), 7.0, None)]


def test_clocks_never_run_backwards() -> None:
    """Rows of machines whose clocks differ make no negative wait."""
    assert _fed([(0, "deferred", 7.0), (0, "running", 6.9)], Pairing()) == [PastWait(_key(), 7.0, 7.0)]


def test_start_from_trigger_keeps_its_first_resume() -> None:
    """Only tasks that start in the triggerer have their first row ``running`` kept."""
    pairing = Pairing(from_trigger={("d", "t0")})
    _fed([(0, "running", 9.0), (0, "running", 19.0), (1, "running", 3.0)], pairing)
    assert pairing.first_running == {_key(): 9.0}


def test_reschedules_are_one_wait_a_try() -> None:
    """From the first reschedule to the end."""
    pairing = Pairing()
    events = [("running", 0.0), ("up_for_reschedule", 2.0), ("running", 62.0), ("up_for_reschedule", 64.0)]
    _fed([(0, name, at) for name, at in [*events, ("running", 124.0), ("success", 125.0)]], pairing)
    assert pairing.rescheduled == {("d", "t0"): [123.0]}
    assert pairing.tries == {("d", "t0"): 1}


_ROWS = st.lists(
    st.tuples(st.integers(0, 3), st.sampled_from(["deferred", "running", "success", "failed"])), max_size=40
)


@given(_ROWS)
def test_every_deferral_is_found_once(rows: list[tuple[int, str]]) -> None:
    """As many waits as rows ``deferred``, each ended by the next row of its try, found by brute force."""
    timed = [(number, event, float(at)) for at, (number, event) in enumerate(rows)]
    expected = []
    for place, (number, event, at) in enumerate(timed):
        if event == "deferred":
            later = [one[2] for one in timed[place + 1 :] if one[0] == number]
            expected.append(PastWait(_key(number), at, later[0] if later else None))
    found = _fed(timed, Pairing())
    assert sorted(found, key=lambda one: one.start) == expected
