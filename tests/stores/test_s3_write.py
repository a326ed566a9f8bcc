"""Writing markers into buckets: whole or not at all, and of two writers one."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import replace

import anyio
import pytest

from airflow_landmark.stores import (
    Address,
    Changed,
    Facts,
    LastingTrouble,
    PassingTrouble,
    Pin,
    Refused,
    Sighting,
    WritableStore,
)
from airflow_landmark.stores._s3 import S3Store
from faultproxy import FaultProxy
from s3server import Reply, Request, S3Server, ScriptedS3, error, opened

At = Callable[[str], Address]
THERE = Address("s3", "bucket", "in/", "m.json")


async def seen(store: S3Store, address: Address) -> Sighting:
    """What lies there."""
    sighting = (await store.look(address)).sighting
    assert sighting is not None
    return sighting


async def test_put(s3_store: S3Store, s3_at: At, s3: S3Server) -> None:
    """A marker is written whole, as JSON, with a checksum, by one request; the facts name it."""
    assert isinstance(s3_store, WritableStore)
    s3.requests.clear()
    facts = await s3_store.put(s3_at("m.json"), b"{}")
    assert len(s3.requests) == 1
    assert (facts.size, facts.pin.etag) == (2, (await seen(s3_store, s3_at("m.json"))).pin.etag)
    await s3_store.put(s3_at("m.json"), b"{ }")
    there = s3.client.head_object(Bucket=s3_at("").authority, Key="in/m.json", ChecksumMode="ENABLED")
    assert there["ContentType"] == "application/json"
    assert there["ContentLength"] == 3
    assert "ChecksumSHA256" in there


async def test_a_version_is_told(s3_store: S3Store, s3: S3Server) -> None:
    """Where the bucket keeps versions, the facts say which one was written."""
    at = Address("s3", s3.bucket(versions=True), "in/", "m.json")
    facts = await s3_store.put(at, b"{}")
    assert facts.pin.version_id == (await seen(s3_store, at)).pin.version_id


async def test_put_if_absent(s3_store: S3Store, s3_at: At, s3: S3Server) -> None:
    """Only the first writes, by one conditional request."""
    s3.requests.clear()
    await s3_store.put_if_absent(s3_at("m.json"), b"first")
    assert [request.headers.get("if-none-match") for request in s3.requests] == ["*"]
    with pytest.raises(Changed):
        await s3_store.put_if_absent(s3_at("m.json"), b"second")
    assert s3.get(s3_at("").authority, "in/m.json") == b"first"


async def test_put_if_unchanged(s3_store: S3Store, s3_at: At, s3: S3Server) -> None:
    """Exactly what was seen is replaced."""
    await s3_store.put(s3_at("m.json"), b"one")
    one = await seen(s3_store, s3_at("m.json"))
    s3.requests.clear()
    await s3_store.put_if_unchanged(s3_at("m.json"), b"two", since=one)
    assert [request.headers.get("if-match") for request in s3.requests] == [one.pin.etag]
    with pytest.raises(Changed):
        await s3_store.put_if_unchanged(s3_at("m.json"), b"three", since=one)
    assert s3.get(s3_at("").authority, "in/m.json") == b"two"
    s3.client.delete_object(Bucket=s3_at("").authority, Key="in/m.json")
    with pytest.raises(Changed):
        await s3_store.put_if_unchanged(s3_at("m.json"), b"three", since=one)


async def test_what_was_seen_without_an_etag(s3_store: S3Store, s3_at: At, s3: S3Server) -> None:
    """Without it nothing can be replaced safely, and nothing is tried."""
    await s3_store.put(s3_at("m.json"), b"one")
    one = replace(await seen(s3_store, s3_at("m.json")), pin=Pin(modified="yesterday"))
    s3.requests.clear()
    with pytest.raises(LastingTrouble, match="ETag"):
        await s3_store.put_if_unchanged(s3_at("m.json"), b"two", since=one)
    assert not s3.requests


async def test_a_server_that_compares_without_quotes(aws_environment: None) -> None:
    """Where the object lies there as it was seen, the condition is written as such servers read it."""

    def answer(request: Request) -> Reply:
        if request.method == "GET":
            return Reply(200, b"one", {"ETag": '"e1"'})
        kept = request.headers.get("if-match") == "e1"
        return Reply(200, b"", {"ETag": '"e2"'}) if kept else error(412, "PreconditionFailed")

    with ScriptedS3(answer) as server:
        async with opened(server.url) as store:
            one = await seen(store, THERE)
            facts = await store.put_if_unchanged(THERE, b"two", since=one)
            assert facts.pin.etag == '"e2"'
            other = replace(one, sha256="0" * 64, pin=Pin(etag='"e0"'))
            with pytest.raises(Changed):
                await store.put_if_unchanged(THERE, b"two", since=other)


@pytest.mark.parametrize("code", ["ConditionalRequestConflict", "PreconditionFailed"])
async def test_a_conflict_is_a_change(aws_environment: None, code: str) -> None:
    """What two writers at the same time are told is the same to the one that lost."""
    with ScriptedS3(lambda request: error(409 if code[0] == "C" else 412, code)) as server:
        async with opened(server.url) as store:
            with pytest.raises(Changed):
                await store.put_if_absent(THERE, b"{}")
    assert len(server.requests) == 1


async def test_of_many_writers_one_wins(s3: S3Server, s3_at: At) -> None:
    """However many write at once, from clients of their own."""
    won: list[int] = []

    async def write(number: int) -> None:
        async with opened(s3.url) as store:
            try:
                await store.put_if_absent(s3_at("m.json"), b"writer %d" % number)
            except Changed:
                return
            won.append(number)

    async with anyio.create_task_group() as group:
        for number in range(6):
            group.start_soon(write, number)
    assert len(won) == 1
    assert s3.get(s3_at("").authority, "in/m.json") == b"writer %d" % won[0]


async def test_an_answer_that_is_lost(s3: S3Server, s3_at: At) -> None:
    """When our bytes lie there the marker was written, whatever became of the answer."""
    with FaultProxy("127.0.0.1", s3.port) as proxy:
        async with opened(f"http://127.0.0.1:{proxy.port}") as store:
            s3.requests.clear()
            proxy.mode, proxy.faults = "cut", 1
            facts = await store.put_if_absent(s3_at("m.json"), b"ours")
            there = await seen(store, s3_at("m.json"))
            assert facts == Facts(4, there.pin)
            assert len(s3.asked("PUT")) == 1
            proxy.faults = 1
            facts = await store.put_if_unchanged(s3_at("m.json"), b"ours, too", since=there)
            assert facts.pin == (await seen(store, s3_at("m.json"))).pin
            proxy.faults = 1
            await store.put(s3_at("m.json"), b"again")
    assert s3.get(s3_at("").authority, "in/m.json") == b"again"


class Losing:
    """A server that loses a write or its answer.

    :param there: what lies there afterwards; ``None`` for nothing.
    """

    def __init__(self, there: bytes | None) -> None:
        self.there = there

    def __call__(self, request: Request) -> Reply:
        """Break off writes; answer reads."""
        if request.method == "PUT":
            return Reply(cut=True)
        if self.there is None:
            return error(404, "NoSuchKey")
        return Reply(200, self.there, {"ETag": f'"{hashlib.sha256(self.there).hexdigest()[:8]}"'})


async def test_a_write_that_is_lost(aws_environment: None) -> None:
    """Nothing there is passing trouble, and so is what was to be replaced; other bytes are a change."""
    with ScriptedS3(Losing(None)) as server:
        async with opened(server.url) as store:
            with pytest.raises(PassingTrouble) as caught:
                await store.put_if_absent(THERE, b"ours")
            assert not isinstance(caught.value, Changed)
            server.answer = Losing(b"before")
            before = await seen(store, THERE)
            for call in (store.put(THERE, b"ours"), store.put_if_unchanged(THERE, b"ours", since=before)):
                with pytest.raises(PassingTrouble) as caught:
                    await call
                assert not isinstance(caught.value, Changed)
            server.answer = Losing(b"theirs")
            for call in (
                store.put_if_absent(THERE, b"ours"),
                store.put_if_unchanged(THERE, b"ours", since=before),
            ):
                with pytest.raises(Changed):
                    await call


async def test_a_server_that_is_gone_altogether(aws_environment: None) -> None:
    """When it cannot be told whether it was written, the first trouble is told."""
    with ScriptedS3(lambda request: Reply(cut=True)) as server:
        async with opened(server.url) as store:
            with pytest.raises(PassingTrouble, match="PutObject"):
                await store.put_if_absent(THERE, b"ours")


async def test_where_nothing_is_written(s3_store: S3Store, s3_at: At, s3: S3Server) -> None:
    """Unsafe names are refused before any request; a missing bucket is lasting trouble."""
    s3.requests.clear()
    for name in ("../m.json", "", "/m.json"):
        with pytest.raises(Refused):
            await s3_store.put(replace(s3_at("x"), name=name), b"x")
    assert not s3.requests
    with pytest.raises(LastingTrouble, match="no such bucket"):
        await s3_store.put(Address("s3", "no-such-bucket", "", "m.json"), b"x")


async def test_a_server_that_knows_no_conditions(aws_environment: None) -> None:
    """It is told that a conditional write is what it lacks."""
    with ScriptedS3(lambda request: error(501, "NotImplemented")) as server:
        async with opened(server.url) as store:
            with pytest.raises(LastingTrouble, match="conditional write"):
                await store.put_if_absent(THERE, b"x")


async def test_a_large_marker_stops_no_loop(s3_store: S3Store, s3_at: At, loop_gaps: Callable) -> None:
    """Even the largest marker is sent in pieces."""
    async with loop_gaps() as gaps:
        await s3_store.put(s3_at("m.json"), bytes(16 << 20))
    assert max(gaps) < 0.15
