"""The ledger in a database that an Airflow connection names."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import make_url

from airflow_landmark.deliveries import AccessTrouble, ReadableLedger
from airflow_landmark.sensors import ConnectionLedger, WaitMisconfigured
from airflow_landmark.sensors._ledger_connection import _url_of
from airflow_landmark.testing import LocalPostgres
from parcels import DATASET, deliver
from sensing import SPAN, held, run_task, sql_ledger, stamp_of

Know = Callable[..., ConnectionLedger]
POSTGRES = {
    "conn_type": "postgres", "host": "db.example", "schema": "ledgers", "login": "us/er",
    "password": "p@s:s/wörd", "port": 5433,
}  # fmt: skip


@pytest.fixture
def know(monkeypatch: pytest.MonkeyPatch) -> Know:
    """A function that makes a connection known to Airflow, and returns the ledger by it."""

    def known(value: dict[str, Any] | str) -> ConnectionLedger:
        text = value if isinstance(value, str) else json.dumps(value)
        monkeypatch.setenv("AIRFLOW_CONN_LEDGER", text)
        return ConnectionLedger("ledger")

    return known


@pytest.mark.parametrize("form", ["host", "uri", "long uri"])
def test_sqlite_file(form: str, know: Know, tmp_path: Path) -> None:
    """The file's path is the connection's host, also in both forms of a URI."""
    sql_ledger(tmp_path)
    path = f"{tmp_path}/ledger.db"
    forms: dict[str, Any] = {
        "host": {"conn_type": "sqlite", "host": path},
        "uri": f"sqlite://{path.replace('/', '%2F')}",
        "long uri": f"sqlite:///{path}",
    }
    ledger = know(forms[form])
    assert isinstance(ledger, ReadableLedger)
    ledger.claim(stamp_of(1), "one")
    ledger.commit(stamp_of(1), "one")
    assert held(ledger.entry(DATASET, SPAN)) == (1, None)


def test_postgres_url_of_little(know: Know) -> None:
    """What a connection does not say is left to the client: a socket, the user's name, the default port."""
    know({"conn_type": "postgres", "extra": {"host": "/var/run/postgresql"}})
    url = make_url(_url_of("ledger"))
    assert (url.username, url.password, url.host, url.port) == (None, None, None, None)
    assert dict(url.query) == {"host": "/var/run/postgresql"}
    know({"conn_type": "postgres", "host": "::1", "schema": "a b/c", "login": "user"})
    url = make_url(_url_of("ledger"))
    assert (url.host, url.username, url.password) == ("::1", "user", None)


def test_postgres_url(know: Know) -> None:
    """Every part of the connection comes to its place, whatever characters it holds."""
    know(POSTGRES | {"extra": {"sslmode": "require", "cursor": "dictcursor", "options": "-c x=1"}})
    url = make_url(_url_of("ledger"))
    assert (url.drivername, url.username, url.password) == ("postgresql", "us/er", "p@s:s/wörd")
    assert (url.host, url.port, url.database) == ("db.example", 5433, "ledgers")
    assert dict(url.query) == {"sslmode": "require", "options": "-c x=1"}


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_postgres_server(know: Know) -> None:
    """On a real server the tables are made and the steps are taken by the connection."""
    with LocalPostgres() as server:
        url = make_url(server.url)
        ledger = know(
            {
                "conn_type": "postgres", "host": url.host or url.query.get("host"), "schema": url.database,
                "login": url.username, "password": url.password, "port": url.port,
            }
        )  # fmt: skip
        assert ledger.create()
        ledger.claim(stamp_of(1), "one")
        ledger.commit(stamp_of(1), "one")
        assert held(ledger.entry(DATASET, SPAN)) == (1, None)


@pytest.mark.parametrize(
    ("connection", "text"),
    [
        ({"conn_type": "sqlite", "host": "ledger.db"}, "absolute path"),
        ({"conn_type": "sqlite"}, "absolute path"),
        ({"conn_type": "sqlite", "host": "/a.db", "schema": "b"}, "absolute path"),
        ("sqlite:///a/ledger.db", "absolute path"),
        ({"conn_type": "http", "host": "db"}, "of type 'http'"),
        ({"host": "db"}, "postgres or sqlite"),
        ({"conn_type": "generic", "host": "db"}, "postgres or sqlite"),
        ({"conn_type": "sqlite", "host": "/a?mode=memory"}, "question mark"),
        (POSTGRES | {"host": "h/x"}, "a name or an address"),
        (POSTGRES | {"host": "h@x"}, "a name or an address"),
        (POSTGRES | {"extra": {"iam": True}}, "'iam'"),
        (POSTGRES | {"extra": {"azure_conn_id": "azure"}}, "'azure_conn_id'"),
        (POSTGRES | {"extra": "[1]"}, "JSON object"),
    ],
)
def test_connection_that_cannot_be_used(connection: Any, text: str, know: Know) -> None:
    """The error names the connection and what is wrong, and nothing that it holds."""
    with pytest.raises(AccessTrouble, match=text) as caught:
        know(connection).taken(DATASET, SPAN)
    assert caught.value.kind == "configuration"
    assert "'ledger'" in str(caught.value)
    assert "wörd" not in str(caught.value)


def test_unknown_connection_fails_the_task_for_good(tmp_path: Path) -> None:
    """A name that Airflow does not know has to be mended in the Dag or in Airflow."""
    deliver(tmp_path)
    with pytest.raises(WaitMisconfigured, match="Airflow knows none of this name"):
        run_task("poke", tmp_path, ledger=ConnectionLedger("nobody"))


def test_it_holds_no_secret(know: Know) -> None:
    """Nothing of the connection is kept on the ledger, and a copy is one too."""
    ledger = know(POSTGRES)
    with pytest.raises(AccessTrouble):
        know(POSTGRES | {"extra": {"iam": True}}).taken(DATASET, SPAN)
    for one in (ledger, copy.deepcopy(ledger)):
        assert "wörd" not in f"{one!r} {one} {vars(one)}"
        assert repr(one) == "ConnectionLedger('connection ledger', table='landmark_ledger')"


@pytest.mark.parametrize("conn_id", ["", None, 7, "a\nb", "x" * 251])
def test_what_is_no_name_is_refused_when_the_dag_is_parsed(conn_id: Any) -> None:
    """A connection has a name in words."""
    with pytest.raises(ValueError, match="conn_id"):
        ConnectionLedger(conn_id)


def test_wrong_table_is_refused_when_the_dag_is_parsed() -> None:
    """A table's name is a name."""
    with pytest.raises(ValueError, match="table"):
        ConnectionLedger("ledger", table="a; drop")
