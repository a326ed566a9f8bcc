"""Answers that are no success, and exchanges that break: each has its class and its text."""

from __future__ import annotations

import socket
import ssl
import time
from collections import deque
from collections.abc import Callable, Iterator
from email.utils import formatdate
from pathlib import Path
from typing import Any

import pytest
import trustme

from airflow_landmark.stores import Absent, Address, InvalidAccess, LastingTrouble, PassingTrouble, parse_uri
from faultproxy import FaultProxy
from httpserver import Answer, HttpServer, Page

On = Callable[..., Address]
Make = Callable[..., Any]


@pytest.mark.parametrize("status", [408, 425, 429, 500, 502, 503, 504, 599])
async def test_passing_statuses(http: Any, on: On, http_server: HttpServer, status: int) -> None:
    """A server in trouble may be well at the next try."""
    http_server.pages["/in/m.json"] = status
    for ask in (http.look, http.facts):
        with pytest.raises(PassingTrouble) as caught:
            await ask(on())
        assert str(status) in caught.value.reason
        assert caught.value.retry_after is None


@pytest.mark.parametrize("status", [204, 206, 300, 400, 401, 403, 405, 407, 409, 414, 418, 451, 499])
async def test_lasting_statuses(http: Any, on: On, http_server: HttpServer, status: int) -> None:
    """A server that refuses, or answers what nobody asked for, needs a person."""
    http_server.pages["/in/m.json"] = status
    for ask in (http.look, http.facts):
        with pytest.raises(LastingTrouble, match=str(status)) as caught:
            await ask(on())
        assert not isinstance(caught.value, PassingTrouble)
        assert caught.value.place == on().uri


async def test_each_refusal_has_its_remedy(
    http: Any, make_http: Make, on: On, http_server: HttpServer
) -> None:
    """401, 403 and 407 say what to do, and 401 whether there were credentials."""
    known = await make_http(origin=http_server.origin, username="u")
    texts = set()
    for status, store in ((401, http), (401, known), (403, http), (407, http)):
        http_server.pages["/in/m.json"] = status
        with pytest.raises(LastingTrouble) as caught:
            await store.look(on())
        texts.add(caught.value.reason)
    assert len(texts) == 4
    assert any("give a connection with login and password" in text for text in texts)
    assert any(f"the connection for {http_server.origin}" in text for text in texts)
    assert any("treat_403_as_missing" in text for text in texts)
    assert any("proxy's URL" in text for text in texts)


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        ("7", 7.0),
        ("0", 0.0),
        ("999999", 3600.0),
        ("-3", None),
        ("soon", None),
        ("9" * 40, None),
        ("1.5", None),
    ],
)
async def test_retry_after(
    http: Any, on: On, http_server: HttpServer, header: str, seconds: float | None
) -> None:
    """What the server asks is handed on, in bounds."""
    http_server.script["/in/m.json"] = deque([Answer(429, headers={"Retry-After": header})])
    with pytest.raises(PassingTrouble) as caught:
        await http.look(on())
    assert caught.value.retry_after == seconds


async def test_retry_after_as_a_date(http: Any, on: On, http_server: HttpServer) -> None:
    """A date counts by the server's clock."""
    other = time.time() - 5 * 86400
    headers = {"Date": formatdate(other, usegmt=True), "Retry-After": formatdate(other + 90, usegmt=True)}
    http_server.script["/in/m.json"] = deque([Answer(503, headers=headers)])
    with pytest.raises(PassingTrouble) as caught:
        await http.look(on())
    assert caught.value.retry_after == 90.0


async def test_gone(http: Any, make_http: Make, on: On, http_server: HttpServer) -> None:
    """410 is waited out or fails, as the option says."""
    http_server.pages["/in/m.json"] = 410
    assert (await http.look(on())).sighting is None
    with pytest.raises(Absent):
        await http.facts(on())
    strict = await make_http(gone="fail")
    for ask in (strict.look, strict.facts):
        with pytest.raises(LastingTrouble, match="gone for good"):
            await ask(on())


async def test_403_that_counts_as_missing(make_http: Make, on: On, http_server: HttpServer) -> None:
    """Where the Dag says so, a refusal is an absent marker."""
    http_server.pages["/in/m.json"] = 403
    store = await make_http(treat_403_as_missing=True)
    look = await store.look(on())
    assert (look.sighting, look.reason) == (None, "403: no access, which counts as missing here")
    with pytest.raises(Absent):
        await store.facts(on())


async def test_texts_hold_nothing_of_the_servers(http: Any, on: On, http_server: HttpServer) -> None:
    """What a server writes into an answer does not get into messages."""
    headers = {"WWW-Authenticate": "secret-realm", "X-Reason": "secret-reason"}
    for status in (401, 403, 404, 418, 503):
        http_server.script["/in/m.json"] = deque([Answer(status, b"secret-body", headers)])
        try:
            text = (await http.look(on())).reason
        except (LastingTrouble, PassingTrouble) as error:
            text = str(error)
        assert "secret" not in text


@pytest.mark.parametrize(
    "answer",
    [
        Answer(reset=True),
        Answer(raw=b""),
        Answer(raw=b"SSH-2.0-OpenSSH_9.7\r\n"),
        Answer(raw=b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nonly so much"),
        Answer(raw=b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n"),
        Answer(raw=b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello!"),
        Answer(raw=b"HTTP/1.1 200 OK\r\nX: " + b"x" * 200_000),
    ],
)
async def test_broken_answers_pass(http: Any, on: On, http_server: HttpServer, answer: Answer) -> None:
    """Resets, cut bodies and what is no HTTP are passing trouble, and the next look is well."""
    http_server.pages["/in/m.json"] = b"hello"
    http_server.script["/in/m.json"] = deque([answer])
    with pytest.raises(PassingTrouble):
        await http.look(on())
    assert (await http.look(on())).data == b"hello"


async def test_nobody_listens(http: Any, on: On) -> None:
    """A server that is down is passing trouble."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    with pytest.raises(PassingTrouble, match="no connection"):
        await http.look(on(origin=f"http://127.0.0.1:{port}"))


async def test_an_unknown_host(http: Any) -> None:
    """A name that is not known now may be later: resolvers fail, too."""
    with pytest.raises(PassingTrouble, match="no connection"):
        await http.look(parse_uri("http://no-such-host.invalid/m.json"))


@pytest.mark.parametrize("mode", ["blackhole", "cut", "reset"])
async def test_a_network_that_fails(make_http: Make, on: On, http_server: HttpServer, mode: Any) -> None:
    """What a network does to connections passes, whether they are new or were used."""
    http_server.pages["/in/m.json"] = b"hello"
    store = await make_http(read_timeout=0.3)
    with FaultProxy("127.0.0.1", http_server.port) as proxy:
        there = on(origin=f"http://127.0.0.1:{proxy.port}")
        for _ in range(2):
            proxy.mode = mode
            with pytest.raises(PassingTrouble):
                await store.look(there)
            proxy.mode = "pass"
            assert (await store.look(there)).data == b"hello"


async def test_a_connection_that_is_never_made(make_http: Make) -> None:
    """A host that answers no connection request costs the connect timeout."""
    with socket.socket() as full:
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        address = full.getsockname()
        fillers = [socket.socket() for _ in range(8)]
        for filler in fillers:
            filler.setblocking(False)
            filler.connect_ex(address)
        try:
            store = await make_http(connect_timeout=0.2)
            with pytest.raises(PassingTrouble, match="no connection in time"):
                await store.look(parse_uri(f"http://127.0.0.1:{address[1]}/m.json"))
        finally:
            for filler in fillers:
                filler.close()


async def test_a_body_that_drips(
    make_http: Make, on: On, http_server: HttpServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A look has an end, however slowly its bytes come."""
    http_server.pages["/in/m.json"] = Page.of(b"x" * (1 << 20), drip_seconds=0.2)
    store = await make_http(read_timeout=1.0)
    monkeypatch.setattr(store, "_look_seconds", 0.5)
    with pytest.raises(PassingTrouble, match="no whole answer within"):
        await store.look(on())


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    """Return a CA that nobody trusts yet."""
    return trustme.CA()


@pytest.fixture
def tls_server(authority: trustme.CA) -> Iterator[HttpServer]:
    """Return a server whose certificate, for 127.0.0.1, that CA has signed."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(context)
    with HttpServer(tls=context) as server:
        server.pages["/in/m.json"] = b"hello"
        yield server


async def test_an_untrusted_certificate(http: Any, on: On, tls_server: HttpServer) -> None:
    """A server that cannot be trusted needs a person, who is told which option to set."""
    with pytest.raises(LastingTrouble, match=r"no trusted TLS connection .* the option verify"):
        await http.look(on(origin=tls_server.origin))
    assert not tls_server.seen


async def test_a_certificate_for_another_host(
    make_http: Make, on: On, tls_server: HttpServer, authority: trustme.CA, tmp_path: Path
) -> None:
    """A trusted certificate of somebody else is none."""
    authority.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    store = await make_http(verify=str(tmp_path / "ca.pem"))
    with pytest.raises(LastingTrouble, match="no trusted TLS connection"):
        await store.look(on(origin=f"https://localhost:{tls_server.port}"))


async def test_the_cas_that_an_option_names(
    make_http: Make, on: On, tls_server: HttpServer, authority: trustme.CA, tmp_path: Path
) -> None:
    """The file that verify names is trusted, and reused connections stay TLS."""
    authority.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    store = await make_http(verify=str(tmp_path / "ca.pem"))
    there = on(origin=tls_server.origin)
    assert (await store.look(there)).data == b"hello"
    assert (await store.look(there)).data == b"hello"
    assert tls_server.made == 1


async def test_the_cas_of_the_environment(
    make_http: Make,
    on: On,
    tls_server: HttpServer,
    authority: trustme.CA,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """SSL_CERT_FILE is what everybody expects it to be."""
    authority.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "ca.pem"))
    assert (await (await make_http()).look(on(origin=tls_server.origin))).data == b"hello"


async def test_no_check_at_all(make_http: Make, on: On, tls_server: HttpServer) -> None:
    """Who says so gets TLS without trust."""
    assert (await (await make_http(verify=False)).look(on(origin=tls_server.origin))).data == b"hello"


@pytest.mark.parametrize("content", [None, b"no certificate"])
async def test_a_file_that_holds_no_cas(
    make_http: Make, on: On, tls_server: HttpServer, tmp_path: Path, content: bytes | None
) -> None:
    """A missing or wrong file is the option's fault, and says so."""
    if content is not None:
        (tmp_path / "ca.pem").write_bytes(content)
    store = await make_http(verify=str(tmp_path / "ca.pem"))
    with pytest.raises(InvalidAccess, match="verify: no CAs"):
        await store.look(on(origin=tls_server.origin))


async def test_tls_with_a_server_that_has_none(http: Any, on: On, http_server: HttpServer) -> None:
    """Https where only http is spoken needs a person."""
    with pytest.raises(LastingTrouble, match="no trusted TLS connection"):
        await http.look(on(origin=http_server.origin.replace("http:", "https:")))
