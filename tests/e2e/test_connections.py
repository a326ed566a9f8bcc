"""Connections on a real Airflow: kept in its database, used by worker, triggerer and downstream task."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from airflow_landmark.testing import LocalAirflow
from drops import conf, deliver
from guarded import Guarded, guarded

SECRET = "pw-EXAMPLE-1"  # noqa: S105 - what must not be seen anywhere


@pytest.fixture
def server(airflow: LocalAirflow, tmp_path: Path) -> Iterator[Guarded]:
    """Return a web server that wants a password, which the connection ``partner`` knows."""
    with guarded(tmp_path, user="user", password=SECRET) as server:
        partner = {"connection_id": "partner", "conn_type": "http", "host": "127.0.0.1", "port": server.port}
        partner |= {"login": "user", "password": SECRET, "extra": '{"query": "sig=abc123"}'}
        airflow.api.call(method="POST", path="connections", body=partner)
        yield server
        airflow.api.call(method="DELETE", path="connections/partner")


def test_connection_reaches_every_step(airflow: LocalAirflow, server: Guarded, tmp_path: Path) -> None:
    """Worker, triggerer and downstream task bring the password; nothing of it is stored or told."""
    started = conf(tmp_path) | {"uri": f"{server.uri}", "conn_id": "partner"}
    run = airflow.api.start_run(dag_id="wait_by_connection", conf=started)
    run.wait_task(task_id="wait", states=["deferred"])
    kwargs = str(airflow.database.query(sql="SELECT kwargs FROM trigger"))
    deliver(tmp_path)
    run.wait(seconds=60)
    assert run.xcom(task_id="load") == "id\n1\n2\n"
    assert (set(server.seen), set(server.queries)) == ({server.expected}, {"sig=abc123"})
    told = kwargs + run.log(task_id="wait") + run.log(task_id="load") + str(run.xcom(task_id="wait"))
    assert "partner" in kwargs
    assert "abc123" not in told
    assert SECRET not in told


def test_missing_connection_fails_at_once(airflow: LocalAirflow, tmp_path: Path) -> None:
    """A connection that Airflow does not know fails the first try, by its name and before any wait."""
    started = conf(tmp_path) | {"uri": "http://127.0.0.1:9/", "conn_id": "nobody"}
    run = airflow.api.start_run(dag_id="wait_by_connection", conf=started)
    run.wait(states=["failed"], seconds=60)
    assert run.task(task_id="wait")["try_number"] == 1
    log = run.log(task_id="wait")
    assert "connection 'nobody': Airflow knows none of this name" in log
    assert "Pausing task as DEFERRED" not in log
