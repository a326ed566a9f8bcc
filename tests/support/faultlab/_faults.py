"""The faults: each is a block in which it lasts. Whatever ends is restarted by the supervisor."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING

import sqlalchemy as sa

from airflow_landmark.testing import wait_until
from httpserver import Answer

from ._supervisor import TRIGGERERS, Part

if TYPE_CHECKING:
    from ._lab import Lab

__all__ = [
    "Fault",
    "api_server_away",
    "database_restarted",
    "everything_killed",
    "frozen",
    "killed_while_rows_are_held",
    "runner_killed",
    "scheduler_killed",
    "source_away",
    "stopped",
    "supervisor_killed",
    "told_to_end",
]

ROWS = 50
"""How many waits a triggerer takes over in one transaction: ``max_trigger_to_select_per_loop``."""
_SESSION = "SELECT count(*) FROM pg_stat_activity WHERE pid = :pid"

Fault = Callable[["Lab"], AbstractContextManager[None]]


@contextmanager
def supervisor_killed(lab: Lab) -> Iterator[None]:
    """Kill the first process of the triggerer that holds most waits."""
    _strike(lab, lab.busiest(), signal.SIGKILL, "first")
    yield


@contextmanager
def runner_killed(lab: Lab) -> Iterator[None]:
    """Kill the process in which the triggers of the busiest triggerer run."""
    _strike(lab, lab.busiest(), signal.SIGKILL, "children")
    yield


@contextmanager
def everything_killed(lab: Lab) -> Iterator[None]:
    """Kill all processes of the busiest triggerer at once."""
    _strike(lab, lab.busiest(), signal.SIGKILL, "all")
    yield


@contextmanager
def told_to_end(lab: Lab) -> Iterator[None]:
    """Send SIGTERM to the busiest triggerer, as a deployment does."""
    _strike(lab, lab.busiest(), signal.SIGTERM, "first")
    yield


@contextmanager
def stopped(lab: Lab) -> Iterator[None]:
    """Stop the busiest triggerer; it wakes up at the block's end."""
    name = lab.busiest()
    pids = _strike(lab, name, signal.SIGSTOP, "all")
    try:
        yield
    finally:
        for pid in pids:
            lab.told.gone.pop(pid, None)
        lab.supervisor.signal(name, signal.SIGCONT)


def _strike(lab: Lab, name: str, number: signal.Signals, part: Part) -> set[int]:
    """Send a signal, and take all processes of the component for lost; their ids."""
    pids = {process.pid for process in lab.supervisor.tree(name)}
    lab.told.gone |= dict.fromkeys(pids, time.time())
    lab.supervisor.signal(name, number, part=part)
    return pids


@contextmanager
def frozen(lab: Lab) -> Iterator[None]:
    """Stop the busiest triggerer until the other one runs all open waits; it wakes up at the block's end."""
    with stopped(lab):
        lab.until_running(lab.waits.open)
        yield


@contextmanager
def killed_while_rows_are_held(lab: Lab) -> Iterator[None]:
    """Kill both triggerers while a session that stands still holds the rows of some of their waits.

    A triggerer that is frozen while it takes over waits leaves such a session behind. Ends when PostgreSQL
    has ended it.
    """
    engine = sa.create_engine(lab.postgres.url, poolclass=sa.NullPool)
    held = engine.connect()
    try:
        pid = held.scalar(sa.text("SELECT pg_backend_pid()"))
        held.execute(sa.text("SELECT id FROM trigger ORDER BY id LIMIT :rows FOR UPDATE"), {"rows": ROWS})
        for name in TRIGGERERS:
            _strike(lab, name, signal.SIGKILL, "all")
        yield
        wait_until(
            check=lambda: lab.airflow.database.query(sql=_SESSION, values={"pid": pid})[0][0] == 0,
            what="the session ended by PostgreSQL",
            seconds=2 * lab.idle,
        )
    finally:
        held.invalidate()
        held.close()
        engine.dispose()


@contextmanager
def database_restarted(lab: Lab) -> Iterator[None]:
    """Crash PostgreSQL; it comes back at the block's end."""
    lab.postgres.stop()
    try:
        yield
        time.sleep(lab.outage)
    finally:
        lab.postgres.start()


@contextmanager
def api_server_away(lab: Lab) -> Iterator[None]:
    """Kill the API server, and let it come back once a worker has given up on it."""
    with lab.supervisor.away("api-server"):
        yield
        time.sleep(3 * lab.outage)


@contextmanager
def scheduler_killed(lab: Lab) -> Iterator[None]:
    """Kill the scheduler with its workers and their tasks."""
    lab.supervisor.signal("scheduler", signal.SIGKILL)
    yield


@contextmanager
def source_away(lab: Lab) -> Iterator[None]:
    """The web server answers errors, then nothing at all, and comes back at the block's end."""
    pages, lab.http.pages = lab.http.pages, {}
    lab.http.fallback = Answer(503, b"overloaded", {"Retry-After": "1"})
    try:
        time.sleep(lab.source_outage / 4)
        lab.http.fallback = Answer(500, b"broken")
        time.sleep(lab.source_outage / 4)
        lab.proxy.mode = "blackhole"
        lab.http.pages = pages
        yield
        time.sleep(lab.source_outage / 2)
    finally:
        lab.http.fallback = Answer(404, b"nothing here")
        lab.http.pages = pages
        lab.proxy.mode = "pass"
