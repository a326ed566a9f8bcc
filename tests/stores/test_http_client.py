"""The client behind the HTTP store: one for all users, built beside the loop, and replaceable."""

from __future__ import annotations

import asyncio
import ssl
import subprocess
import sys
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
import trustme

from airflow_landmark.stores import Address, HttpAccess, LastingTrouble, Look, open_store, parse_uri
from airflow_landmark.stores import _http_client as seam
from airflow_landmark.stores._http import HttpStore
from airflow_landmark.stores._http_httpx import HttpxClient
from httpserver import HttpServer

On = Callable[..., Address]
Make = Callable[..., Any]


async def test_one_client_for_all(http_server: HttpServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """200 users of one access share a client, other settings have their own, the last one closes it."""
    built = []
    really = HttpxClient.__init__

    def counted(self: Any, access: HttpAccess) -> None:
        built.append(access)
        really(self, access)

    monkeypatch.setattr(HttpxClient, "__init__", counted)
    settings = [HttpAccess(), HttpAccess(read_timeout=3.0)]

    async def use(n: int) -> None:
        address = parse_uri(f"{http_server.origin}/in/{n}", access=settings[n % 2])
        async with open_store(address) as store:
            await store.look(address)
            await anyio.sleep(0.2)

    async with anyio.create_task_group() as group:
        for n in range(200):
            group.start_soon(use, n)
    assert (len(built), set(built)) == (2, set(settings))
    assert http_server.until_closed() == 0


async def test_it_is_built_beside_the_loop(loop_gaps: Any) -> None:
    """Neither the client nor the certificates to trust are loaded by the loop."""
    with HttpServer(tls=server_context()) as server:
        async with loop_gaps() as gaps:
            for n in range(10):
                address = parse_uri(f"{server.origin}/m.json", access=HttpAccess(read_timeout=5.0 + n))
                async with open_store(address) as store:
                    with pytest.raises(LastingTrouble, match="TLS"):
                        await store.look(address)
    assert max(gaps) < 0.1


def server_context() -> ssl.SSLContext:
    """A context for a server that nobody trusts."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    trustme.CA().issue_cert("127.0.0.1").configure_cert(context)
    return context


async def test_one_context_for_all(
    make_http: Make, on: On, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The certificates to trust are loaded once for looks that begin together."""
    from airflow_landmark.stores import _http_tls as tls

    trustme.CA().cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    store = await make_http(verify=str(tmp_path / "ca.pem"))
    built = []
    really = tls._build
    monkeypatch.setattr(tls, "_build", lambda verify: built.append(verify) or really(verify))
    with HttpServer(tls=server_context()) as server:
        looks = await store.look_many({on(str(n), origin=server.origin): None for n in range(10)})
    assert {type(look) for look in looks.values()} == {LastingTrouble}
    assert len(built) == 1


def test_importing_the_store_imports_no_client() -> None:
    """What takes long to import waits until it is needed, in a thread."""
    code = "import sys; import airflow_landmark.stores._http; sys.exit('httpx' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


async def test_without_httpx(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who has not installed the extra is told the line that does."""
    monkeypatch.setattr(seam, "find_spec", lambda name: None)
    with pytest.raises(LastingTrouble) as caught:
        await HttpStore(HttpAccess()).start()
    assert "pip install 'airflow-landmark[http]'" in str(caught.value)


@pytest.mark.parametrize("kind", ["asyncio", "uvloop"])
def test_any_loop_of_asyncio(http_server: HttpServer, on: On, kind: str) -> None:
    """The client runs on the loops that a process may have, and finds hosts by name."""
    loop = pytest.importorskip("uvloop").new_event_loop() if kind == "uvloop" else asyncio.new_event_loop()
    http_server.pages["/in/m.json"] = b"hello"

    async def look() -> Look:
        store = await HttpStore(HttpAccess()).start()
        try:
            return await store.look(on(origin=f"http://localhost:{http_server.port}"))
        finally:
            await store.aclose()

    try:
        assert loop.run_until_complete(look()).data == b"hello"
    finally:
        loop.run_until_complete(loop.shutdown_default_executor())
        loop.close()


async def test_a_target_is_sent_as_it_is(http_server: HttpServer) -> None:
    """Nothing of a path or query is encoded, decoded or resolved on the way, and headers keep their order."""
    path, query = "/in/a%2Fb//c+d;e=f,%5B1%5D%2a/.x/%2E%2e/~!$&'()*:@", "x=%2f+&y=a%20b?/z"
    client = HttpxClient(HttpAccess())
    headers = [(b"host", b"example.com"), (b"x-b", b"\xe4"), (b"x-a", b"2")]
    try:
        async with client.send("GET", http_server.origin, f"{path}?{query}", headers) as answer:
            assert answer.status == 404
    finally:
        await client.aclose()
    [seen] = http_server.seen
    assert (seen.path, seen.query) == (path, query)
    assert [name.lower() for name in seen.headers] == ["host", "x-b", "x-a"]


async def test_a_host_that_is_none(http: Any) -> None:
    """A host that no request can go to is told at once, since only a person can mend it."""
    with pytest.raises(LastingTrouble, match="check the host"):
        await http.look(parse_uri("http://999.1.1.1/m.json"))


# Another client


class Scripted:
    """A client that answers from memory."""

    def __init__(self) -> None:
        self.sent: list[tuple[str, str, str]] = []
        self.closed = False

    @asynccontextmanager
    async def send(self, method: str, origin: str, target: str, headers: Any) -> AsyncIterator[Any]:
        """Note the request, and say that it is there."""
        self.sent.append((method, origin, target))
        yield _Said()

    async def aclose(self) -> None:
        """Note it."""
        self.closed = True


class _Said:
    status = 200

    def header(self, name: str) -> str | None:
        return {"etag": '"e"'}.get(name)

    async def chunks(self) -> AsyncGenerator[bytes, None]:
        yield b"hel"
        yield b"lo"


async def test_another_client(make_http: Make) -> None:
    """Any client that fills the seam can stand behind the store."""
    client = Scripted()
    store = await make_http(client=client)
    assert (await store.look(parse_uri("https://example.com/in/a%2Bb.json"))).data == b"hello"
    assert client.sent == [("GET", "https://example.com", "/in/a%2Bb.json")]
    await store.aclose()
    assert client.closed
