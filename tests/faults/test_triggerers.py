"""A triggerer is lost: its supervising process, the one that runs the triggers, or both."""

from __future__ import annotations

import pytest

from faultlab import (
    Fault,
    Lab,
    everything_killed,
    frozen,
    killed_while_rows_are_held,
    runner_killed,
    supervisor_killed,
    told_to_end,
    trial,
)


@pytest.mark.parametrize(
    ("fault", "inject", "before"),
    [
        ("kill -9 of a triggerer's supervisor", supervisor_killed, 0.0),
        ("kill -9 of a triggerer's runner", runner_killed, 0.0),
        ("kill -9 of a whole triggerer while events come", everything_killed, 0.5),
        ("SIGTERM to a triggerer", told_to_end, 0.0),
    ],
)
def test_lost_triggerer_loses_no_wait(lab: Lab, fault: str, inject: Fault, before: float) -> None:
    """Its waits run elsewhere, and each delivery takes effect once, whatever stale ones lay there first."""
    record = trial(lab, fault=fault, inject=inject, before=before)
    assert record.clean, (record, lab.where())
    assert record.running is not None
    assert record.again == 0  # an event that is fired twice resumes once


def test_woken_triggerer_harms_nothing(lab: Lab) -> None:
    """One that was stopped, lost its waits and wakes up: its late ``on_kill`` and ``cleanup`` end no wait."""
    kills = sum(lab.told.count("on_kill").values())
    fault = "SIGSTOP of a triggerer, SIGCONT after the other took over"
    record = trial(lab, fault=fault, inject=frozen, during=0.5)
    assert record.clean, (record, lab.where())
    assert record.again == 0
    assert sum(lab.told.count("on_kill").values()) > kills


def test_frozen_session_delays_but_loses_no_wait(lab: Lab) -> None:
    """Waits whose rows another session holds are passed over; they run again when PostgreSQL has ended it."""
    fault = "kill -9 of both triggerers while a frozen session holds 50 waits"
    record = trial(lab, fault=fault, inject=killed_while_rows_are_held, during=0.5)
    assert record.clean, (record, lab.where())
    assert record.again == 0
    assert record.running is not None
    assert record.running >= lab.idle
