"""The REST API: paging with its traps, refusals, and a token that goes nowhere else."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta, timezone
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from airflow_landmark.capacity import CannotTell, MissingRights, OlderAirflow, Unreachable
from airflow_landmark.capacity._read_api import read_live_api, read_past_waits_api
from airflow_landmark.capacity._read_rest import RestApi

TOKEN = "t0ken-s3cr3t"  # noqa: S105
T0 = datetime(2026, 11, 20, tzinfo=timezone.utc)

Answer = tuple[int, Any, dict[str, str]]


class _Server:
    """Answers with what a function says, and remembers what was asked."""

    def __init__(self) -> None:
        self.answer: Callable[[str, dict[str, list[str]]], Answer] = lambda _path, _query: (404, {}, {})
        self.asked: list[tuple[str, dict[str, list[str]], str | None]] = []
        self.url = ""


@contextmanager
def _serving() -> Iterator[_Server]:
    state = _Server()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            parts = urlsplit(self.path)
            query = parse_qs(parts.query)
            state.asked.append((parts.path, query, self.headers.get("Authorization")))
            status, body, headers = state.answer(parts.path, query)
            content = body if isinstance(body, bytes) else json.dumps(body).encode()
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    state.url = f"http://127.0.0.1:{server.server_port}"
    try:
        yield state
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@pytest.fixture(scope="module")
def shared() -> Iterator[_Server]:
    """Return one server for all tests of this module."""
    with _serving() as server:
        yield server


@pytest.fixture
def server(shared: _Server) -> _Server:
    """Return the server, with nothing asked yet."""
    shared.asked.clear()
    return shared


def _api(server: _Server, pauses: list[float] | None = None) -> RestApi:
    return RestApi(url=server.url, token=TOKEN, sleep=(pauses if pauses is not None else []).append)


def _moment(seconds: float) -> str:
    return (T0 + timedelta(seconds=seconds)).isoformat().replace("+00:00", "Z")


def _log(rows: list[dict[str, Any]], page: int) -> Callable[[str, dict[str, list[str]]], Answer]:
    """An audit log that cuts pages silently, as ``maximum_page_limit`` does, and compares times strictly."""

    def answer(path: str, query: dict[str, list[str]]) -> Answer:
        if path.endswith("taskInstances"):
            return 200, {"task_instances": []}, {}
        after = datetime.fromisoformat(query["after"][0])
        names = set(query["included_events"])
        found = [
            row
            for row in sorted(rows, key=lambda row: (row["when"], row["event_log_id"]))
            if datetime.fromisoformat(row["when"].replace("Z", "+00:00")) > after and row["event"] in names
        ]
        first = int(query.get("offset", ["0"])[0])
        cut = found[first : first + min(page, int(query["limit"][0]))]
        return 200, {"event_logs": cut, "total_entries": len(found)}, {}

    return answer


def _row(number: int, seconds: float, event: str, task: str = "wait") -> dict[str, Any]:
    names = {"dag_id": "d", "task_id": task, "run_id": "r", "map_index": -1, "try_number": 1}
    return {"event_log_id": number, "when": _moment(seconds), "event": event, **names}


@settings(max_examples=30)
@given(st.lists(st.integers(0, 6), max_size=25), st.integers(1, 5))
def test_every_row_comes_once(seconds: list[int], page: int) -> None:
    """However the pages cut rows of one moment apart."""
    rows = [_row(number, at, "deferred", f"t{number}") for number, at in enumerate(seconds)]
    with _serving() as server:
        server.answer = _log(rows, page)
        found = [row["event_log_id"] for row in _api(server).events(since=T0, names=("deferred",))]
    expected = sorted((at, number) for number, at in enumerate(seconds))
    assert found == [number for _, number in expected]


def test_past_waits(server: _Server) -> None:
    """The same intervals as from the database, whatever the page's size."""
    rows = [_row(1, 10, "running"), _row(2, 20, "deferred"), _row(3, 50, "running"), _row(4, 51, "success")]
    server.answer = _log(rows, page=2)
    past = read_past_waits_api(_api(server), since=T0)
    (wait,) = past.intervals
    assert (wait.start - T0.timestamp(), wait.end) == (20, T0.timestamp() + 50)
    assert past.tries == {("d", "wait"): 1}
    assert past.run_starts == {("d", "r"): T0.timestamp() + 10}
    assert {token for _, _, token in server.asked} == {f"Bearer {TOKEN}"}


def test_live_state_computes_ages_itself(server: _Server) -> None:
    """``is_alive`` is not asked for: it filters after the page is cut. Newest first is."""
    now = datetime.now(tz=timezone.utc)
    jobs = [
        _job(7, now - timedelta(seconds=3)),
        _job(5, now - timedelta(seconds=100)),
        _job(3, now - timedelta(days=9)),
    ]
    instances = [_instance(1, owner=7), _instance(2, owner=5), _instance(3, owner=None)]

    def answer(path: str, query: dict[str, list[str]]) -> Answer:
        lists = {"jobs": jobs, "taskInstances": instances, "pools": [_pool()], "assets": []}
        name = path.rpartition("/")[2]
        field = {"taskInstances": "task_instances"}.get(name, name)
        return 200, {field: lists[name] if query.get("offset", ["0"]) == ["0"] else []}, {}

    server.answer = answer
    live = read_live_api(_api(server))
    assert [(one.job, one.alive, one.triggers) for one in live.triggerers] == [(7, True, 1), (5, False, 1)]
    assert sorted(one.trigger for one in live.starving) == [2, 3]
    assert live.pools["default_pool"]["open"] == 126
    (asked,) = [query for path, query, _ in server.asked if path.endswith("/jobs")]
    assert "is_alive" not in asked
    assert asked["order_by"] == ["-latest_heartbeat"]


def _job(number: int, heartbeat: datetime) -> dict[str, Any]:
    return {
        "id": number,
        "hostname": f"h{number}",
        "latest_heartbeat": heartbeat.isoformat(),
        "end_date": None,
    }


def _instance(number: int, owner: int | None) -> dict[str, Any]:
    trigger = {"id": number, "classpath": "a.B", "created_date": _moment(number), "queue": None}
    return {"dag_id": "d", "task_id": f"t{number}", "trigger": trigger | {"triggerer_id": owner}}


def _pool() -> dict[str, Any]:
    used = {"running_slots": 2, "queued_slots": 0, "deferred_slots": 5}
    return {"name": "default_pool", "slots": 128, "include_deferred": False, **used}


@pytest.mark.parametrize(
    ("answer", "kind", "text"),
    [
        ((401, {}, {}), MissingRights, "401: the token is missing, wrong or expired"),
        ((403, {}, {}), MissingRights, "may not read eventLogs"),
        ((404, {}, {}), OlderAirflow, "need Airflow 3.3"),
        ((500, {}, {}), Unreachable, "answers with 500"),
        ((302, {}, {"Location": "https://elsewhere.example/"}), Unreachable, "it redirects"),
        ((200, b"<html>", {}), OlderAirflow, "no JSON object"),
        ((200, b"[" * 100_000, {}), OlderAirflow, "no JSON object"),
        ((200, {"event_logs": 7, "total_entries": 1}, {}), OlderAirflow, "no list event_logs"),
        ((200, {"event_logs": [{}], "total_entries": 1}, {}), OlderAirflow, "not as Airflow 3.3 gives it"),
        (
            (200, {"event_logs": [{"event_log_id": 1, "when": 7}], "total_entries": 1}, {}),
            OlderAirflow,
            "not as",
        ),
    ],
)
def test_wrong_answers(server: _Server, answer: Answer, kind: type[CannotTell], text: str) -> None:
    """Each is told in one line, without the token."""
    server.answer = lambda _path, _query: answer
    with pytest.raises(kind, match=text) as caught:
        read_past_waits_api(_api(server), since=T0)
    assert TOKEN not in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_redirect_is_not_followed(server: _Server) -> None:
    """The token would go with it."""
    server.answer = lambda path, _query: (307, {}, {"Location": f"{server.url}/other"})
    with pytest.raises(Unreachable):
        _api(server).get("pools")
    assert [path for path, _, _ in server.asked] == ["/api/v2/pools"]


def test_busy_servers_are_asked_again(server: _Server) -> None:
    """As late as they ask for, within reason, and not for ever."""
    answers: list[Answer] = [
        (503, {}, {"Retry-After": "5"}),
        (429, {}, {"Retry-After": "9999"}),
        (200, {}, {}),
    ]
    server.answer = lambda _path, _query: answers.pop(0)
    pauses: list[float] = []
    assert _api(server, pauses).get("pools") == {}
    assert pauses == [5, 30]
    server.answer = lambda _path, _query: (503, {}, {})
    with pytest.raises(Unreachable, match="503"):
        _api(server, pauses).get("pools")
    assert pauses == [5, 30, 2, 4, 8]


@pytest.mark.parametrize(
    "url", ["ftp://h", "h", "http://", "http://u:s3cr3t@h", "http://h:port", "file:///etc/passwd"]
)
def test_wrong_addresses(url: str) -> None:
    """Refused before anything is sent; a password in the address is not repeated."""
    with pytest.raises(Unreachable) as caught:
        RestApi(url=url, token=None)
    assert "s3cr3t" not in str(caught.value)


@pytest.mark.parametrize("tail", ["", "/", "/api/v2", "/api/v2/"])
def test_addresses(server: _Server, tail: str) -> None:
    """With or without the API's own path."""
    server.answer = lambda _path, _query: (200, {}, {})
    RestApi(url=f"{server.url}/airflow{tail}", token=None).get("pools")
    ((path, _, token),) = server.asked
    assert (path, token) == ("/airflow/api/v2/pools", None)


def test_nobody_answers() -> None:
    """A closed port is told with the address."""
    with pytest.raises(Unreachable, match=r"http://127\.0\.0\.1:9: does not answer"):
        RestApi(url="http://127.0.0.1:9", token=TOKEN).get("pools")
