"""What goes wrong with a ledger on a real PostgreSQL, and what is told."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import sqlalchemy as sa

from airflow_landmark.deliveries import AccessTrouble, SqlLedger, Unavailable
from airflow_landmark.deliveries import _ledger_database as database
from airflow_landmark.markers import Interval
from airflow_landmark.testing import LocalPostgres
from claimants import DATASET, DAY, created_at_once, events, stamp_of, trouble
from faultproxy import FaultProxy

pytestmark = pytest.mark.slow

INTERVAL = Interval.parse(DAY)
LOCKED = "host all locked 127.0.0.1/32 scram-sha-256"
OPEN = "host all all 127.0.0.1/32 trust"


@pytest.fixture(scope="module")
def server() -> Iterator[LocalPostgres]:
    """Return a running server."""
    with LocalPostgres() as server:
        yield server


@pytest.fixture
def proxy(server: LocalPostgres) -> Iterator[FaultProxy]:
    """Return a way to the server that can fall silent."""
    url = sa.make_url(server.url)
    with FaultProxy(url.host or "", url.port or 0) as proxy:
        yield proxy


def ledger_through(proxy: FaultProxy, server: LocalPostgres, table: str) -> SqlLedger:
    """A ledger that was made, seen through the proxy."""
    SqlLedger(server.url, table=table).create()
    return SqlLedger(sa.make_url(server.url).set(port=proxy.port), table=table)


def run_sql(server: LocalPostgres, *statements: str) -> Any:
    """The first value of the last statement's result, if it has one."""
    engine = sa.create_engine(server.url, poolclass=sa.pool.NullPool, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        result = [connection.exec_driver_sql(statement) for statement in statements][-1]
        return result.scalar() if result.returns_rows else None


def test_away_and_back() -> None:
    """A server that dies is passing trouble; missing tables and missing rights are lasting."""
    with LocalPostgres() as server:
        ledger = SqlLedger(server.url)
        error = trouble(ledger.claim, stamp_of(), "alice")
        assert (type(error), error.kind) == (AccessTrouble, "absent")
        ledger.create()
        ledger.claim(stamp_of(), "alice")
        run_sql(server, "checkpoint")  # this server acknowledges before it has written
        server.stop()
        assert type(trouble(ledger.commit, stamp_of(), "alice")) is Unavailable
        server.start()
        ledger.claim(stamp_of(), "alice")
        ledger.commit(stamp_of(), "alice")
        assert events(ledger) == ["claimed", "taken"]
        run_sql(server, "create role reader login", "create schema orders")
        run_sql(server, "grant select on landmark_ledger, landmark_ledger_history to reader")
        reader = SqlLedger(server.url.replace("//airflow@", "//reader@"))
        assert reader.taken(DATASET, INTERVAL) == ledger.taken(DATASET, INTERVAL)
        error = trouble(reader.claim, stamp_of(2), "bob")
        assert (type(error), error.kind) == (AccessTrouble, "access")
        own = SqlLedger(server.url, table="orders.ledger")
        assert own.create() == "made orders.ledger and orders.ledger_history"
        own.claim(stamp_of(), "alice")
        assert events(own) == ["claimed"]


@contextmanager
def locked_rows(server: LocalPostgres, table: str) -> Iterator[None]:
    """Make every change of the table's rows wait on the server."""
    engine = sa.create_engine(server.url, poolclass=sa.pool.NullPool)
    with engine.connect() as connection:
        connection.exec_driver_sql(f"select * from {table} for update")  # noqa: S608 - of this test
        yield


def is_blocked(server: LocalPostgres) -> bool:
    """Whether a statement waits for a lock."""
    return bool(run_sql(server, "select count(*) from pg_stat_activity where wait_event_type = 'Lock'"))


def test_server_that_falls_silent(
    server: LocalPostgres, proxy: FaultProxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A server that falls silent, though its machine answers, is hung up on; the next call is free."""
    ledger = ledger_through(proxy, server, "silent")
    ledger.claim(stamp_of(1), "alice")
    monkeypatch.setattr(database, "_SILENCE_SECONDS", 4.0)
    told: list[Any] = []
    call = threading.Thread(
        target=lambda: told.append(trouble(ledger.claim, stamp_of(2), "bob")), daemon=True
    )
    with locked_rows(server, "silent"):
        call.start()
        while call.is_alive() and not is_blocked(server):
            time.sleep(0.02)
        proxy.mode = "blackhole"
        call.join(45)
    assert not call.is_alive()
    assert type(told[0]) is Unavailable
    assert "fell silent" in told[0].text
    proxy.mode = "pass"
    ledger.claim(stamp_of(2), "bob")


def test_server_that_does_not_let_connect(
    server: LocalPostgres, proxy: FaultProxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A server that takes a connection and says nothing is given up, too."""
    ledger = ledger_through(proxy, server, "mute")
    monkeypatch.setattr(database, "_CONNECT_SECONDS", 2)
    proxy.mode = "blackhole"
    told: list[Any] = []
    call = threading.Thread(target=lambda: told.append(trouble(ledger.taken, DATASET, INTERVAL)), daemon=True)
    call.start()
    call.join(45)
    assert [type(one) for one in told] == [Unavailable]


def test_lock_that_lasts(server: LocalPostgres, monkeypatch: pytest.MonkeyPatch) -> None:
    """A statement that a lock holds up is ended by the server, in its own words, before anybody hangs up."""
    ledger = SqlLedger(server.url, table="held_up")
    ledger.create()
    ledger.claim(stamp_of(1), "alice")
    assert database._STATEMENT_SECONDS < database._SILENCE_SECONDS
    monkeypatch.setattr(database, "_STATEMENT_SECONDS", 1)
    with locked_rows(server, "held_up"):
        error = trouble(ledger.claim, stamp_of(2), "bob")
    assert type(error) is Unavailable
    assert "statement timeout" in error.text


def test_who_is_not_let_in(server: LocalPostgres) -> None:
    """Wrong password, role and database pass for trouble: only words tell them apart, without a secret."""
    right, wrong = "S3/CRET", "WR@NG"
    run_sql(server, f"create role locked login password '{right}'")
    place = run_sql(server, "show hba_file")
    run_sql(server, f"copy (values ('{LOCKED}'), ('{OPEN}')) to '{place}'", "select pg_reload_conf()")
    url = sa.make_url(server.url)
    for refused, words in (
        (url.set(username="locked", password=wrong), "password authentication failed"),
        (url.set(username="nobody", password=wrong), 'role "nobody" does not exist'),
        (url.set(database="nowhere", password=wrong), 'database "nowhere" does not exist'),
    ):
        error = trouble(SqlLedger(refused).claim, stamp_of(), "alice")
        assert (type(error), error.kind) == (Unavailable, "trouble")
        assert words in error.text
        assert not [form for form in (wrong, "WR%40NG") if form in str(error)]
    let_in = SqlLedger(url.set(username="locked", password=right), table="locked_out")
    assert trouble(let_in.claim, stamp_of(), "alice").kind == "absent"


def test_option_that_is_none(server: LocalPostgres) -> None:
    """What the database's client does not know in a URL has to be changed."""
    error = trouble(SqlLedger(f"{server.url}?colour=red").claim, stamp_of(), "alice")
    assert (type(error), error.kind) == (AccessTrouble, "configuration")
    assert "colour" in error.text


def test_created_by_many_at_once(server: LocalPostgres) -> None:
    """Of many who make a ledger at the same moment all succeed, and exactly one says that it has made it."""
    for turn in range(6):
        table = f"many{turn}"
        made, *there = sorted(created_at_once(server.url, table=table))
        assert made == f"made {table} and {table}_history"
        assert there == [f"tables {table} and {table}_history are there already"] * 3
