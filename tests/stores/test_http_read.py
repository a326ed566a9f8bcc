"""Reading and digesting what lies on an HTTP origin."""

from __future__ import annotations

import gzip
import hashlib
import io
import random
import time
import zlib
from collections import deque
from collections.abc import Callable
from contextlib import aclosing
from email.utils import formatdate
from typing import Any

import pytest

from airflow_landmark.stores import (
    Absent,
    Address,
    Changed,
    Facts,
    LastingTrouble,
    PassingTrouble,
    Pin,
)
from airflow_landmark.stores import _http_read as reading
from faultproxy import FaultProxy
from httpserver import Answer, HttpServer, Page

On = Callable[..., Address]
DATA = random.Random(1).randbytes(1_000_000)
SHA256 = hashlib.sha256(DATA).hexdigest()


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let nobody sleep before going on."""
    monkeypatch.setattr(reading, "_PAUSE_SECONDS", 0.0)


async def read(
    http: Any, address: Address, *, meanwhile: Callable[[], object] | None = None, **more: Any
) -> bytes:
    """All that is read; ``meanwhile`` is called after each piece."""
    pieces = []
    async with aclosing(http.read(address, **more)) as chunks:
        async for chunk in chunks:
            pieces.append(chunk)
            if meanwhile is not None:
                meanwhile()
    return b"".join(pieces)


def replaced(server: HttpServer, page: Page | int) -> Callable[[], None]:
    """What puts another page in place of the file."""
    return lambda: server.pages.update({"/in/a": page})


@pytest.mark.parametrize("ranges", [True, False])
@pytest.mark.parametrize(
    ("start", "stop"),
    [
        (0, None),
        (5, None),
        (0, 10),
        (5, 10),
        (999_990, None),
        (999_990, 2_000_000),
        (7, 7),
        (2_000_000, None),
    ],
)
async def test_parts(
    http: Any, on: On, http_server: HttpServer, start: int, stop: int | None, ranges: bool
) -> None:
    """Exactly the bytes that are asked for come, whether the server gives ranges or not."""
    http_server.pages["/in/a"] = Page.of(DATA, ranges=ranges)
    assert await read(http, on("a"), start=start, stop=stop) == DATA[start:stop]


@pytest.mark.parametrize("stop", [None, 10])
async def test_an_empty_file(http: Any, on: On, http_server: HttpServer, stop: int | None) -> None:
    """Of nothing nothing is read."""
    http_server.pages["/in/a"] = Page.of(b"")
    assert await read(http, on("a"), stop=stop) == b""


async def test_a_short_range_keeps_its_connection(http: Any, on: On, http_server: HttpServer) -> None:
    """The tail of a file costs its bytes, and no new connection."""
    http_server.pages["/in/a"] = Page.of(DATA)
    for _ in range(3):
        assert await read(http, on("a"), start=900_000, stop=1_000_000) == DATA[900_000:]
    assert http_server.made == 1


async def test_nothing_there(http: Any, on: On) -> None:
    """What does not lie there is absent."""
    for ask in (read(http, on("a")), http.digest(on("a"), ["sha256"]), http.open(on("a"))):
        with pytest.raises(Absent):
            await ask


async def test_digest(http: Any, on: On, http_server: HttpServer) -> None:
    """Digests come with the facts of what was digested; sinks are given all of it."""
    http_server.pages["/in/a"] = Page(DATA, etag='"e"')
    sink = hashlib.sha1(usedforsecurity=False)
    digested = await http.digest(on("a"), ["sha256", "blake2b"], sinks=[sink])
    assert digested.facts == Facts(len(DATA), Pin(etag='"e"'))
    assert digested.digests == {"sha256": SHA256, "blake2b": hashlib.blake2b(DATA).hexdigest()}
    assert sink.digest() == hashlib.sha1(DATA, usedforsecurity=False).digest()


async def test_an_unknown_digest(http: Any, on: On, http_server: HttpServer) -> None:
    """An algorithm that cannot be computed is told before anything is read."""
    http_server.pages["/in/a"] = DATA
    with pytest.raises(LastingTrouble, match="cannot compute"):
        await http.digest(on("a"), ["rot13"])
    assert not http_server.seen


@pytest.mark.parametrize("coding", ["gzip", "deflate"])
async def test_a_body_that_comes_encoded(http: Any, on: On, http_server: HttpServer, coding: str) -> None:
    """What a server compresses unasked is judged by the bytes that it stands for."""
    data = b"0123456789" * 100
    packed = gzip.compress(data) if coding == "gzip" else zlib.compress(data)
    http_server.pages["/in/a"] = Page.of(packed, coding=coding)
    digested = await http.digest(on("a"), ["sha256"])
    assert (digested.facts.size, digested.digests["sha256"]) == (1000, hashlib.sha256(data).hexdigest())
    assert await read(http, on("a"), start=990) == data[990:]
    assert await read(http, on("a"), start=5, stop=7) == data[5:7]


async def test_a_stored_archive_is_not_unpacked(http: Any, on: On, http_server: HttpServer) -> None:
    """A compressed file is its own bytes."""
    packed = gzip.compress(DATA)
    http_server.pages["/in/a.csv.gz"] = Page.of(packed)
    digested = await http.digest(on("a.csv.gz"), ["sha256"])
    assert digested.digests["sha256"] == hashlib.sha256(packed).hexdigest()


async def test_a_bomb_takes_no_memory(http: Any, on: On, http_server: HttpServer) -> None:
    """A small body that stands for a huge one is handed on in small pieces."""
    http_server.pages["/in/a"] = Page.of(gzip.compress(bytes(64 << 20), 9), coding="gzip")
    sizes = [len(chunk) async for chunk in http.read(on("a"))]
    assert (sum(sizes), max(sizes)) == (64 << 20, 1 << 20)


@pytest.mark.parametrize("body", [b"no gzip", gzip.compress(DATA)[:-9]])
async def test_a_damaged_coding(http: Any, on: On, http_server: HttpServer, body: bytes) -> None:
    """Bytes that are not the coding that they claim to be may be well next time."""
    http_server.pages["/in/a"] = Page(body, coding="gzip")
    with pytest.raises(PassingTrouble, match="says that it is 'gzip'"):
        await read(http, on("a"))


def old() -> str:
    """A date as a header has it, long enough ago to tell."""
    return formatdate(time.time() - 60, usegmt=True)


@pytest.mark.parametrize(
    ("pin", "page"),
    [
        (Pin(etag='"e"'), Page(DATA, etag='"e"')),
        (Pin(etag='"e"', modified="other"), Page(DATA, etag='"e"', modified=old())),
        (Pin(etag='"e"'), Page(DATA, etag='W/"e"')),
        (Pin(etag='W/"e"'), Page(DATA, etag='W/"e"')),
        (Pin(modified="Mon, 01 Jan 2024 00:00:00 GMT"), Page(DATA, modified="Mon, 01 Jan 2024 00:00:00 GMT")),
        (Pin(), Page(DATA)),
    ],
)
async def test_the_pinned_state(http: Any, on: On, http_server: HttpServer, pin: Pin, page: Page) -> None:
    """A state is known by its ETag, or by Last-Modified where there is none."""
    if page.etag == 'W/"e"' and pin.etag == '"e"':
        http_server.script["/in/a"] = deque([Answer(200, DATA, {"ETag": page.etag})] * 2)
    http_server.pages["/in/a"] = page
    assert (await http.digest(on("a"), ["sha256"], pin=pin)).digests["sha256"] == SHA256


@pytest.mark.parametrize(
    ("pin", "page"),
    [
        (Pin(etag='"old"'), Page(DATA, etag='"new"')),
        (Pin(etag='W/"old"'), Page(DATA, etag='W/"new"')),
        (Pin(etag='W/"old"'), Page(DATA)),
        (Pin(modified="Mon, 01 Jan 2024 00:00:00 GMT"), Page(DATA, modified=old())),
        (Pin(modified="Mon, 01 Jan 2024 00:00:00 GMT"), Page(DATA, etag='"new"')),
    ],
)
async def test_another_state(http: Any, on: On, http_server: HttpServer, pin: Pin, page: Page) -> None:
    """What is not, or cannot be shown to be, the pinned state is changed."""
    http_server.pages["/in/a"] = page
    for ask in (
        read(http, on("a"), pin=pin), read(http, on("a"), pin=pin, start=5, stop=9),
        http.digest(on("a"), ["sha256"], pin=pin), http.open(on("a"), pin=pin),
    ):  # fmt: skip
        with pytest.raises(Changed):
            await ask


async def test_a_state_is_asked_for(http: Any, on: On, http_server: HttpServer) -> None:
    """A server that knows conditions need not send what would be dropped."""
    http_server.pages["/in/a"] = Page(DATA, etag='"new"')
    with pytest.raises(Changed, match="412"):
        await read(http, on("a"), pin=Pin(etag='"old"'))
    assert http_server.seen[0].headers["If-Match"] == '"old"'


# Broken connections


@pytest.mark.parametrize("ranges", [True, False])
@pytest.mark.parametrize("modified", [None, old()], ids=["no date", "a date"])
async def test_a_broken_connection_is_gone_on_from(
    http: Any, on: On, http_server: HttpServer, modified: str | None, ranges: bool
) -> None:
    """The rest is asked for by a range, or skipped to, while the state is proven to be the same."""
    etag = None if modified else '"e"'
    http_server.pages["/in/a"] = Page(
        DATA,
        etag=etag,
        modified=modified,
        ranges=ranges,
        breaks_after=[300_000, 300_000, 100] if ranges else [300_000, 100, 600_000, 300_000],
    )
    sink = io.BytesIO()
    sink.update = sink.write  # type: ignore[attr-defined]
    digested = await http.digest(on("a"), ["sha256"], sinks=[sink])
    assert (digested.facts.size, digested.digests["sha256"]) == (len(DATA), SHA256)
    assert sink.getvalue() == DATA
    asked = [seen.headers.get("Range") for seen in http_server.seen]
    if ranges:
        assert asked == [None, "bytes=300000-", "bytes=600000-", "bytes=600100-"]


async def test_a_part_is_gone_on_with(http: Any, on: On, http_server: HttpServer) -> None:
    """A range that breaks is completed, and ends where it should."""
    http_server.pages["/in/a"] = Page.of(DATA, breaks_after=[200_000])
    assert await read(http, on("a"), start=100, stop=500_000) == DATA[100:500_000]
    assert [seen.headers["Range"] for seen in http_server.seen] == ["bytes=100-499999", "bytes=200100-499999"]


@pytest.mark.parametrize("etag", [None, 'W/"e"'])
async def test_without_a_strong_validator_nothing_is_pieced_together(
    http: Any, on: On, http_server: HttpServer, etag: str | None
) -> None:
    """Where two answers may be of two states, only the caller can begin anew."""
    http_server.pages["/in/a"] = Page(DATA, etag=etag, breaks_after=[300_000])
    with pytest.raises(PassingTrouble) as caught:
        await http.digest(on("a"), ["sha256"])
    assert not isinstance(caught.value, Changed)
    assert len(http_server.seen) == 1
    assert (await http.digest(on("a"), ["sha256"])).digests["sha256"] == SHA256


async def test_a_file_that_is_replaced_meanwhile(http: Any, on: On, http_server: HttpServer) -> None:
    """The rest of another state is not taken for the rest of this one."""
    http_server.pages["/in/a"] = Page(DATA, etag='"old"', breaks_after=[300_000])
    with pytest.raises(Changed):
        await read(http, on("a"), meanwhile=replaced(http_server, Page(DATA, etag='"new"')))


async def test_a_connection_that_breaks_again_and_again(http: Any, on: On, http_server: HttpServer) -> None:
    """Three attempts that bring nothing are enough; each byte gives new hope."""
    http_server.pages["/in/a"] = Page.of(DATA, breaks_after=[100, 0, 0, 100, 0, 0, 0])
    with pytest.raises(PassingTrouble):
        await read(http, on("a"))
    assert len(http_server.seen) == 7


async def test_the_rest_is_refused(http: Any, on: On, http_server: HttpServer) -> None:
    """Trouble that lasts ends a reading at once."""
    http_server.pages["/in/a"] = Page.of(DATA, breaks_after=[300_000])
    with pytest.raises(LastingTrouble, match="403"):
        await read(http, on("a"), meanwhile=replaced(http_server, 403))


async def test_a_server_that_asks_to_be_left_alone_for_long(
    http: Any, on: On, http_server: HttpServer
) -> None:
    """A pause that is longer than a reading may wait is the caller's business."""
    http_server.pages["/in/a"] = Page.of(DATA, breaks_after=[300_000])
    busy = {"/in/a": deque([Answer(503, headers={"Retry-After": "60"})])}
    with pytest.raises(PassingTrouble) as caught:
        await read(http, on("a"), meanwhile=lambda: http_server.script.update(busy))
    assert caught.value.retry_after == 60.0


@pytest.mark.parametrize("mode", ["cut", "reset"])
async def test_a_network_that_breaks(http: Any, on: On, http_server: HttpServer, mode: Any) -> None:
    """Files come whole through a network that breaks every connection, as long as each brings something."""
    http_server.pages["/in/a"] = Page.of(DATA)
    with FaultProxy("127.0.0.1", http_server.port) as proxy:
        proxy.mode, proxy.after_bytes, proxy.faults = mode, 150_000, 5
        there = on("a", origin=f"http://127.0.0.1:{proxy.port}")
        assert (await http.digest(there, ["sha256"])).digests["sha256"] == SHA256
        assert proxy.connections == 6


# Ranges that are not what they should be


def part(start: int, stop: int, *, told: str | None = None, coding: str | None = None) -> Answer:
    """A range of the data, which tells another one."""
    headers = {"ETag": '"e"', "Content-Range": told or f"bytes {start}-{stop - 1}/{len(DATA)}"}
    return Answer(206, DATA[start:stop], headers | ({"Content-Encoding": coding} if coding else {}))


async def test_servers_that_give_less_than_was_asked_for(http: Any, on: On, http_server: HttpServer) -> None:
    """A server that cuts long ranges is asked for the rest."""
    http_server.script["/in/a"] = deque([part(10, 400_000), part(400_000, 800_000), part(800_000, 1_000_000)])
    assert await read(http, on("a"), start=10) == DATA[10:]
    assert [seen.headers["Range"] for seen in http_server.seen] == [
        "bytes=10-", "bytes=400000-", "bytes=800000-",
    ]  # fmt: skip


@pytest.mark.parametrize(
    "answer",
    [
        part(0, 100),
        part(10, 100, told="bytes 10-99/x"),
        part(10, 100, told="bytes 99-10/1000000"),
        part(10, 100, told=f"bytes 10-{'9' * 30}/*"),
        part(10, 100, coding="gzip"),
        Answer(206, DATA, {"ETag": '"e"', "Content-Type": "multipart/byteranges; boundary=x"}),
    ],
)
async def test_a_range_that_is_another_one(
    http: Any, on: On, http_server: HttpServer, answer: Answer
) -> None:
    """What is not the range of stored bytes that was asked for is dropped, and the whole is read."""
    http_server.pages["/in/a"] = Page(DATA, etag='"e"')
    http_server.script["/in/a"] = deque([answer])
    assert await read(http, on("a"), start=10) == DATA[10:]
    assert "Range" not in http_server.seen[1].headers


async def test_a_range_that_nobody_asked_for(http: Any, on: On, http_server: HttpServer) -> None:
    """A part is not taken for the whole."""
    http_server.script["/in/a"] = deque([part(0, 100)])
    with pytest.raises(LastingTrouble, match="not asked for"):
        await read(http, on("a"))


async def test_too_much_to_skip(
    http: Any, on: On, http_server: HttpServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The end of a huge file is not read by reading all of it."""
    monkeypatch.setattr(reading, "_MAX_SKIPPED", 1000)
    http_server.pages["/in/a"] = Page.of(DATA, ranges=False)
    with pytest.raises(LastingTrouble, match="gives no ranges"):
        await read(http, on("a"), start=1001)
    assert await read(http, on("a"), start=1000) == DATA[1000:]


async def test_the_end_of_a_file_that_became_shorter(http: Any, on: On, http_server: HttpServer) -> None:
    """An end that lies before what was read is another state, whatever its name."""
    http_server.pages["/in/a"] = Page(DATA, etag='"e"', breaks_after=[300_000])
    with pytest.raises(Changed, match="shorter"):
        await read(http, on("a"), meanwhile=replaced(http_server, Page(DATA[:100], etag='"e"')))
