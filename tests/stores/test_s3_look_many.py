"""Looks at many markers of a bucket, at the cost of few requests, and none behind one that hangs."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

import anyio
import pytest

from airflow_landmark.stores import (
    Absent,
    Address,
    Archived,
    Changed,
    Facts,
    LastingTrouble,
    Look,
    PassingTrouble,
    Refused,
)
from airflow_landmark.stores import _s3_singles as singles
from airflow_landmark.stores._s3 import S3Store
from airflow_landmark.stores._s3_singles import Singles
from faultproxy import FaultProxy
from s3server import Reply, Request, S3Server, ScriptedS3, error, opened

At = Callable[[str], Address]


async def test_every_look_gets_its_own_result(s3_store: S3Store, s3_at: At, s3: S3Server) -> None:
    """Present, absent, unchanged and refused markers stand side by side in one answer."""
    bucket = s3_at("").authority
    for name in ("a.json", "b.json", "c.json"):
        s3.put(bucket, f"in/{name}", name.encode())
    seen = {name: (await s3_store.look(s3_at(name))).sighting for name in ("b.json", "c.json")}
    s3.put(bucket, "in/c.json", b"new")
    wanted = {s3_at(f"{n}.json"): None for n in range(20)} | {s3_at("a.json"): None}
    wanted |= {s3_at(name): sighting for name, sighting in seen.items()}
    wanted[replace(s3_at("x"), name="../x")] = None
    s3.requests.clear()
    found = await s3_store.look_many(wanted)
    assert found.keys() == wanted.keys()
    assert found[s3_at("a.json")].data == b"a.json"
    assert found[s3_at("b.json")] == Look(seen["b.json"])
    assert found[s3_at("c.json")].data == b"new"
    assert found[s3_at("7.json")] == Look(None, reason="no such object")
    assert isinstance(found[replace(s3_at("x"), name="../x")], Refused)
    assert [request.lists for request in s3.requests] == [True, False, False]


async def test_three_markers_are_three_requests(s3_store: S3Store, s3_at: At, s3: S3Server) -> None:
    """For a handful of markers nothing is listed."""
    await s3_store.look_many({s3_at(f"{n}.json"): None for n in range(3)})
    assert len(s3.requests) == 3
    assert not any(request.lists for request in s3.requests)


async def test_5000_absent_markers_are_one_request(s3_store: S3Store, s3_at: At, s3: S3Server) -> None:
    """Waits for what is not there yet cost a page of the listing together."""
    found = await s3_store.look_many({s3_at(f"{n:04}/m.json"): None for n in range(5_000)})
    assert len(found) == 5_000
    assert len(s3.requests) == 1


async def test_two_spellings_of_one_key(s3_store: S3Store, s3_at: At, s3: S3Server) -> None:
    """Two waits may name the same object by different folders: each gets its answer."""
    s3.put(s3_at("").authority, "in/a/0", b"x")
    ways = [s3_at("a/0"), replace(s3_at("0"), folder="in/a/")]
    wanted = dict.fromkeys(ways) | {s3_at(f"b/{n}"): None for n in range(10)}
    found = await s3_store.look_many(wanted)
    assert [found[way].data for way in ways] == [b"x", b"x"]


async def test_odd_keys_are_found_by_listings(s3_store: S3Store, s3_at: At, s3: S3Server) -> None:
    """Keys with any signs are told apart, by listing as by asking."""
    names = ["a b", "a+b", "a%20b", "é", "￮", "𝄞", "!", "~", "A", "_", "日"]
    for name in names:
        s3.put(s3_at("").authority, f"in/{name}/m", name.encode())
    wanted = {s3_at(f"{name}/{marker}"): None for name in names for marker in ("m", "n")}
    first = await s3_store.look_many(wanted)
    assert {address.name: look.data for address, look in first.items() if look.sighting} == {
        f"{name}/m": name.encode() for name in names
    }
    s3.requests.clear()
    again = await s3_store.look_many({address: look.sighting for address, look in first.items()})
    assert [look.sighting for look in again.values()] == [first[a].sighting for a in again]
    assert [request.lists for request in s3.requests] == [True]


async def test_neighbours_are_answered_at_no_cost(s3_store: S3Store, s3_at: At, s3: S3Server) -> None:
    """Markers due soon are told of when a page tells of them, and left out when only a request would."""
    bucket = s3_at("").authority
    s3.put(bucket, "in/30.json", b"old")
    seen = (await s3_store.look(s3_at("30.json"))).sighting
    s3.put(bucket, "in/31.json", b"new")
    also = {s3_at(f"{n}.json"): None for n in range(20, 40)} | {s3_at("30.json"): seen}
    other = Address("s3", s3.bucket(), "in/", "m.json")
    s3.requests.clear()
    found = await s3_store.look_many({s3_at("10.json"): None}, also=also | {other: None})
    assert len(s3.requests) == 1
    assert found.keys() == {s3_at("10.json"), *also} - {s3_at("31.json")}
    assert found[s3_at("30.json")] == Look(seen)


async def test_buckets_of_one_access_are_looked_at_apart(s3_store: S3Store, s3: S3Server) -> None:
    """Addresses of several buckets may come in one call."""
    buckets = [s3.bucket(), s3.bucket(), "no-such-bucket"]
    wanted = {Address("s3", bucket, "", f"{n}"): None for bucket in buckets for n in range(10)}
    found = await s3_store.look_many(wanted)
    for address, look in found.items():
        assert isinstance(look, LastingTrouble if address.authority == "no-such-bucket" else Look)
    assert s3_store.group(Address("s3", buckets[0], "a/", "m")) == buckets[0]


async def test_a_store_in_trouble_is_asked_once(aws_environment: None) -> None:
    """When the listing meets SlowDown, every wait is told, and no single look follows."""
    reply = error(503, "SlowDown", {"Retry-After": "7"})
    wanted = {Address("s3", "bucket", "", f"{n}"): None for n in range(100)}
    with ScriptedS3(lambda request: reply) as server:
        async with opened(server.url) as store:
            found = await store.look_many(wanted)
    assert len(server.requests) == 1
    assert all(isinstance(trouble, PassingTrouble) for trouble in found.values())
    assert {trouble.retry_after for trouble in found.values()} == {7.0}
    assert {trouble.place for trouble in found.values()} == {address.uri for address in wanted}


async def test_without_the_right_to_list_every_marker_is_asked_for(aws_environment: None) -> None:
    """Listing refused, the looks go on singly."""

    def answer(request: Request) -> Reply:
        return error(403, "AccessDenied") if request.lists else error(404, "NoSuchKey")

    wanted = {Address("s3", "bucket", "a/", f"{n}"): None for n in range(30)}
    with ScriptedS3(answer) as server:
        async with opened(server.url) as store:
            for _ in range(3):
                found = await store.look_many(wanted)
                assert all(isinstance(look, Look) for look in found.values())
    assert sum(request.lists for request in server.requests) == 1


async def test_single_looks_after_much_trouble_are_not_made(aws_environment: None) -> None:
    """When single looks fail one after another the rest of them is spared, and told why."""

    def answer(request: Request) -> Reply:
        return error(403, "AccessDenied") if request.lists else error(503, "SlowDown")

    wanted = {Address("s3", "bucket", "a/", f"{n}"): None for n in range(300)}
    with ScriptedS3(answer) as server:
        async with opened(server.url) as store:
            found = await store.look_many(wanted)
    assert len(found) == 300
    assert all(isinstance(trouble, PassingTrouble) for trouble in found.values())
    assert len(server.requests) < 50


async def test_facts_of_many(s3_store: S3Store, s3_at: At, s3: S3Server) -> None:
    """Sizes come by listing; what may be archived, and what needs its version, by requests of their own."""
    bucket = s3.bucket(versions=True)
    at = [Address("s3", bucket, "in/", f"{n:02}") for n in range(20)]
    versions = [s3.put(bucket, f"in/{n:02}", b"x" * n)["VersionId"] for n in range(10)]
    s3.put(bucket, "in/10", b"x", StorageClass="DEEP_ARCHIVE")
    s3.requests.clear()
    found = await s3_store.facts_many(at)
    assert [request.method for request in s3.requests] == ["GET", "HEAD"]
    assert [found[a].size for a in at[:10]] == list(range(10))
    assert isinstance(found[at[10]], Archived)
    assert all(isinstance(found[a], Absent) for a in at[11:])
    s3.requests.clear()
    exact = await s3_store.facts_many(at, exact=True)
    assert {request.method for request in s3.requests} == {"HEAD"}
    assert [exact[a].pin.version_id for a in at[:10]] == versions
    assert all(isinstance(exact[a], Absent) for a in at[11:])
    few = await s3_store.facts_many(at[:2])
    assert all(isinstance(facts, Facts) for facts in few.values())


async def test_a_blackholed_server_ends_in_trouble(s3: S3Server, s3_at: At) -> None:
    """A server that takes requests and never answers costs a wait its timeout, and no more."""
    with FaultProxy("127.0.0.1", s3.port) as proxy:
        proxy.mode = "blackhole"
        async with opened(f"http://127.0.0.1:{proxy.port}", read_timeout=0.2) as store:
            found = await store.look_many({s3_at(f"{n}"): None for n in range(3)})
    assert all(isinstance(trouble, PassingTrouble) for trouble in found.values())


class Slow:
    """Work that fails for some addresses, after a moment, and notes how much of it runs at once."""

    def __init__(self, hangs: Callable[[Address], bool], seconds: float = 0.05) -> None:
        self.hangs = hangs
        self.seconds = seconds
        self.running = 0
        self.most = 0
        self.done: list[Address] = []

    async def __call__(self, address: Address) -> str:
        """Fail when the address hangs."""
        self.running += 1
        self.most = max(self.most, self.running)
        try:
            await anyio.sleep(self.seconds if self.hangs(address) else 0)
        finally:
            self.running -= 1
        self.done.append(address)
        if self.hangs(address):
            raise PassingTrouble(address.uri, "no answer")
        return address.name


async def test_objects_that_hang_hold_up_no_others() -> None:
    """What was waited for in vain last time shares a few slots; the others come first."""
    addresses = [Address("s3", "b", "", f"{n:02}") for n in range(40)]
    slots = Singles(slow_seconds=0.01)
    work = Slow(lambda address: int(address.name) < 10)
    first = await slots.each(addresses, work)
    assert sum(isinstance(result, PassingTrouble) for result in first.values()) == 10
    assert 1 < work.most <= singles._AT_ONCE
    work.done.clear()
    await slots.each(addresses, work)
    assert [int(address.name) >= 10 for address in work.done[:30]] == [True] * 30
    alone = Slow(lambda address: True)
    await slots.each(addresses[:10], alone)
    assert alone.most <= singles._SLOW_AT_ONCE


async def test_an_object_that_recovers_is_slow_no_more() -> None:
    """An answer in time puts an object among the others again."""
    address = Address("s3", "b", "", "m")
    slots = Singles(slow_seconds=0.01)
    await slots.each([address], Slow(lambda address: True))
    assert slots._slow == {address}
    assert await slots.each([address], Slow(lambda address: False)) == {address: "m"}
    assert not slots._slow


async def test_an_object_that_changes_is_no_trouble_of_the_store() -> None:
    """However many objects change while they are read, the rest is looked at."""

    async def work(address: Address) -> None:
        raise Changed(address.uri, "changed")

    addresses = [Address("s3", "b", "", f"{n}") for n in range(100)]
    found = await Singles(slow_seconds=1.0).each(addresses, work)
    assert all(isinstance(result, Changed) for result in found.values())


async def test_cancelling_many_looks(s3: S3Server, s3_at: At) -> None:
    """A wait that ends while its looks hang leaves none of them behind."""
    with FaultProxy("127.0.0.1", s3.port) as proxy:
        proxy.mode = "blackhole"
        async with opened(f"http://127.0.0.1:{proxy.port}") as store:
            with anyio.move_on_after(0.3) as scope:
                await store.look_many({s3_at(f"{n}"): None for n in range(5)})
            assert scope.cancelled_caught
            proxy.mode = "pass"
            began = time.monotonic()
            assert (await store.look(s3_at("0"))).sighting is None
            assert time.monotonic() - began < 20


@pytest.mark.parametrize("code", ["304", "404"])
async def test_bodies_are_released(s3: S3Server, s3_at: At, code: str) -> None:
    """More looks than the client has connections: none waits for one that was not given back."""
    s3.put(s3_at("").authority, "in/m.json", b"x")
    async with opened(s3.url, client_config=(("max_pool_connections", 2),)) as store:
        seen = (await store.look(s3_at("m.json"))).sighting
        with anyio.fail_after(20):
            for _ in range(10):
                await store.look(s3_at("m.json" if code == "304" else "n.json"), since=seen)
