"""The connections behind the HTTP store: kept, shared, bounded, and closed."""

from __future__ import annotations

import asyncio
import gc
import socket
from collections import deque
from collections.abc import Callable
from contextlib import aclosing
from typing import Any

import anyio
import pytest

from airflow_landmark.stores import Address, Look, PassingTrouble, StoreError, parse_uri
from airflow_landmark.stores import _http_httpx as client
from airflow_landmark.stores import _http_lane as lanes
from faultproxy import FaultProxy
from httpserver import Answer, HttpServer, Page

On = Callable[..., Address]
Make = Callable[..., Any]


async def test_connections_are_kept(http: Any, on: On, http_server: HttpServer) -> None:
    """Many requests one after another need one connection, whatever they are answered."""
    http_server.pages["/in/a"] = b"hello"
    http_server.pages["/in/b"] = 503
    for name in ("a", "b", "c", "a"):
        for ask in (http.look, http.facts):
            try:
                await ask(on(name))
            except StoreError:
                continue
    assert http_server.made == 1
    await http.aclose()
    assert http_server.until_closed() == 0


async def test_a_long_error_page_is_not_read(http: Any, on: On, http_server: HttpServer) -> None:
    """Of a refusal only what costs less than a new connection is read."""
    http_server.fallback = Answer(404, bytes(10_000))
    await http.look(on())
    await http.look(on())
    assert http_server.made == 1
    http_server.fallback = Answer(404, bytes(10_000_000))
    await http.look(on())
    await http.look(on())
    assert http_server.made == 2


async def test_few_connections_for_many_looks(http: Any, on: On, http_server: HttpServer) -> None:
    """300 looks at a server that takes its time share few connections, and none times out waiting for one."""
    http_server.script = {f"/in/{n}": deque([Answer(404, delay_seconds=0.02)]) for n in range(300)}
    results = await http.look_many({on(str(n)): None for n in range(300)})
    assert [look for look in results.values() if not isinstance(look, Look)] == []
    assert http_server.most_in_flight <= 16
    assert http_server.made <= 16


async def test_connections_to_many_origins_are_bounded(
    http: Any, on: On, monkeypatch: pytest.MonkeyPatch
) -> None:
    """When too many are kept, the one that was idle for longest makes room."""
    monkeypatch.setattr(client, "_MAX_LANES", 2)
    with HttpServer() as a, HttpServer() as b, HttpServer() as c:
        for server in (a, b, a, c, a):
            await http.look(on(origin=server.origin))
        assert b.until_closed() == 0
        assert (a.made, a.open, c.open) == (1, 1, 1)


async def test_connections_that_are_idle_for_long_are_closed(
    http: Any, on: On, http_server: HttpServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a burst has opened is closed again while other looks go on."""
    http_server.script = {f"/in/{n}": deque([Answer(404, delay_seconds=0.1)]) for n in range(8)}
    await http.look_many({on(str(n)): None for n in range(8)})
    assert http_server.open == 8
    monkeypatch.setattr(client, "KEEP_SECONDS", 0.0)
    for _ in range(8):
        await http.look(on())
    with anyio.fail_after(5):
        while http_server.open > 1:
            await anyio.sleep(0.01)


@pytest.mark.parametrize("closes", ["while idle", "when used"])
async def test_a_connection_that_the_server_gave_up(
    make_http: Make, on: On, http_server: HttpServer, closes: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """That a server closes what was idle for a while is no trouble of the look that finds out."""
    monkeypatch.setattr(lanes, "_STALE_SECONDS", 0.0)
    http_server.pages["/in/m.json"] = b"hello"
    store = await make_http()
    with FaultProxy("127.0.0.1", http_server.port) as proxy:
        there = on(origin=f"http://127.0.0.1:{proxy.port}")
        await store.look(there)
        proxy.mode, proxy.faults = "reset", 1
        if closes == "while idle":
            for handler in list(http_server._server.connections):
                http_server._loop.call_soon_threadsafe(handler.transport.abort)
            http_server.until_closed()
            await anyio.sleep(0.2)
            proxy.mode = "pass"
        assert (await store.look(there)).data == b"hello"
        assert proxy.connections == 2


async def test_a_fresh_connection_is_not_tried_twice(http: Any, on: On, http_server: HttpServer) -> None:
    """A request that a server resets is not sent again at once."""
    http_server.pages["/in/m.json"] = b"hello"
    await http.look(on())
    http_server.script["/in/m.json"] = deque([Answer(reset=True)])
    with pytest.raises(PassingTrouble):
        await http.look(on())
    assert len(http_server.seen) == 2


async def test_a_new_connection_after_an_idle_one_is_not_tried_twice(
    http: Any, on: On, http_server: HttpServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only a connection that was idle can have been given up meanwhile."""
    monkeypatch.setattr(lanes, "_STALE_SECONDS", 0.0)
    http_server.script["/in/m.json"] = deque(
        [Answer(raw=b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n1"), Answer(reset=True)]
    )
    await http.look(on())
    http_server.until_closed()
    await anyio.sleep(0.05)
    with pytest.raises(PassingTrouble):
        await http.look(on())
    assert len(http_server.seen) == 2


@pytest.mark.parametrize("more", [b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n2", b"no HTTP\r\n\r\n"])
@pytest.mark.parametrize("later", [False, True])
async def test_bytes_that_come_unasked(
    http: Any, on: On, http_server: HttpServer, more: bytes, later: bool
) -> None:
    """A connection on which a server speaks first is not used again, even if both come at once."""
    one = b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n1"
    raw = one if later else one + more
    http_server.script["/in/m.json"] = deque([Answer(200, b"4", raw=raw, closes=False)])
    http_server.pages["/in/m.json"] = b"3"
    assert (await http.look(on())).data == b"1"
    assert (await http.look(on())).data == b"3"
    assert http_server.made == 2


@pytest.mark.parametrize("how", ["cancelled", "left early", "timed out", "broken"])
async def test_nothing_stays_open(
    make_http: Make, on: On, http_server: HttpServer, how: str, no_descriptor_left: None
) -> None:
    """However an exchange ends, its connection is closed or free."""
    store = await make_http(read_timeout=0.2 if how == "timed out" else 20.0)
    http_server.pages["/in/a"] = Page.of(bytes(10_000_000), drip_seconds=0.05)
    http_server.script["/in/b"] = deque([Answer(delay_seconds=1.0)])
    http_server.script["/in/c"] = deque([Answer(raw=b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n1")])
    if how == "cancelled":
        for name in ("a", "b"):
            with anyio.move_on_after(0.1) as scope:
                await store.look(on(name))
            assert scope.cancelled_caught
    elif how == "left early":
        async with aclosing(store.read(on("a"))) as chunks:
            assert await anext(chunks)
    else:
        with pytest.raises(PassingTrouble):
            await store.look(on("b" if how == "timed out" else "c"))
    assert (await store.look(on("d"))).sighting is None
    await store.aclose()
    gc.collect()
    assert http_server.until_closed() == 0


async def test_a_cancelled_task_ends(http: Any, on: On, http_server: HttpServer) -> None:
    """Cancelling reaches through, at whatever point a look is."""
    http_server.pages["/in/a"] = Page.of(bytes(1_000_000), drip_seconds=0.01)
    for turns in range(40):
        task = asyncio.ensure_future(http.look(on("a")))
        for _ in range(turns):
            await asyncio.sleep(0.001 if turns % 2 else 0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    assert (await http.look(on("b"))).sighting is None


async def test_a_handshake_that_is_hung_up_on(http: Any, no_descriptor_left: None) -> None:
    """A server that is going down says nothing of trust: it may be well next time."""

    async def hang_up(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1)
        writer.close()

    async with await asyncio.start_server(hang_up, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        with pytest.raises(PassingTrouble):
            await http.look(parse_uri(f"https://127.0.0.1:{port}/m.json"))
    await http.aclose()
    gc.collect()


async def test_tls_that_is_never_agreed_on(make_http: Make, no_descriptor_left: None) -> None:
    """A handshake that is cancelled, or takes too long, leaves no connection behind."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        address = parse_uri(f"https://127.0.0.1:{listener.getsockname()[1]}/m.json")
        store = await make_http(connect_timeout=0.3)
        with anyio.move_on_after(0.1) as scope:
            await store.look(address)
        assert scope.cancelled_caught
        with pytest.raises(PassingTrouble, match="no connection in time"):
            await store.look(address)
        await store.aclose()
    gc.collect()
