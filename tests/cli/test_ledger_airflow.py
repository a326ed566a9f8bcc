"""The ledger in Airflow, read from outside: what the REST API says, hostile answers, and refusals."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, quote, unquote, urlsplit

import pytest
from click.testing import Result
from hypothesis import given
from hypothesis import strategies as st

from airflow_landmark.deliveries import key_of_held, read_key
from airflow_landmark.markers import Interval

Landmark = Callable[..., Result]
DAY = Interval.parse("2024-10-01T00:00:00Z/2024-10-02T00:00:00Z")
NEXT = Interval.parse("2024-10-02T00:00:00Z/2024-10-03T00:00:00Z")
TOKEN = "t0ken-s3cr3t"  # noqa: S105 - what must not be seen anywhere


def value(version: int, owner: str = "dag/run/wait/-1", at: str = "2024-10-02T06:00:00Z") -> dict[str, Any]:
    """What an asset ledger writes."""
    return {"version": version, "identity": "a" * 64, "owner": owner, "at": at, "uri": "/in/_delivery.json"}


class Api:
    """The routes that are read, in pages of one entry, as a server with a small limit gives them."""

    def __init__(self) -> None:
        self.assets: list[Any] = [{"id": 6, "name": "orders_old"}, {"id": 7, "name": "orders"}]
        self.state: list[Any] = []
        self.status = 200
        self.url = ""
        self.asked: list[tuple[str, str | None]] = []

    def keep(self, word: Any, interval: Interval, kept: Any, dataset: str = "shop/orders") -> None:
        """Keep a value under a ledger's key."""
        self.state.append({"key": key_of_held(word, dataset, interval), "value": kept})

    def answer(self, path: str, query: dict[str, list[str]]) -> tuple[int, Any]:
        """Status and document."""
        lists = {
            "/api/v2/assets": ("assets", self.assets),
            "/api/v2/assets/7/state-store": ("asset_state_store", self.state),
        }
        if path not in lists or self.status != 200:
            return (404 if self.status == 200 else self.status), {}
        name, entries = lists[path]
        offset = int(query["offset"][0])
        return 200, {name: entries[offset : offset + 1], "total_entries": len(entries)}


@contextmanager
def serving(api: Api) -> Iterator[None]:
    """Serve it on a free port."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            parts = urlsplit(self.path)
            api.asked.append((parts.path, self.headers.get("Authorization")))
            status, document = api.answer(parts.path, parse_qs(parts.query))
            content = json.dumps(document).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its parent's
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    api.url = f"airflow+http://127.0.0.1:{server.server_port}/?asset=orders"
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@pytest.fixture
def api(monkeypatch: pytest.MonkeyPatch) -> Iterator[Api]:
    """An Airflow that keeps a ledger, and the token for it in the environment."""
    monkeypatch.setenv("LANDMARK_API_TOKEN", TOKEN)
    api = Api()
    with serving(api):
        yield api


def entries(landmark: Landmark, api: Api, *arguments: str) -> Any:
    """What ``landmark ledger show --json`` says."""
    shown = landmark("ledger", "show", "--ledger", api.url, "--json", *arguments)
    assert shown.exit_code in (0, 1), shown.output
    return json.loads(shown.stdout)["entries"]


def test_what_is_taken_and_claimed_is_shown(landmark: Landmark, api: Api) -> None:
    """All pages are read, the newest interval comes first, and other keys of the asset are passed over."""
    api.keep("taken", DAY, value(2))
    api.keep("claim", DAY, value(3, owner="dag/run2/wait/-1"))
    api.keep("claim", NEXT, value(1))
    api.keep("taken", DAY, value(9), dataset="shop/refunds")
    api.state += [{"key": "watermark", "value": 7}, {"key": "landmark_taken:x", "value": 7}, 7, None]
    found = entries(landmark, api, "--dataset", "shop/orders")
    assert [entry["interval"] for entry in found] == [NEXT.to_json(), DAY.to_json()]
    assert (found[1]["taken"]["version"], found[1]["claim"]["owner"]) == (2, "dag/run2/wait/-1")
    assert len(entries(landmark, api)) == 3
    assert len(entries(landmark, api, "--limit", "1")) == 1
    assert entries(landmark, api, "--dataset", "shop/none") == []
    assert {token for _, token in api.asked} == {f"Bearer {TOKEN}"}


def test_history_is_what_is_held_now(landmark: Landmark, api: Api) -> None:
    """The state store keeps nothing of what was before."""
    api.keep("claim", DAY, value(3, at="2024-10-02T07:00:00Z"))
    api.keep("taken", DAY, value(2))
    told = landmark(
        "ledger", "history", "--ledger", api.url, "--dataset", "shop/orders", "--interval", str(DAY), "--json"
    )
    assert told.exit_code == 0, told.output
    assert [(one["word"], one["version"]) for one in json.loads(told.stdout)["events"]] == [
        ("taken", 2), ("claimed", 3),
    ]  # fmt: skip


def test_release_says_which_request_gives_the_claim_back(landmark: Landmark, api: Api) -> None:
    """It is only read from outside; the path that the text names is that of the claim's key."""
    api.keep("claim", DAY, value(3))
    done = landmark(
        "ledger", "release", "--ledger", api.url, "--dataset", "shop/orders", "--interval", str(DAY),
        "--owner", "dag/run/wait/-1", "--json",
    )  # fmt: skip
    assert done.exit_code == 3
    key = key_of_held("claim", "shop/orders", DAY)
    assert f"DELETE /api/v2/assets/7/state-store/{quote(key, safe='')}" in done.output


def test_there_is_nothing_to_create(landmark: Landmark, api: Api) -> None:
    """Airflow has made the table already."""
    assert landmark("ledger", "create", "--ledger", api.url).exit_code == 2


@pytest.mark.parametrize("status", [401, 403, 404, 500])
def test_refusals_of_the_server(status: int, landmark: Landmark, api: Api) -> None:
    """Whatever it refuses with, nobody knows what is taken; the token is in no text."""
    api.status = status
    shown = landmark("ledger", "show", "--ledger", api.url)
    assert shown.exit_code == 3
    assert TOKEN not in shown.output


def test_asset_that_is_not_there(landmark: Landmark, api: Api) -> None:
    """A name that only resembles others is none of them."""
    api.assets = [{"id": 6, "name": "orders_old"}, {"id": "7", "name": "orders"}, {"name": "orders"}, 7]
    shown = landmark("ledger", "show", "--ledger", api.url)
    assert shown.exit_code == 3
    assert "no such asset" in shown.output


@pytest.mark.parametrize("kept", [None, 7, "x", [], {}, {"version": True}, value(0), value(1, owner="a\nb")])
def test_values_that_no_ledger_wrote(kept: Any, landmark: Landmark, api: Api) -> None:
    """They are named, not shown as something else."""
    api.keep("taken", DAY, kept)
    shown = landmark("ledger", "show", "--ledger", api.url)
    assert shown.exit_code == 3
    assert "what no ledger wrote" in " ".join(shown.output.split())


@pytest.mark.parametrize(
    "text",
    [
        "airflow+http://h/", "airflow+http://h/?asset=", "airflow+http://h/?asset=a&asset=b",
        "airflow+http://h/?asset=a&x=1", "airflow+http://h/?asset=a#f", "airflow+ftp://h/?asset=a",
        "airflow+http://?asset=a", "airflow+http://u:pw-EXAMPLE-1@h/?asset=a", "airflow+http://h:x/?asset=a",
        "airflow+http://[/?asset=a",
    ],
)  # fmt: skip
def test_wrong_addresses_are_wrong_usage(text: str, landmark: Landmark) -> None:
    """What names no asset of an Airflow is refused before anything is asked."""
    shown = landmark("ledger", "show", "--ledger", text)
    assert shown.exit_code == 2
    assert "pw-EXAMPLE-1" not in shown.output


@pytest.mark.parametrize("more", [["--table", "t"], ["--conn-id", "c"], ["--option", "region=x"]])
def test_options_of_other_ledgers_are_wrong_usage(more: list[str], landmark: Landmark, api: Api) -> None:
    """There is no table, no connection and no bucket."""
    assert landmark("ledger", "show", "--ledger", api.url, *more).exit_code == 2


@given(
    st.from_regex(r"[A-Za-z0-9._/-]{1,200}", fullmatch=True),
    st.sampled_from(["taken", "claim"]),
    st.datetimes(),
    st.timedeltas(),
)
def test_keys_are_read_as_they_were_made(dataset: str, word: Any, start: Any, length: Any) -> None:
    """A key tells word, dataset and interval again, and fits into Airflow's column."""
    try:
        interval = Interval.parse(f"{start.isoformat()}Z/{(start + length).isoformat()}Z")
    except (ValueError, OverflowError):
        return
    key = key_of_held(word, dataset, interval)
    assert read_key(key) == (word, dataset, interval)
    assert len(key) <= 300
    assert unquote(quote(key, safe="")) == key


@given(st.text() | st.from_regex(r"landmark_(taken|claim):.{0,300}", fullmatch=True))
def test_other_keys_are_none(key: str) -> None:
    """Whatever a key is, it is one that a ledger made or none."""
    named = read_key(key)
    assert named is None or key_of_held(*named) == key
