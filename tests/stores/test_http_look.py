"""One look at a marker on an HTTP origin."""

from __future__ import annotations

import gzip
import hashlib
import time
import zlib
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import replace
from email.utils import formatdate
from typing import Any

import pytest

from airflow_landmark.markers import MAX_DOCUMENT_BYTES
from airflow_landmark.stores import Address, LastingTrouble, PassingTrouble, Pin
from httpserver import Answer, HttpServer, Page

On = Callable[..., Address]


def ago(seconds: float) -> str:
    """A date as a header has it."""
    return formatdate(time.time() - seconds, usegmt=True)


async def test_an_absent_marker_is_no_error(http: Any, on: On) -> None:
    """A marker that is not there yet is a look without sighting."""
    look = await http.look(on())
    assert (look.sighting, look.data, look.reason) == (None, None, "404: nothing there")


async def test_the_first_look_reads(http: Any, on: On, http_server: HttpServer) -> None:
    """A look gives the bytes with their size, digest and the server's identity of them."""
    http_server.pages["/in/m.json"] = Page(b"hello", etag='"e1"', modified=ago(60))
    look = await http.look(on())
    assert look.data == b"hello"
    assert (look.sighting.size, look.sighting.sha256) == (5, hashlib.sha256(b"hello").hexdigest())
    assert (look.sighting.address, look.sighting.settled) == (on(), True)
    assert look.sighting.pin.etag == '"e1"'


async def test_what_is_sent(http: Any, on: On, http_server: HttpServer) -> None:
    """A look asks for the origin's own answer, as it is stored."""
    await http.look(on())
    (seen,) = http_server.seen
    assert (seen.method, seen.path, seen.query) == ("GET", "/in/m.json", "")
    assert seen.headers["Cache-Control"] == "no-cache"
    assert seen.headers["Accept-Encoding"] == "identity"
    assert seen.headers["Host"] == f"127.0.0.1:{http_server.port}"
    assert not {"Authorization", "If-None-Match", "If-Modified-Since"} & set(seen.headers)


@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("day 1/a+b%20c.csv", "/in/day%201/a%2Bb%2520c.csv"),
        ("x.csv ", "/in/x.csv%20"),
        ("ä?#;.csv", "/in/%C3%A4%3F%23%3B.csv"),
        ("part[1]*.json", "/in/part%5B1%5D%2A.json"),
    ],
)
async def test_names_are_percent_encoded_once(
    http: Any, on: On, http_server: HttpServer, name: str, path: str
) -> None:
    """A name means itself, whatever it holds."""
    http_server.pages[path] = b"1"
    assert (await http.look(on(name))).data == b"1"


@pytest.mark.parametrize(
    ("page", "condition"),
    [
        (Page(b"hello", etag='"e1"', modified=ago(60)), ("If-None-Match", '"e1"')),
        (Page(b"hello", etag='W/"e1"'), ("If-None-Match", 'W/"e1"')),
        (Page(b"hello", modified=ago(60)), ("If-Modified-Since", None)),
    ],
)
async def test_an_unchanged_marker_is_not_sent_again(
    http: Any, on: On, http_server: HttpServer, page: Page, condition: tuple[str, str | None]
) -> None:
    """The second look is conditional, by the ETag or else by Last-Modified, and 304 means unchanged."""
    http_server.pages["/in/m.json"] = page
    first = (await http.look(on())).sighting
    look = await http.look(on(), since=first)
    assert look.sighting is first
    assert look.data is None
    assert http_server.seen[1].headers[condition[0]] == (condition[1] or page.modified)


async def test_a_young_last_modified_proves_nothing(http: Any, on: On, http_server: HttpServer) -> None:
    """What was replaced within the same second is seen: a time of whole seconds is trusted when it is old."""
    moment = ago(0)
    http_server.pages["/in/m.json"] = Page(b"version 1", modified=moment)
    first = (await http.look(on())).sighting
    assert not first.settled
    http_server.pages["/in/m.json"] = Page(b"version 2", modified=moment)
    assert (await http.look(on(), since=first)).data == b"version 2"
    assert "If-Modified-Since" not in http_server.seen[1].headers


@pytest.fixture(params=["America/New_York", "Asia/Tokyo"])
def zone(request: pytest.FixtureRequest) -> Iterator[None]:
    """Let the process be in another zone."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TZ", request.param)
        time.tzset()
        yield
    time.tzset()


async def test_the_age_is_told_by_the_servers_clock(
    http: Any, on: On, http_server: HttpServer, zone: None
) -> None:
    """A server whose clock is ahead or behind is neither trusted too early nor never, whatever our zone."""
    day = 86400
    for ahead in (-day, day):
        headers = {"Date": ago(-ahead)}
        http_server.pages["/in/m.json"] = Page(b"1", modified=ago(-ahead), headers=headers)
        assert not (await http.look(on())).sighting.settled
        http_server.pages["/in/m.json"] = Page(b"1", modified=ago(5 - ahead), headers=headers)
        assert (await http.look(on())).sighting.settled


async def test_without_validators_the_bytes_are_compared(http: Any, on: On, http_server: HttpServer) -> None:
    """A server that always answers 200 is understood all the same."""
    http_server.pages["/in/m.json"] = Page(b"hello")
    first = (await http.look(on())).sighting
    assert (first.pin, first.settled) == (Pin(), False)
    again = await http.look(on(), since=first)
    assert (again.sighting.sha256, again.data) == (first.sha256, None)
    http_server.pages["/in/m.json"] = Page(b"world")
    assert (await http.look(on(), since=first)).data == b"world"


async def test_a_new_etag_of_the_same_bytes_is_no_change(http: Any, on: On, http_server: HttpServer) -> None:
    """What counts is the content, with the newest identity of it."""
    http_server.pages["/in/m.json"] = Page(b"hello", etag='"e1"')
    first = (await http.look(on())).sighting
    http_server.pages["/in/m.json"] = Page(b"hello", etag='"e2"')
    again = await http.look(on(), since=first)
    assert (again.sighting.pin.etag, again.data) == ('"e2"', None)


@pytest.mark.parametrize("etag", ["no quotes", '"' + "x" * 600 + '"', '"a" "b"', "W/"])
async def test_nonsense_is_no_etag(http: Any, on: On, http_server: HttpServer, etag: str) -> None:
    """What is not well formed, or too long to be sent back, is not kept."""
    http_server.pages["/in/m.json"] = Page(b"hello", etag=etag, modified="yesterday")
    assert (await http.look(on())).sighting.pin == Pin()


async def test_304_that_nobody_asked_for(http: Any, on: On, http_server: HttpServer) -> None:
    """Unchanged since what? A broken cache is trouble, not an answer."""
    http_server.script["/in/m.json"] = deque([Answer(304)])
    with pytest.raises(PassingTrouble, match="did not ask"):
        await http.look(on())


@pytest.mark.parametrize(
    ("coding", "encode"),
    [
        ("gzip", gzip.compress),
        ("x-gzip", lambda data: gzip.compress(data[:10]) + gzip.compress(data[10:])),
        ("deflate", zlib.compress),
        ("DEFLATE", lambda data: zlib.compress(data)[2:-4]),
        ("identity", lambda data: data),
    ],
)
async def test_a_body_that_comes_encoded(
    http: Any, on: On, http_server: HttpServer, coding: str, encode: Callable[[bytes], bytes]
) -> None:
    """A server that compresses unasked is understood: size and digest are those of the document."""
    document = b"0123456789" * 100
    http_server.pages["/in/m.json"] = Page(encode(document), etag='"e"', coding=coding)
    look = await http.look(on())
    assert look.data == document
    assert (look.sighting.size, look.sighting.sha256) == (1000, hashlib.sha256(document).hexdigest())


async def test_an_unknown_coding(http: Any, on: On, http_server: HttpServer) -> None:
    """A coding that nobody asked for and that is not known needs a person."""
    http_server.pages["/in/m.json"] = Page(b"?", coding="br")
    with pytest.raises(LastingTrouble, match="encoded as 'br'"):
        await http.look(on())


@pytest.mark.parametrize("body", [b"no gzip", gzip.compress(b"hello", mtime=0)[:-3], b"\x1f"])
async def test_a_damaged_coding(http: Any, on: On, http_server: HttpServer, body: bytes) -> None:
    """Bytes that are not the coding that they claim to be may be well next time."""
    http_server.pages["/in/m.json"] = Page(body, coding="gzip")
    with pytest.raises(PassingTrouble, match="says that it is 'gzip'"):
        await http.look(on())


@pytest.mark.parametrize("sized", [True, False])
async def test_no_more_than_a_marker_is_read(http: Any, on: On, http_server: HttpServer, sized: bool) -> None:
    """Of a body that is too large only so much is read that this can be told."""
    http_server.pages["/in/m.json"] = Page(b"x" * (MAX_DOCUMENT_BYTES + 100_000), sized=sized)
    look = await http.look(on())
    assert len(look.data) == MAX_DOCUMENT_BYTES + 1
    assert look.sighting.size == MAX_DOCUMENT_BYTES + (100_000 if sized else 1)


async def test_a_bomb_is_not_unpacked(http: Any, on: On, http_server: HttpServer) -> None:
    """A small body that stands for a huge one gives no more than a marker may have."""
    http_server.pages["/in/m.json"] = Page(gzip.compress(bytes(10 * MAX_DOCUMENT_BYTES)), coding="gzip")
    assert len((await http.look(on())).data) == MAX_DOCUMENT_BYTES + 1


@pytest.mark.parametrize("body", [b"<html>Please log in</html>", b'{"error": "not found"}', b""])
async def test_a_page_of_200_is_handed_on(http: Any, on: On, http_server: HttpServer, body: bytes) -> None:
    """Whether a page is a marker is not for the store to say."""
    http_server.pages["/in/m.json"] = Page(body, headers={"Content-Type": "text/html"})
    assert (await http.look(on())).data == body


async def test_a_marker_that_vanished(http: Any, on: On, http_server: HttpServer) -> None:
    """A conditional look at what is gone is a look without sighting."""
    http_server.pages["/in/m.json"] = b"hello"
    first = (await http.look(on())).sighting
    del http_server.pages["/in/m.json"]
    assert (await http.look(on(), since=first)).sighting is None


async def test_a_sighting_of_an_older_release(http: Any, on: On, http_server: HttpServer) -> None:
    """A sighting without pin, as an event may bring it back, is compared by its bytes."""
    http_server.pages["/in/m.json"] = b"hello"
    first = replace((await http.look(on())).sighting, pin=Pin())
    assert (await http.look(on(), since=first)).data is None


async def test_a_large_body_leaves_the_loop_alone(
    http: Any, on: On, http_server: HttpServer, loop_gaps: Any
) -> None:
    """The largest marker is decoded and digested off the loop."""
    body = gzip.compress(bytes(MAX_DOCUMENT_BYTES))
    http_server.pages["/in/m.json"] = Page(body, coding="gzip")
    http_server.pages["/in/n.json"] = Page(bytes(MAX_DOCUMENT_BYTES))
    async with loop_gaps() as gaps:
        await http.look(on())
        await http.look(on("n.json"))
    assert max(gaps) < 0.1
