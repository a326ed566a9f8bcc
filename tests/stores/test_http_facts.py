"""Size and pin of what lies on an HTTP origin, and the digests that its server vouches for."""

from __future__ import annotations

import base64
import gzip
import hashlib
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_landmark.stores import (
    Absent,
    Address,
    Changed,
    Facts,
    LastingTrouble,
    PassingTrouble,
    Pin,
)
from airflow_landmark.stores import _http_facts as module
from airflow_landmark.stores._http_digests import repr_digests
from httpserver import HttpServer, Page

On = Callable[..., Address]
DATA = b"id\n1\n2\n" * 100


def methods(server: HttpServer) -> list[tuple[str, str | None]]:
    """Method and range of each request."""
    return [(seen.method, seen.headers.get("Range")) for seen in server.seen]


HEAD, ONE_BYTE, GET = ("HEAD", None), ("GET", "bytes=0-0"), ("GET", None)


@pytest.mark.parametrize("data", [DATA, b""])
async def test_head_tells(http: Any, on: On, http_server: HttpServer, data: bytes) -> None:
    """One HEAD is enough where the server answers it."""
    http_server.pages["/in/a.csv"] = Page(data, etag='"e"')
    assert await http.facts(on("a.csv")) == Facts(len(data), Pin(etag='"e"'))
    assert methods(http_server) == [HEAD]


async def test_nothing_there(http: Any, on: On) -> None:
    """What does not lie there is absent."""
    with pytest.raises(Absent):
        await http.facts(on("a.csv"))


@pytest.mark.parametrize("refusal", [400, 403, 405, 501])
async def test_a_refused_head_is_remembered(http: Any, on: On, http_server: HttpServer, refusal: int) -> None:
    """One byte tells the size, too, and the origin is not asked by HEAD again."""
    http_server.pages["/in/a.csv"] = Page(DATA, etag='"e"', methods=("GET",), refusal=refusal)
    for _ in range(2):
        assert await http.facts(on("a.csv")) == Facts(len(DATA), Pin(etag='"e"'))
    assert methods(http_server) == [HEAD, ONE_BYTE, ONE_BYTE]


async def test_a_refused_head_at_what_is_absent(http: Any, on: On, http_server: HttpServer) -> None:
    """A server that hides by 403 from HEAD what it says to GET is understood after one answer."""
    http_server.pages["/in/a.csv"] = Page(DATA, methods=("GET",), refusal=403)
    with pytest.raises(Absent):
        await http.facts(on("b.csv"))
    await http.facts(on("a.csv"))
    with pytest.raises(Absent):
        await http.facts(on("b.csv"))
    assert methods(http_server) == [HEAD, HEAD, ONE_BYTE, ONE_BYTE]


@pytest.mark.parametrize("sized", [True, False])
async def test_neither_head_nor_ranges(http: Any, on: On, http_server: HttpServer, sized: bool) -> None:
    """The answer to one byte may be the whole: its length is taken, or its bytes are counted."""
    http_server.pages["/in/a.csv"] = Page.of(DATA, methods=("GET",), ranges=False, sized=sized)
    assert (await http.facts(on("a.csv"))).size == len(DATA)
    assert methods(http_server) == [HEAD, ONE_BYTE]


async def test_an_empty_file_without_head(http: Any, on: On, http_server: HttpServer) -> None:
    """An empty file has no first byte."""
    http_server.pages["/in/a.csv"] = Page.of(b"", methods=("GET",))
    assert (await http.facts(on("a.csv"))).size == 0
    assert methods(http_server) == [HEAD, ONE_BYTE, GET]


@pytest.mark.parametrize("status", [401, 403, 405])
async def test_a_refusal_of_the_file_itself(http: Any, on: On, http_server: HttpServer, status: int) -> None:
    """What is refused in every way is refused, and teaches nothing of the origin."""
    http_server.pages["/in/a.csv"] = status
    http_server.pages["/in/b.csv"] = DATA
    with pytest.raises(LastingTrouble, match=str(status)):
        await http.facts(on("a.csv"))
    await http.facts(on("b.csv"))
    assert methods(http_server)[-1] == HEAD


async def test_head_without_a_length(http: Any, on: On, http_server: HttpServer) -> None:
    """A length that HEAD does not tell is asked for in another way, each time."""
    http_server.pages["/in/a.csv"] = Page.of(DATA, sized=False)
    http_server.pages["/in/b.csv"] = DATA
    assert (await http.facts(on("a.csv"))).size == len(DATA)
    assert (await http.facts(on("b.csv"))).size == len(DATA)
    assert methods(http_server) == [HEAD, ONE_BYTE, HEAD]


async def test_the_length_of_an_encoded_body_is_none(http: Any, on: On, http_server: HttpServer) -> None:
    """Where the server compresses unasked, the bytes of the file itself are counted."""
    http_server.pages["/in/a.csv"] = Page.of(gzip.compress(DATA), coding="gzip")
    assert (await http.facts(on("a.csv"))).size == len(DATA)


async def test_a_stored_archive_is_not_unpacked(http: Any, on: On, http_server: HttpServer) -> None:
    """A compressed file has the size that it has."""
    data = gzip.compress(DATA)
    http_server.pages["/in/a.csv.gz"] = Page.of(data, headers={"Content-Type": "application/gzip"})
    assert (await http.facts(on("a.csv.gz"))).size == len(data)


async def test_counting_has_an_end(
    http: Any, on: On, http_server: HttpServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A size that no header tells is not counted for ever."""
    monkeypatch.setattr(module, "_COUNT_SECONDS", 0.1)
    http_server.pages["/in/a.csv"] = Page.of(bytes(1 << 20), sized=False, ranges=False, drip_seconds=0.2)
    with pytest.raises(LastingTrouble, match="no header tells its size"):
        await http.facts(on("a.csv"))


async def test_many_at_once(http: Any, on: On, http_server: HttpServer) -> None:
    """Facts of many files come together, each with its own trouble, few requests at a time."""
    http_server.pages |= {f"/in/{n}": Page(bytes(n), etag='"e"') for n in range(50)}
    http_server.pages["/in/7"] = 403
    http_server.pages["/in/8"] = 503
    del http_server.pages["/in/9"]
    found = await http.facts_many([on(str(n)) for n in range(50)], exact=True)
    assert len(found) == 50
    assert [type(found[on(str(n))]) for n in (6, 7, 8, 9)] == [Facts, LastingTrouble, PassingTrouble, Absent]
    assert found[on("49")] == Facts(49, Pin(etag='"e"'))
    assert http_server.most_in_flight <= 4


async def test_nothing_is_listed(http: Any, on: On) -> None:
    """HTTP has no listings, and the text says what to do."""
    with pytest.raises(LastingTrouble, match="name the marker"):
        await http.listing(on())


# What the server vouches for


def field(data: bytes, *names: str) -> str:
    """A Repr-Digest of the data."""
    members = []
    for name in names:
        digest = base64.b64encode(hashlib.new(name.replace("-", ""), data).digest()).decode()
        members.append(f"{name}=:{digest}:")
    return ", ".join(members)


SHA256 = {"sha256": hashlib.sha256(DATA).hexdigest()}


async def held(http: Any, address: Address, pin: Pin | None = None) -> Any:
    """All that the store can know."""
    return await http.held_digests(address, ["sha256", "sha512", "md5"], pin=pin)


async def test_repr_digest(http: Any, on: On, http_server: HttpServer) -> None:
    """A digest of the stored bytes stands in for a download; it is asked for, by HEAD."""
    headers = {"Repr-Digest": field(DATA, "md5", "sha-256", "sha-512")}
    http_server.pages["/in/a.csv"] = Page(DATA, etag='"e"', headers=headers)
    found = await held(http, on("a.csv"), Pin(etag='"e"'))
    assert found == SHA256 | {"sha512": hashlib.sha512(DATA).hexdigest()}
    (seen,) = http_server.seen
    assert (seen.method, seen.headers["Want-Repr-Digest"]) == ("HEAD", "sha-256=10, sha-512=5")
    assert await http.held_digests(on("a.csv"), ["sha256"]) == SHA256


@pytest.mark.parametrize(
    "page",
    [
        Page(DATA, etag='"e"'),
        Page(DATA, etag='"e"', headers={"Content-Digest": field(DATA, "sha-256")}),
        Page(DATA, etag='"e"', headers={"Digest": f"SHA-256={base64.b64encode(b'x' * 32).decode()}"}),
        Page(DATA, etag='"e"', headers={"Repr-Digest": field(DATA, "md5")}),
        Page(DATA, etag='"e"', headers={"Repr-Digest": field(DATA, "sha-256")}, coding="gzip"),
        Page(DATA, headers={"Repr-Digest": field(DATA, "sha-256")}, etag=None),
    ],
)
async def test_what_proves_nothing(http: Any, on: On, http_server: HttpServer, page: Page) -> None:
    """Digests of a message, weak ones, those of encoded bytes and of no known state do not count."""
    http_server.pages["/in/a.csv"] = page
    assert await held(http, on("a.csv"), Pin() if page.etag is None else Pin(etag='"e"')) == {}


async def test_a_digest_of_another_state(http: Any, on: On, http_server: HttpServer) -> None:
    """A file that was replaced is not proven by its new digest."""
    http_server.pages["/in/a.csv"] = Page(DATA, etag='"new"', headers={"Repr-Digest": field(DATA, "sha-256")})
    with pytest.raises(Changed):
        await held(http, on("a.csv"), Pin(etag='"old"'))


async def test_no_digest_is_asked_for_where_head_is_refused(
    http: Any, on: On, http_server: HttpServer
) -> None:
    """An origin that refuses HEAD is left alone."""
    http_server.pages["/in/a.csv"] = Page.of(DATA, methods=("GET",))
    facts = await http.facts(on("a.csv"))
    asked = len(http_server.seen)
    assert await held(http, on("a.csv"), facts.pin) == {}
    assert len(http_server.seen) == asked


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (field(DATA, "sha-256"), SHA256),
        (f'a, b=1;c="x, y", ({field(DATA, "sha-256")}', {}),
        (f'a, b=1;c="x, y"; d,c=(1 2;q "z"),{field(DATA, "sha-256")};a=?1', SHA256),
        (f"sha-256=:AAAA:, {field(DATA, 'sha-256')}", SHA256),
        (f"{field(DATA, 'sha-256')}, sha-256=:AAAA:", {}),
        (f"{field(DATA, 'sha-256')},", {}),
        (f"{field(DATA, 'sha-256')} x", {}),
        (f"SHA-256{field(DATA, 'sha-256')[7:]}", {}),
        (field(DATA, "sha-256").replace(":", ""), {}),
        (field(DATA, "sha-256").replace("=:", "=:="), {}),
        (field(DATA, "sha-256").replace(":", '"'), {}),
        (field(DATA, "sha-256")[:-4] + ":", {}),
        ("sha-256", {}),
        ("", {}),
        (None, {}),
        (field(DATA, "sha-256") + ", a" * 3000, {}),
    ],
)
def test_the_field_as_rfc_8941_has_it(text: str | None, expected: dict[str, str]) -> None:
    """A dictionary is read as the standard says; one that is malformed says nothing at all."""
    assert repr_digests(text) == expected


@given(st.dictionaries(st.sampled_from(["sha-256", "sha-512", "md5", "unixsum"]), st.binary(max_size=80)))
def test_any_digests(members: dict[str, bytes]) -> None:
    """Digests of the right length come out as they went in, and no others."""
    text = ", ".join(f"{name}=:{base64.b64encode(data).decode()}:" for name, data in members.items())
    sizes = {"sha-256": 32, "sha-512": 64}
    right = {
        name.replace("-", ""): data.hex() for name, data in members.items() if len(data) == sizes.get(name)
    }
    assert repr_digests(text) == right


@given(st.text(st.sampled_from('sha-256=:;,()?"\\ \tA1/+*.'), max_size=60) | st.text(max_size=60))
def test_any_text(text: str) -> None:
    """Nothing that a server writes is an error, or a digest by chance."""
    assert repr_digests(text) == {}


@pytest.mark.parametrize("piece", ['a="', "a=(", "a=(1 ", "a;", "a=1;b=", "a,", 'a="\\'])
def test_long_nonsense_is_quickly_refused(piece: str) -> None:
    """No field makes the parser try without end: this test would not come to its own."""
    assert repr_digests(piece * (4096 // len(piece))) == {}
