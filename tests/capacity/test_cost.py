"""The cost of waiting: the published table, closed forms against draws, what is recommended."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from airflow_landmark.capacity import (
    MODES,
    CostMode,
    Duration,
    Exponential,
    Fixed,
    Terms,
    Uniform,
    cost,
    recommend,
    simulated_cost,
    waves,
)

NINETY_MINUTES = Uniform(0.0, 5400.0)


def _terms(poll: float, *, arrival: Duration = NINETY_MINUTES, **fields: float) -> Terms:
    return Terms(arrival=arrival, poll_interval=poll, **{"start": 20.0, "check": 1.0, **fields})


@pytest.mark.parametrize(
    ("mode", "poll", "slots", "delay", "checks"),
    [
        ("poke", 60, 2718, 29.9, 45.3),
        ("reschedule", 60, 951, 29.9, 45.3),
        ("reschedule", 300, 199, 150.2, 9.5),
        ("deferrable", 30, 41, 15.1, 90.1),
        ("deferrable", 300, 41, 150.2, 9.5),
    ],
)
def test_published_table(mode: CostMode, poll: float, slots: int, delay: float, checks: float) -> None:
    """Arrival uniform over 90 minutes, 20 s a start, 1 s a check, 20,000 draws."""
    found = simulated_cost(mode, _terms(poll))
    assert (round(found.slot_seconds), round(found.delay, 1), round(found.checks, 1)) == (
        slots,
        delay,
        checks,
    )


@pytest.mark.parametrize("poll", [30.0, 60.0, 300.0])
def test_uniform_arrival_has_a_closed_form(poll: float) -> None:
    """(n + 1) / 2 checks and half an interval of delay."""
    found = cost("poke", _terms(poll))
    assert found.checks == pytest.approx((5400 / poll + 1) / 2)
    assert found.delay == pytest.approx(poll / 2)


ARRIVALS = st.sampled_from(
    [NINETY_MINUTES, Uniform(600.0, 4000.0), Exponential(1500.0), Fixed(3600.0), Fixed(10.0)]
)


@given(arrival=ARRIVALS, poll=st.sampled_from([7.0, 60.0, 300.0, 5000.0]), mode=st.sampled_from(MODES))
@settings(max_examples=20)
def test_closed_form_agrees_with_draws(arrival: Duration, poll: float, mode: CostMode) -> None:
    """Within what 20,000 draws leave to chance."""
    exact, drawn = (make(mode, _terms(poll, arrival=arrival)) for make in (cost, simulated_cost))
    spread = 4 * arrival.mean / 20_000**0.5 + 1e-6
    assert exact.checks == pytest.approx(drawn.checks, abs=spread / poll + 0.02, rel=0.02)
    assert exact.delay == pytest.approx(drawn.delay, abs=0.02 * poll)
    assert exact.slot_seconds == pytest.approx(drawn.slot_seconds, abs=4 * spread, rel=0.03)


def test_a_file_expected_in_an_hour() -> None:
    """Poke holds a slot for the hour, reschedule starts 13 times, a deferral starts twice."""
    terms = _terms(300.0, arrival=Fixed(3600.0))
    costs = {mode: cost(mode, terms) for mode in MODES}
    assert costs["poke"].slot_seconds == pytest.approx(3900)
    assert costs["reschedule"].checks == 13
    assert costs["reschedule"].slot_seconds == 273
    assert costs["deferrable"].slot_seconds == 41
    assert costs["deferrable"].trigger_seconds == 3900


def test_rows_and_price() -> None:
    """Rescheduling writes three rows a check; requests cost what they cost."""
    terms = _terms(60.0, arrival=Fixed(3599.0), price=0.0004)
    found = {mode: cost(mode, terms) for mode in MODES}
    assert found["reschedule"].rows == pytest.approx(180)
    assert (found["poke"].rows, found["deferrable"].rows, found["start_from_trigger"].rows) == (2, 6, 4)
    assert found["poke"].requests_cost == pytest.approx(60 * 0.0004)


@pytest.mark.parametrize(
    ("terms", "defers", "mode"),
    [
        (_terms(60.0), True, "deferrable"),
        (_terms(60.0), False, "reschedule"),
        (_terms(5.0), False, "poke"),
        (_terms(60.0, arrival=Fixed(1.0)), True, "poke"),
        (_terms(3600.0, arrival=Fixed(3000.0)), True, "reschedule"),
    ],
)
def test_recommended_mode(terms: Terms, defers: bool, mode: CostMode) -> None:
    """Poke for moments, reschedule when checks are few, defer otherwise and when there is a trigger."""
    costs = {one: cost(one, terms) for one in MODES}
    assert recommend(terms, costs=costs, defers=defers).mode == mode


@pytest.mark.parametrize(
    ("runs", "slots", "at_once", "hours"),
    [(1, 8, 1, 30.0), (3, 8, 3, 10.0), (3, 6, 3, 10.0), (6, 8, 4, 7.7), (6, 6, 3, 10.0), (6, 2, 1, 30.0)],
)
def test_waves_of_a_backfill(runs: int, slots: int, at_once: int, hours: float) -> None:
    """90 days, a 20-minute task of two slots a run."""
    found = waves(runs=90, task_seconds=1200, slots=2, open_slots=slots, max_active_runs=runs)
    assert (found.at_once, round(found.hours, 1)) == (at_once, hours)


def test_waves_without_room_never_end() -> None:
    """One open slot is none for a task of two; no runs take no time."""
    assert waves(runs=9, task_seconds=60, slots=2, open_slots=1, max_active_runs=3).hours == float("inf")
    assert waves(runs=0, task_seconds=60, slots=2, open_slots=8, max_active_runs=3).hours == 0
