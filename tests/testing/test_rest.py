"""The REST client and a run's handle, against a small server that answers as Airflow does."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from airflow_landmark.testing import (
    AirflowApi,
    DagImportFailed,
    NotInTime,
    RequestRefused,
    Run,
    RunEnded,
)
from airflow_landmark.testing._rest import RestClient

RUN = "dags/a/dagRuns/manual__2026-01-01T00%3A00%3A00%2B00%3A00"


@dataclass
class Answers:
    """What the server answers by method and path, and what it was asked."""

    by_request: dict[str, Any] = field(default_factory=dict)
    asked: list[tuple[str, Any, str | None]] = field(default_factory=list)


class _Server(ThreadingHTTPServer):
    answers: Answers


class _Handler(BaseHTTPRequestHandler):
    server: _Server

    def do_GET(self) -> None:
        length = int(self.headers.get("Content-Length") or 0)
        body = json.loads(self.rfile.read(length)) if length else None
        request = f"{self.command} {self.path.partition('?')[0].removeprefix('/api/v2/')}"
        self.server.answers.asked.append((request, body, self.headers["Authorization"]))
        answer = self.server.answers.by_request.get(request, 404)
        text = json.dumps({"detail": "no"} if isinstance(answer, int) else answer).encode()
        self.send_response(answer if isinstance(answer, int) else 200)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    do_POST = do_PATCH = do_DELETE = do_GET  # noqa: N815 - the names that http.server calls

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def answers() -> Answers:
    """Return what the server answers; tests add to it."""
    return Answers({"GET /auth/token": {"access_token": "t0ken"}})


@pytest.fixture
def client(answers: Answers) -> Iterator[RestClient]:
    """Return a client of a running server."""
    with _Server(("127.0.0.1", 0), _Handler) as server:
        server.answers = answers
        thread = threading.Thread(target=server.serve_forever, args=[0.01])
        thread.start()
        yield RestClient(url=f"http://127.0.0.1:{server.server_address[1]}")
        server.shutdown()
        thread.join()


@pytest.fixture
def run(client: RestClient) -> Run:
    """Return a run whose id has to be quoted."""
    return Run(dag_id="a", run_id="manual__2026-01-01T00:00:00+00:00", client=client)


def test_token_is_asked_once(client: RestClient, answers: Answers) -> None:
    """Every request carries the token, which is asked for once."""
    answers.by_request["GET pools"] = {"pools": []}
    for _ in range(2):
        assert client.call(method="GET", path="pools") == {"pools": []}
    assert [asked[0] for asked in answers.asked] == ["GET /auth/token", "GET pools", "GET pools"]
    assert answers.asked[-1][2] == "Bearer t0ken"


def test_proxy_is_not_used(client: RestClient, answers: Answers, monkeypatch: pytest.MonkeyPatch) -> None:
    """A proxy in the environment is not asked for a server on this machine."""
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    answers.by_request["GET pools"] = {}
    assert client.call(method="GET", path="pools") == {}


def test_refusal_tells_status_and_text(client: RestClient) -> None:
    """An error answer is raised with its status and its text."""
    with pytest.raises(RequestRefused, match=r"GET api/v2/dags/x: HTTP 404.*no") as caught:
        client.call(method="GET", path="dags/x")
    assert caught.value.status == 404


def test_health_of_nobody() -> None:
    """A server that does not answer has no health, and is no error."""
    assert RestClient(url="http://127.0.0.1:9").health() == {}


def test_run_ends_otherwise(run: Run, answers: Answers) -> None:
    """Waiting for success ends when the run has failed, and tells which task and what its log says."""
    tasks = [
        {"task_id": "one", "map_index": -1, "state": "success", "try_number": 1},
        {"task_id": "two", "map_index": 3, "state": "failed", "try_number": 2},
    ]
    error = {"exc_type": "ValueError", "exc_value": "broken", "frames": [{"filename": "f.py", "lineno": 7}]}
    log = [{"event": "Task failed", "level": "error", "error_detail": [error]}]
    answers.by_request |= {
        f"GET {RUN}": {"state": "failed"},
        f"GET {RUN}/taskInstances": {"task_instances": tasks, "total_entries": 2},
        f"GET {RUN}/taskInstances/two/logs/2": {"content": log},
    }
    with pytest.raises(RunEnded, match=r"two\[3\] failed") as caught:
        run.wait()
    assert caught.value.tasks == {"one": "success", "two[3]": "failed"}
    assert "error Task failed\nValueError: broken\n" in str(caught.value)


def test_task_wait_ends_with_the_run(run: Run, answers: Answers) -> None:
    """Waiting for a task does not go on when the run is over."""
    task = {"task_id": "one", "map_index": -1, "state": "success", "try_number": 1}
    answers.by_request |= {
        f"GET {RUN}": {"state": "success"},
        f"GET {RUN}/taskInstances/one": task,
        f"GET {RUN}/taskInstances": {"task_instances": [task], "total_entries": 1},
    }
    with pytest.raises(RunEnded, match="success"):
        run.wait_task(task_id="one", states=["deferred"])
    assert run.wait_task(task_id="one", states=["success"]) == task


def test_run_goes_on(run: Run, answers: Answers) -> None:
    """A run that is in no awaited state in time is reported as such."""
    answers.by_request[f"GET {RUN}"] = {"state": "running"}
    with pytest.raises(NotInTime, match="success"):
        run.wait(seconds=0)


def test_broken_dag_file(client: RestClient, answers: Answers) -> None:
    """A Dag that does not come tells the traceback of the file that could not be imported."""
    broken = {"filename": "a.py", "stack_trace": "NameError: x"}
    answers.by_request["GET importErrors"] = {"import_errors": [broken]}
    with pytest.raises(DagImportFailed, match=r"a\.py:\nNameError: x"):
        AirflowApi(client=client).wait_dag(dag_id="a")


def test_variable_is_changed(client: RestClient, answers: Answers) -> None:
    """A variable that is there already is changed."""
    answers.by_request |= {"POST variables": 409, "PATCH variables/k": {}}
    AirflowApi(client=client).set_variable(key="k", value="v")
    assert answers.asked[-1][:2] == ("PATCH variables/k", {"key": "k", "value": "v"})


def test_pool_is_resized_only(client: RestClient, answers: Answers) -> None:
    """Of a pool that is there only the slots are changed: the default pool allows nothing else."""
    answers.by_request["PATCH pools/default_pool"] = {}
    AirflowApi(client=client).resize_pool(name="default_pool", slots=0)
    assert answers.asked[-1][:2] == ("PATCH pools/default_pool", {"pool": "default_pool", "slots": 0})
