"""What goes wrong with a ledger in a database, and what is told: nothing is lost or granted twice."""

from __future__ import annotations

import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from airflow_landmark.deliveries import (
    AccessTrouble,
    BadDelivery,
    SqlLedger,
    Unavailable,
)
from airflow_landmark.deliveries import _ledger_database as database
from airflow_landmark.markers import Interval
from airflow_landmark.testing import LocalPostgres
from claimants import DATASET, DAY, events, stamp_of, trouble

INTERVAL = Interval.parse(DAY)
KILLED = """
import os, signal, sys
sys.path.insert(0, {support!r})
from claimants import stamp_of
from airflow_landmark.deliveries import open_ledger
open_ledger({url!r}).claim(stamp_of(3), "orders/run/wait/-1")
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Return where a ledger may lie."""
    return tmp_path / "ledger.db"


@pytest.fixture
def ledger(path: Path) -> SqlLedger:
    """Return a ledger that was made."""
    ledger = SqlLedger(f"sqlite:///{path}")
    ledger.create()
    return ledger


def test_killed_between_claim_and_commit(ledger: SqlLedger) -> None:
    """A task whose worker was lost claims again at its retry, and goes on; nobody else may before."""
    support = str(Path(__file__).parents[1] / "support")
    code = KILLED.format(support=support, url=str(ledger))
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, timeout=110, check=False)
    assert done.returncode == -signal.SIGKILL, done.stderr
    with pytest.raises(BadDelivery, match="claimed by orders/run/wait/-1"):
        ledger.claim(stamp_of(3), "orders/other/wait/-1")
    ledger.claim(stamp_of(3), "orders/run/wait/-1")
    ledger.commit(stamp_of(3), "orders/run/wait/-1")
    assert events(ledger) == ["claimed", "taken"]


@pytest.mark.parametrize("word", ["claim", "commit", "release"])
def test_lost_acknowledgement(word: str, ledger: SqlLedger, monkeypatch: pytest.MonkeyPatch) -> None:
    """A step that was done, but whose answer was lost, is told as trouble; repeating it succeeds, once."""
    if word != "claim":
        ledger.claim(stamp_of(1), "alice")
    before = len(events(ledger))
    kept = database.Database.transaction

    @contextmanager
    def cut(self: Any, *arguments: Any, **named: Any) -> Iterator[Any]:
        with kept(self, *arguments, **named) as connection:
            yield connection
        raise Unavailable(self.place, "trouble", "the connection was lost")

    with monkeypatch.context() as patched:
        patched.setattr(database.Database, "transaction", cut)
        trouble(getattr(ledger, word), stamp_of(1), "alice")
    assert len(events(ledger)) == before + 1
    getattr(ledger, word)(stamp_of(1), "alice")
    assert len(events(ledger)) == before + 1


def test_missing_file_is_not_made(path: Path) -> None:
    """A ledger that was never made is no empty ledger, and no call makes it."""
    ledger = SqlLedger(f"sqlite:///{path}", table="orders_ledger")
    for call, arguments in (
        (ledger.claim, (stamp_of(), "alice")), (ledger.taken, (DATASET, INTERVAL)), (ledger.entries, ()),
    ):  # fmt: skip
        error = trouble(call, *arguments)
        assert (type(error), error.kind) == (AccessTrouble, "absent")
        assert "landmark ledger create --table orders_ledger" in error.text
    assert not path.exists()


def test_missing_table(path: Path) -> None:
    """A database without the tables is told by the table and the command that makes it."""
    path.touch()
    ledger = SqlLedger(f"sqlite:///{path}")
    error = trouble(ledger.claim, stamp_of(), "alice")
    assert (type(error), error.kind) == (AccessTrouble, "absent")
    assert error.text.startswith("table landmark_ledger does not exist")
    assert error.text.endswith("landmark ledger create")
    with closing(sqlite3.connect(path)) as file:
        assert file.execute("select count(*) from sqlite_master").fetchone() == (0,)


def test_missing_history(ledger: SqlLedger, path: Path) -> None:
    """A step whose event cannot be kept is not done either."""
    with closing(sqlite3.connect(path)) as file:
        file.execute("drop table landmark_ledger_history")
    assert "landmark_ledger_history" in trouble(ledger.claim, stamp_of(), "alice").text
    ledger.create()
    assert ledger.entries() == []


def test_locked_file(ledger: SqlLedger, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that somebody keeps locked is passing trouble, after a bounded wait."""
    monkeypatch.setattr(database, "_CONNECT_SECONDS", 0.05)
    with closing(sqlite3.connect(path, isolation_level=None)) as file:
        file.execute("begin exclusive")
        assert type(trouble(ledger.claim, stamp_of(), "alice")) is Unavailable
        file.execute("rollback")
    ledger.claim(stamp_of(), "alice")


@pytest.mark.skipif(sys.version_info < (3, 11), reason="sqlite3 tells no codes before Python 3.11")
def test_other_file(path: Path) -> None:
    """A file that is no database is lasting trouble."""
    path.write_bytes(b"orders\n" * 1000)
    error = trouble(SqlLedger(f"sqlite:///{path}").claim, stamp_of(), "alice")
    assert (type(error), error.kind) == (AccessTrouble, "access")


def test_other_table(path: Path) -> None:
    """A table of the same name that is no ledger's is told, and left as it is."""
    with closing(sqlite3.connect(path)) as file:
        file.execute("create table landmark_ledger (id integer)")
    ledger = SqlLedger(f"sqlite:///{path}")
    assert "it has no column claim_at" in trouble(ledger.create).text
    assert type(trouble(ledger.claim, stamp_of(), "alice")) is not BadDelivery
    with closing(sqlite3.connect(path)) as file:
        assert file.execute("select count(*) from sqlite_master").fetchone() == (1,)


@pytest.mark.parametrize(
    "change",
    ["claim_owner = null", "claim_version = 'x'", "claim_at = 'noon'", "claim_uri = char(27)",
     "interval_end = interval_start", "claim_identity = 'AB'", "claim_version = 0"],
)  # fmt: skip
def test_row_of_others(ledger: SqlLedger, path: Path, change: str) -> None:
    """A row that somebody else has changed is told, and never taken as it is."""
    ledger.claim(stamp_of(), "alice")
    with closing(sqlite3.connect(path)) as file:
        file.execute(f"update landmark_ledger set {change}")  # noqa: S608 - of this test
        file.commit()
    error = trouble(ledger.entries)
    assert (type(error), error.kind) == (AccessTrouble, "unreadable")


def test_away_and_no_password_told() -> None:
    """A server that does not answer is passing trouble, told without user and password."""
    ledger = SqlLedger("postgresql://someone:S3CRET%21@127.0.0.1:9/orders?application_name=S3CRET")
    for error in (trouble(ledger.claim, stamp_of(), "alice"), trouble(ledger.create)):
        assert type(error) is Unavailable
        assert error.uri == "postgresql://127.0.0.1:9/orders"
        assert not {"S3CRET", "someone"} & set(str(error).replace("!", " ").split())
        assert "S3CRET" not in str(error) + repr(error) + repr(ledger) + str(ledger)


def test_looked_up_at_each_use(ledger: SqlLedger) -> None:
    """An address that comes from elsewhere is asked for at each use, and its trouble is the call's."""
    asked: list[str] = []

    def find() -> str:
        asked.append("")
        if len(asked) == 2:
            raise Unavailable("connection orders", "trouble", "it cannot be looked up now")
        return str(ledger)

    looked_up = SqlLedger(find, place="connection orders")
    assert repr(looked_up) == "SqlLedger('connection orders', table='landmark_ledger')"
    looked_up.claim(stamp_of(), "alice")
    assert trouble(looked_up.commit, stamp_of(), "alice").uri == "connection orders"
    looked_up.commit(stamp_of(), "alice")
    assert events(ledger) == ["claimed", "taken"]


def test_missing_software(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where SQLAlchemy is not installed, the line that installs it is told."""
    monkeypatch.setitem(sys.modules, "sqlalchemy", None)
    error = trouble(SqlLedger(f"sqlite:///{path}").create)
    assert (type(error), error.kind) == (AccessTrouble, "configuration")
    assert error.text.endswith("pip install 'airflow-landmark[sql]'")


@pytest.mark.parametrize("table", ["", "a b", "a;b", "a.b.c", "1a", "x" * 51, "a\n", None])
def test_table_is_a_name(table: Any) -> None:
    """A table's name is a plain name, for a Dag is parsed before any database is asked."""
    with pytest.raises(ValueError, match="table must be a name"):
        SqlLedger("sqlite:////srv/ledger.db", table=table)


@pytest.mark.slow
def test_postgres_away_and_back() -> None:
    """A server that dies is passing trouble; missing tables and missing rights are lasting."""
    import sqlalchemy as sa

    with LocalPostgres() as server:
        ledger = SqlLedger(server.url)
        error = trouble(ledger.claim, stamp_of(), "alice")
        assert (type(error), error.kind) == (AccessTrouble, "absent")
        ledger.create()
        ledger.claim(stamp_of(), "alice")
        engine = sa.create_engine(server.url, poolclass=sa.pool.NullPool, isolation_level="AUTOCOMMIT")
        with engine.connect() as connection:
            connection.exec_driver_sql("checkpoint")  # this server acknowledges before it has written
        server.stop()
        assert type(trouble(ledger.commit, stamp_of(), "alice")) is Unavailable
        server.start()
        ledger.claim(stamp_of(), "alice")
        ledger.commit(stamp_of(), "alice")
        assert events(ledger) == ["claimed", "taken"]
        with engine.connect() as connection:
            connection.exec_driver_sql("create role reader login")
            connection.exec_driver_sql("create schema orders")
            connection.exec_driver_sql("grant select on landmark_ledger, landmark_ledger_history to reader")
        reader = SqlLedger(server.url.replace("//airflow@", "//reader@"))
        assert reader.taken(DATASET, INTERVAL) == ledger.taken(DATASET, INTERVAL)
        error = trouble(reader.claim, stamp_of(2), "bob")
        assert (type(error), error.kind) == (AccessTrouble, "access")
        own = SqlLedger(server.url, table="orders.ledger")
        assert own.create() == "made orders.ledger and orders.ledger_history"
        own.claim(stamp_of(), "alice")
        assert events(own) == ["claimed"]
