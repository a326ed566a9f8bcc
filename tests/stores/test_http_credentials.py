"""Credentials go to their own origin, redirects stay within theirs."""

from __future__ import annotations

import base64
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from airflow_landmark.stores import (
    Address,
    HttpAccess,
    InvalidAccess,
    LastingTrouble,
    StoreError,
    parse_uri,
)
from httpserver import Answer, HttpServer

On = Callable[..., Address]
Make = Callable[..., Any]
SECRETS = {
    "username": "ann",
    "password": "s3cret",
    "headers": (("X-Token", "t0ken"), ("User-Agent", "own/1")),
    "query": "sig=s1gnature",
}


@pytest.fixture
def other() -> Iterator[HttpServer]:
    """Return a server at another origin."""
    with HttpServer() as server:
        yield server


def moved(location: str, status: int = 302) -> Answer:
    """A redirect."""
    return Answer(status, headers={"Location": location})


async def test_every_request_brings_them(make_http: Make, on: On, http_server: HttpServer) -> None:
    """Looks, facts and readings have the same credentials, the connection's headers in place of ours."""
    http_server.pages["/in/m.json"] = b"hello"
    store = await make_http(origin=http_server.origin, **SECRETS)
    await store.look(on())
    await store.facts(on())
    await store.digest(on(), ["sha256"])
    expected = "Basic " + base64.b64encode(b"ann:s3cret").decode()
    assert len(http_server.seen) == 3
    for seen in http_server.seen:
        assert seen.headers["Authorization"] == expected
        assert (seen.headers["X-Token"], seen.headers.getall("User-Agent")) == ("t0ken", ["own/1"])  # type: ignore[attr-defined]
        assert seen.query == "sig=s1gnature"


@pytest.mark.parametrize("secrets", [{"username": "ann"}, {"headers": (("X", "1"),)}, {"query": "a=1"}])
async def test_another_origin_gets_none(
    make_http: Make, on: On, http_server: HttpServer, other: HttpServer, secrets: dict[str, Any]
) -> None:
    """An address elsewhere is refused by name, and nothing is sent."""
    store = await make_http(origin=http_server.origin, **secrets)
    for ask in (store.look, store.facts, store.open):
        with pytest.raises(InvalidAccess, match=f"the connection is for {http_server.origin}"):
            await ask(on(origin=other.origin))
    assert not other.seen


@pytest.mark.parametrize("secrets", [{"username": ""}, {"headers": (("X", "1"),)}, {"query": "a=1"}])
async def test_credentials_for_nobody(make_http: Make, secrets: dict[str, Any]) -> None:
    """Credentials without an origin are for nobody."""
    with pytest.raises(InvalidAccess, match="names no host"):
        await make_http(**secrets)


async def test_an_origin_without_credentials_binds_nobody(
    make_http: Make, on: On, http_server: HttpServer, other: HttpServer
) -> None:
    """A connection that holds no secret may reach any origin."""
    other.pages["/in/m.json"] = b"hello"
    store = await make_http(origin=http_server.origin)
    assert (await store.look(on(origin=other.origin))).data == b"hello"


@pytest.mark.parametrize("origin", ["http://EXAMPLE.com", "HTTP://example.com:80", "http://example.com/"])
def test_origins_are_compared_as_rfc_6454_says(origin: str) -> None:
    """Case, the default port and a last slash make no other origin."""
    from airflow_landmark.stores import _http_credentials as credentials

    access = HttpAccess(origin=origin.rstrip("/"))
    assert credentials.trusted_origin(access) == credentials.origin_of(parse_uri("http://example.com/a/"))


@pytest.mark.parametrize("origin", ["example.com", "ftp://example.com", "http://u:p@example.com", "http://"])
async def test_no_origin(make_http: Make, origin: str) -> None:
    """What names no origin is refused before anything is sent."""
    with pytest.raises(InvalidAccess, match=r"origin: must be scheme://host\[:port\]"):
        await make_http(origin=origin, username="ann")


@pytest.mark.parametrize(
    "settings",
    [
        {"headers": (("X", "a\r\nY: b"),)},
        {"headers": (("X Y", "1"),)},
        {"headers": (("Host", "elsewhere"),)},
        {"headers": (("Range", "bytes=0-1"),)},
        {"headers": (("X", "s3cret\x00"),)},
        {"query": "a=1\r\nX: 1"},
        {"query": "a=s3cret#f"},
        {"query": "a=ä"},
    ],
)
async def test_what_cannot_be_sent(make_http: Make, http_server: HttpServer, settings: Any) -> None:
    """Headers and queries that would say something else are refused, without telling them."""
    with pytest.raises(InvalidAccess) as caught:
        await make_http(origin=http_server.origin, **settings)
    assert "s3cret" not in str(caught.value)


@pytest.mark.parametrize(("user", "encoded"), [("jörg", "jörg:".encode("latin-1")), ("日", "日:".encode())])
async def test_users_beyond_ascii(
    make_http: Make, on: On, http_server: HttpServer, user: str, encoded: bytes
) -> None:
    """Names are written as other clients write them."""
    store = await make_http(origin=http_server.origin, username=user)
    await store.look(on())
    sent = http_server.seen[0].headers["Authorization"]
    assert base64.b64decode(sent.removeprefix("Basic ")) == encoded


async def test_no_secret_is_told(make_http: Make, on: On, http_server: HttpServer) -> None:
    """Neither errors nor representations hold a secret, whatever goes wrong."""
    store = await make_http(origin=http_server.origin, **SECRETS)
    here = f"{http_server.origin}/in/m.json?sig=s1gnature"
    texts = [repr(store), str(vars(store)["_access"])]
    for answer in (
        Answer(401), Answer(403), Answer(500), Answer(reset=True), moved(here), moved("http://ann:s3cret@x/"),
        moved("https://x/?sig=s1gnature"), Answer(200, headers={"Content-Encoding": "br"}),
    ):  # fmt: skip
        http_server.script["/in/m.json"] = deque([answer] * 50)
        for ask in (store.look, store.facts, store.open):
            try:
                texts.append(repr(await ask(on())))
            except StoreError as error:
                texts += [str(error), repr(error), repr(error.__cause__), repr(error.__context__)]
    told = " ".join(texts)
    assert len(texts) > 80
    assert not [word for word in ("s3cret", "t0ken", "s1gnature", expected()) if word in told]


def expected() -> str:
    """User and password as they are sent."""
    return base64.b64encode(b"ann:s3cret").decode()


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
@pytest.mark.parametrize("location", ["/other/place", "../other/place", "?v=2", "{origin}/other/place"])
async def test_redirects_within_the_origin(
    make_http: Make, on: On, http_server: HttpServer, status: int, location: str
) -> None:
    """They are followed, with the credentials."""
    http_server.pages["/other/place"] = http_server.pages["/in/m.json"] = b"hello"
    store = await make_http(origin=http_server.origin, **SECRETS)
    http_server.script["/in/m.json"] = deque([moved(location.format(origin=http_server.origin), status)])
    look = await store.look(on())
    assert (look.data, look.sighting.address) == (b"hello", on())
    last = http_server.seen[-1]
    assert last.headers["X-Token"] == "t0ken"
    assert last.query == ("v=2&sig=s1gnature" if "?" in location else "sig=s1gnature")


async def test_a_query_that_comes_back_is_not_doubled(
    make_http: Make, on: On, http_server: HttpServer
) -> None:
    """Servers that hand the query on get it once."""
    http_server.pages["/b"] = b"hello"
    store = await make_http(origin=http_server.origin, **SECRETS)
    http_server.script["/in/m.json"] = deque([moved("/b?sig=s1gnature")])
    await store.look(on())
    assert http_server.seen[-1].query == "sig=s1gnature"


async def test_redirects_to_another_origin(
    make_http: Make, on: On, http_server: HttpServer, other: HttpServer
) -> None:
    """They are refused, with the origin's name and no more of where they lead, and nothing is sent there."""
    http_server.fallback = moved(f"{other.origin}/secret/path?sig=1")
    for settings in ({}, {"origin": http_server.origin, **SECRETS}):
        store = await make_http(**settings)
        for ask in (store.look, store.facts, store.open):
            with pytest.raises(LastingTrouble, match=f"another origin, '{other.origin}'") as caught:
                await ask(on())
            assert "secret/path" not in str(caught.value)
    assert not other.seen


@pytest.mark.parametrize("location", ["https://127.0.0.1:{port}/in/m.json", "http://127.0.0.1/in/m.json"])
async def test_the_same_host_by_other_means_is_another_origin(
    http: Any, on: On, http_server: HttpServer, location: str
) -> None:
    """Another scheme or port is another origin, and the text names it."""
    http_server.script["/in/m.json"] = deque([moved(location.format(port=http_server.port))])
    with pytest.raises(LastingTrouble, match=r"another origin, 'https?://127\.0\.0\.1"):
        await http.look(on())


@pytest.mark.parametrize(
    "location", ["", "http://a b/", "ftp://x/", "http://[::1", "//a b/", "x" * 9000, "http://u:p@x/"]
)
async def test_redirects_to_nowhere(http: Any, on: On, http_server: HttpServer, location: str) -> None:
    """A redirect that names no place is lasting trouble."""
    http_server.script["/in/m.json"] = deque([moved(location)])
    with pytest.raises(LastingTrouble, match="it redirects"):
        await http.look(on())


async def test_redirects_in_a_circle(http: Any, on: On, http_server: HttpServer) -> None:
    """Five redirects are followed, and no more."""
    http_server.fallback = moved("/in/m.json")
    with pytest.raises(LastingTrouble, match="more than 5 times"):
        await http.look(on())
    assert len(http_server.seen) == 6
    assert http_server.made == 1


async def test_hostile_locations_are_percent_encoded(http: Any, on: On, http_server: HttpServer) -> None:
    """What a redirect names is a path, whatever characters it holds."""
    http_server.script["/in/m.json"] = deque([moved('/a b/\xe4<>"?x y')])
    await http.look(on())
    assert (http_server.seen[-1].path, http_server.seen[-1].query) == ("/a%20b/%C3%A4%3C%3E%22", "x%20y")
