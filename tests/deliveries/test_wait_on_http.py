"""Waits on a real HTTP server, with the real watch and the machine's clock."""

from __future__ import annotations

import asyncio
import gzip
import json
import re
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import timedelta
from itertools import pairwise
from typing import Any

import anyio
import pytest

from airflow_landmark.deliveries import (
    Acceptance,
    BadDelivery,
    Delivery,
    accept,
    check,
    wait,
)
from airflow_landmark.deliveries import _entry as entries
from airflow_landmark.markers import Interval
from airflow_landmark.stores import HttpAccess, LastingTrouble
from httpserver import Answer, HttpServer, Page

Make = Callable[..., Any]
FILES = {"a.csv": b"id\n1\n", "day 1/b+c%20.csv": b"id\n2\n3\n" * 1000}
PATHS = {"a.csv": "/in/a.csv", "day 1/b+c%20.csv": "/in/day%201/b%2Bc%2520.csv"}
MARKER = "/in/_delivery.json"


@pytest.fixture
def server() -> Iterator[HttpServer]:
    """Return a running server with nothing on it."""
    with HttpServer() as server:
        yield server


@pytest.fixture
def put(server: HttpServer, make_marker: Make) -> Callable[..., bytes]:
    """Return a function that puts a delivery on the server."""

    def put(version: int = 1, *, name: str = MARKER, **more: Any) -> bytes:
        server.pages |= {PATHS[path]: Page.of(data) for path, data in FILES.items()}
        data: bytes = make_marker(version, **{"files": FILES, **more})
        server.pages[name] = Page.of(data)
        return data

    return put


@pytest.fixture
def terms(make_terms: Make, server: HttpServer) -> Callable[..., Any]:
    """Return a function that makes terms for the marker on the server."""

    def make(name: str = MARKER, **more: Any) -> Any:
        return make_terms(f"{server.origin}{name}", **{"poll_interval": 0.2, **more})

    return make


async def until(condition: Callable[[], bool]) -> None:
    """Wait for something that happens beside the test."""
    with anyio.fail_after(20):
        while not condition():
            await anyio.sleep(0.005)


async def test_a_delivery_that_comes_is_accepted(
    started: Any, server: HttpServer, put: Make, terms: Make
) -> None:
    """Absent, then there: seen by a look, verified by its digests, checked, and opened."""
    task = started.add(wait(terms(verify="digests"), tell=started.told.append))
    await until(lambda: len(server.seen) >= 2)
    assert "404: nothing there" in started.told[0]
    put(3)
    await until(task.done)
    outcome = task.result()
    assert (outcome.kind, outcome.stamp.version) == ("arrived", 3)
    assert outcome.stamp.pin.etag == server.pages[MARKER].etag  # type: ignore[union-attr]
    accepted = await accept(terms(verify="digests"), stamp=outcome.stamp)
    assert accepted.report.ok
    assert accepted.report.digests == {"sha256": 2}
    checked = await check(f"{server.origin}/in/", level="rows")
    assert checked.report is not None
    assert checked.report.ok
    delivery = Delivery.from_xcom(json.loads(json.dumps(accepted.delivery.to_xcom())))
    for path, data in FILES.items():
        file = await anyio.to_thread.run_sync(delivery.open, path)
        with file:
            assert file.read() == data
    assert server.until_closed() == 0


async def test_nothing_is_asked_after_the_end(
    started: Any, server: HttpServer, put: Make, terms: Make
) -> None:
    """When the last wait has ended, no request and no connection is left."""
    put()
    task = started.add(wait(terms()))
    await until(task.done)
    asked = len(server.seen)
    assert server.until_closed() == 0
    await anyio.sleep(0.5)
    assert len(server.seen) == asked


async def test_an_unchanged_marker_is_not_sent_again(
    started: Any, server: HttpServer, put: Make, terms: Make
) -> None:
    """Polls are conditional, also those for a version that is not there yet."""
    put(1)
    task = started.add(wait(terms(min_version=2)))
    await until(lambda: len(server.seen) >= 4)
    etag = server.pages[MARKER].etag  # type: ignore[union-attr]
    assert [seen.headers.get("If-None-Match") for seen in server.seen[:4]] == [None, etag, etag, etag]
    assert all(seen.headers["Cache-Control"] == "no-cache" for seen in server.seen)
    put(2)
    await until(task.done)
    assert task.result().stamp.version == 2


async def test_yesterdays_marker_is_waited_out(
    started: Any, server: HttpServer, put: Make, terms: Make
) -> None:
    """A marker of another interval is told once, and waited out, whatever the server says of its age."""
    day = timedelta(days=1)
    expected = terms().expectation.interval
    put(interval=Interval(expected.start - day, expected.end - day))
    task = started.add(wait(terms(), tell=started.told.append))
    await until(lambda: len(server.seen) >= 4)
    assert not task.done()
    assert len(started.told) == 1
    put()
    await until(task.done)
    assert task.result().kind == "arrived"


@pytest.mark.parametrize("page", [b"<html>Please log in</html>", b'{"error": "not found"}'])
async def test_a_page_that_is_no_marker(
    started: Any, server: HttpServer, put: Make, terms: Make, page: bytes
) -> None:
    """200 with something else is unreadable, and waited out while it is young."""
    server.pages[MARKER] = Page.of(page)
    task = started.add(wait(terms()))
    await until(lambda: len(server.seen) >= 2)
    put()
    await until(task.done)
    assert (task.result().kind, "unreadable" in task.result().looks.seen) == ("arrived", True)


async def test_trouble_is_waited_out(
    started: Any, server: HttpServer, put: Make, terms: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """503, 503, a reset, then the marker: one request a poll, none of them early."""
    put()
    server.script[MARKER] = deque([Answer(503), Answer(503), Answer(reset=True)])
    monkeypatch.setattr(entries, "_MAX_BACKOFF_SECONDS", 0.4)
    task = started.add(wait(terms(poll_interval=0.4)))
    await until(task.done)
    assert task.result().kind == "arrived"
    assert task.result().looks.seen == {"trouble": 3, "arrived": 1}
    at = [seen.at for seen in server.asked(MARKER)]
    assert len(at) == 4
    assert min(b - a for a, b in pairwise(at)) > 0.2


async def test_retry_after_is_honoured(started: Any, server: HttpServer, put: Make, terms: Make) -> None:
    """A server that asks to be left alone is."""
    put()
    server.script[MARKER] = deque([Answer(429, headers={"Retry-After": "1"})])
    task = started.add(wait(terms(poll_interval=0.1)))
    await until(task.done)
    first, second = server.asked(MARKER)
    assert second.at - first.at >= 1.0


@pytest.mark.parametrize("status", [401, 403])
async def test_a_refusal_fails_after_a_bounded_number_of_looks(
    started: Any, server: HttpServer, terms: Make, status: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What waiting does not mend ends the wait, with the reason."""
    monkeypatch.setattr(entries, "_MAX_BACKOFF_SECONDS", 0.1)
    server.pages[MARKER] = status
    task = started.add(wait(terms(poll_interval=0.1)))
    await until(task.done)
    assert task.result().kind == "failed"
    assert str(status) in task.result().text
    assert len(server.seen) < 10


async def test_many_waits_on_one_marker_share_one_look(
    started: Any, server: HttpServer, put: Make, terms: Make
) -> None:
    """500 waits for different versions of one marker cost one request a poll, and each gets its own."""
    put(1)
    for n in range(500):
        started.add(wait(terms(min_version=1 + n % 5)))
    await until(lambda: started.outcomes["arrived"] == 100)
    for version in range(2, 6):
        put(version)
        await until(lambda version=version: started.outcomes["arrived"] == 100 * version)  # type: ignore[misc]
    at = [seen.at for seen in server.seen]
    assert len(at) <= 2 + (at[-1] - at[0]) / 0.2
    assert (server.made, server.most_in_flight) == (1, 1)


async def test_a_slow_path_delays_no_other(started: Any, server: HttpServer, put: Make, terms: Make) -> None:
    """Waits beside one whose server does not answer are polled and fire."""
    server.script["/slow/_delivery.json"] = deque([Answer(delay_seconds=30.0)])
    started.add(wait(terms("/slow/_delivery.json")))
    others = [started.add(wait(terms(f"/{n}/_delivery.json"))) for n in range(50)]
    await until(lambda: len(server.asked("/7/_delivery.json")) >= 3)
    for n in range(50):
        put(name=f"/{n}/_delivery.json")
    await until(lambda: all(task.done() for task in others))
    assert started.outcomes == {"arrived": 50}


async def test_many_waits_on_a_slow_server(started: Any, server: HttpServer, put: Make, terms: Make) -> None:
    """300 waits on a server that takes its time: all arrive, and no look fails for want of a connection."""
    marker = put()
    for n in range(300):
        path = f"/{n}/_delivery.json"
        server.script[path] = deque([Answer(200, marker, delay_seconds=0.02)] * 5)
        started.add(wait(terms(path)))
    await until(lambda: started.outcomes["arrived"] == 300)
    assert all(task.result().looks.seen == {"arrived": 1} for task in started.tasks)
    assert server.made <= 32


async def test_files_that_arrive_behind_the_marker(
    started: Any, server: HttpServer, put: Make, terms: Make
) -> None:
    """Data that is completed after its marker makes the delivery arrive, and not earlier."""
    put()
    whole = server.pages["/in/a.csv"]
    server.pages["/in/a.csv"] = Page.of(b"id")
    task = started.add(wait(terms(verify="digests")))
    await until(lambda: len(server.asked("/in/a.csv")) >= 2)
    assert not task.done()
    server.pages["/in/a.csv"] = whole
    await until(task.done)
    assert set(task.result().looks.seen) == {"incomplete", "arrived"}


async def test_files_that_come_compressed(server: HttpServer, put: Make) -> None:
    """Sizes and digests are those of the files, however they travel."""
    put()
    server.pages["/in/a.csv"] = Page.of(gzip.compress(FILES["a.csv"]), coding="gzip")
    checked = await check(f"{server.origin}/in/")
    assert checked.report is not None
    assert checked.report.ok


async def test_a_replaced_marker_is_noticed(server: HttpServer, put: Make, terms: Make) -> None:
    """Between the event and its resume the marker may change; that is seen by its content."""
    put(1)
    stamp = (await wait(terms())).stamp
    put(1, producer="somebody else")
    with pytest.raises(BadDelivery):
        await accept(terms(), stamp=stamp)
    put(2)
    accepted = await accept(terms(), Acceptance(again_seconds=()), stamp=stamp)
    assert accepted.delivery.version == 2


async def test_credentials_go_along_on_every_way(
    started: Any, server: HttpServer, put: Make, terms: Make
) -> None:
    """The wait's look, presence and verification bring the same credentials."""
    put()
    access = HttpAccess(origin=server.origin, username="ann", password="s3cret", query="sig=1")  # noqa: S106
    own = terms(verify="digests")
    own = replace(own, target=replace(own.target, address=replace(own.target.address, access=access)))
    outcome = await wait(own)
    assert outcome.kind == "arrived"
    await check(f"{server.origin}/in/", access=access)
    sent = {(seen.headers.get("Authorization"), seen.query) for seen in server.seen}
    assert sent == {("Basic YW5uOnMzY3JldA==", "sig=1")}
    assert not re.search("s3cret|sig=1", str(outcome))


async def test_unexpected_files_cannot_be_looked_for(server: HttpServer, put: Make) -> None:
    """A check that needs a listing says that HTTP has none."""
    put()
    checked = check(f"{server.origin}/in/", on_unexpected="fail")
    try:
        text = str(await checked)
    except LastingTrouble as error:
        text = str(error)
    assert "cannot be listed" in text


async def test_cancelling_leaves_nothing(server: HttpServer, terms: Make) -> None:
    """However far waits have come when they are cancelled, no task and no connection is left."""
    before = asyncio.all_tasks()
    for delay in (0.0, 0.05, 0.11, 0.15, 0.3):
        tasks = [asyncio.ensure_future(wait(terms(f"/{n}/_delivery.json"))) for n in range(20)]
        await asyncio.sleep(delay)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await asyncio.sleep(0.01)
        assert asyncio.all_tasks() == before
    assert server.until_closed() == 0
