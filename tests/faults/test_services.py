"""What triggerers and workers depend on is away: the database, the API server, the scheduler."""

from __future__ import annotations

from faultlab import Lab, api_server_away, database_restarted, scheduler_killed, trial


def test_database_restarted(lab: Lab) -> None:
    """Every component ends and is restarted; what was delivered meanwhile is taken, once."""
    record = trial(lab, fault="database restarted", inject=database_restarted, during=0.5)
    assert record.clean, (record, lab.where())
    assert {name.split("-")[0] for name, _ in record.exits} >= {"scheduler", "triggerer"}


def test_api_server_away_while_events_come(lab: Lab) -> None:
    """Workers that resume give up on it; a retry finds the marker lying there, and goes on."""
    before = lab.destination.written()
    record = trial(lab, fault="api-server away while events come", inject=api_server_away, during=1.0)
    assert record.clean, (record, lab.where())
    assert ("api-server", -9) in record.exits
    assert max(lab.destination.tries(lab.destination.written() - before)) > 1


def test_scheduler_killed_while_events_come(lab: Lab) -> None:
    """It takes its workers and their tasks with it; the next one goes on."""
    record = trial(
        lab, fault="scheduler killed with its workers while events come", inject=scheduler_killed, before=1.0
    )
    assert record.clean, (record, lab.where())
    assert ("scheduler", -9) in record.exits
