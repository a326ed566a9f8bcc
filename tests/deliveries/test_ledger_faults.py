"""What goes wrong with a ledger in a database, and what is told: nothing is lost or granted twice."""

from __future__ import annotations

import signal
import socket
import sqlite3
import subprocess
import sys
import threading
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
from airflow_landmark.deliveries import _ledger_deadline as deadline
from airflow_landmark.markers import Interval
from claimants import DATASET, DAY, created_at_once, events, stamp_of, trouble

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
        assert error.text.endswith("make it: landmark ledger create --ledger URL --table orders_ledger")
    assert not path.exists()


def test_no_place_for_a_file(tmp_path: Path) -> None:
    """A missing folder, a folder in place of a file and an impossible name are told as what they are."""
    for name, kind, text in (
        ("none/ledger.db", "absent", f"folder {tmp_path}/none does not exist: make it first"),
        ("", "configuration", "this is a folder; name a file in it"),
        ("x" * 300, "access", "cannot look at it: File name too long"),
    ):
        ledger = SqlLedger(f"sqlite:///{tmp_path}/{name}")
        for error in (trouble(ledger.create), trouble(ledger.claim, stamp_of(), "alice")):
            assert (type(error), error.kind, error.text) == (AccessTrouble, kind, text)
    assert list(tmp_path.iterdir()) == []


def test_created_by_many_at_once(tmp_path: Path) -> None:
    """Of many who make a ledger at the same moment all succeed, and exactly one says that it has made it."""
    for turn in range(5):
        told = created_at_once(f"sqlite:///{tmp_path}/{turn}.db", table="landmark_ledger")
        assert sorted(told) == [
            "made landmark_ledger and landmark_ledger_history",
            *["tables landmark_ledger and landmark_ledger_history are there already"] * 3,
        ]


def test_missing_table(path: Path) -> None:
    """A database without the tables is told by the table and the command that makes it."""
    path.touch()
    ledger = SqlLedger(f"sqlite:///{path}")
    error = trouble(ledger.claim, stamp_of(), "alice")
    assert (type(error), error.kind) == (AccessTrouble, "absent")
    assert error.text.startswith("table landmark_ledger does not exist")
    assert error.text.endswith("landmark ledger create --ledger URL")
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


@pytest.mark.parametrize(
    "url", ["postgresql://one:{}@db.example/orders", "postgresql://db.example/orders?password={}"]
)
def test_no_password_of_the_driver(url: str) -> None:
    """What a driver says is told without the password, however it writes that, in one bounded line."""
    import sqlalchemy as sa

    secret, quoted = "S3:CR/T @%é", "S3%3ACR%2FT%20%40%25%C3%A9"
    seen = database.Database(url.format(quoted), makes="")
    said = f"login as one with {secret}\nor {quoted} failed " + "x" * 1000
    told = seen._told(sa.exc.OperationalError("select", {}, Exception(said)))
    assert told.startswith("login as one with *** or *** failed xxx")
    assert len(told) == 300


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("postgresql://one:S3CRET@db.example:5433/orders?sslmode=require#x", "postgresql://db.example:5433/orders"),
        ("postgresql+psycopg://one:S3/C@R?E#T@[::1]/orders", "postgresql+psycopg://[::1]/orders"),
        ("postgresql://one:S3CRET/orders", "the ledger's URL"),
        ("postgresql:one:S3CRET@db.example/orders", "the ledger's URL"),
        ("one:S3CRET@db.example/orders", "the ledger's URL"),
        ("postgresql:///orders?host=/run/postgresql&password=S3CRET", "postgresql:///orders"),
        ("sqlite:////srv/a@b#c.db?timeout=S3CRET", "sqlite:////srv/a@b#c.db"),
    ],
)  # fmt: skip
def test_place_of_a_url(url: str, shown: str) -> None:
    """A ledger is shown by its URL without what may be secret; what cannot be taken apart is not shown."""
    assert str(SqlLedger(url)) == shown
    assert "S3CRET" not in repr(SqlLedger(url))


def test_url_of_sqlalchemy(path: Path) -> None:
    """A URL may be SQLAlchemy's own, and then keeps its password, which its text does not show."""
    import sqlalchemy as sa

    ledger = SqlLedger(sa.make_url(f"sqlite:///{path}"))
    assert ledger.create()
    assert str(ledger) == f"sqlite:///{path}"
    ledger = SqlLedger(sa.make_url("postgresql://one:S3CRET%21@db.example/orders"))
    assert ledger._find() == "postgresql://one:S3CRET%21@db.example/orders"
    assert (str(ledger), "S3CRET" in repr(ledger)) == ("postgresql://db.example/orders", False)


@pytest.mark.parametrize("url", [None, 7, b"sqlite:////srv/ledger.db", ["sqlite://"]])
def test_url_is_a_text(url: Any) -> None:
    """Another kind of value is refused when the Dag is parsed."""
    with pytest.raises(TypeError, match="url must be an SQLAlchemy URL"):
        SqlLedger(url)


def test_silence_is_bounded() -> None:
    """Whoever waits for a peer that says nothing is let go when time is up, and no thread stays behind."""
    ours, peer = socket.socketpair()
    with ours, peer, deadline.Deadline(0.05) as limit:
        limit.watch(ours)
        ours.settimeout(20)
        assert ours.recv(1) == b""
        assert limit.passed
    before = threading.active_count()
    ours, peer = socket.socketpair()
    with ours, peer:
        with deadline.Deadline(60) as limit:
            limit.watch(ours)
        assert (limit.passed, threading.active_count()) == (False, before)
        ours.send(b"x")
        assert peer.recv(1) == b"x"


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
