"""One look at one marker in a bucket."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace

import pytest

from airflow_landmark.markers import MAX_DOCUMENT_BYTES
from airflow_landmark.stores import (
    Address,
    Archived,
    LastingTrouble,
    PassingTrouble,
    Pin,
    Refused,
    StoreError,
)
from airflow_landmark.stores import _s3_build as build
from airflow_landmark.stores import _s3_look as looks
from airflow_landmark.stores._s3 import S3Store
from faultproxy import FaultProxy
from s3server import Reply, S3Server, ScriptedS3, error, opened

At = Callable[[str], Address]
THERE = Address("s3", "bucket", "in/", "m.json")


async def test_an_absent_object_is_no_error(s3_store: S3Store, s3_at: At, s3: S3Server) -> None:
    """A marker that is not there yet is a look without sighting, for one request."""
    look = await s3_store.look(s3_at("m.json"))
    assert (look.sighting, look.data, look.reason) == (None, None, "no such object")
    assert len(s3.requests) == 1


async def test_the_first_look_reads(s3_store: S3Store, s3_at: At, s3: S3Server) -> None:
    """A look gives the bytes with their size, digest and the object's identity, for one request."""
    etag = s3.put(s3_at("").authority, "in/m.json", b"hello")["ETag"]
    s3.requests.clear()
    look = await s3_store.look(s3_at("m.json"))
    assert look.data == b"hello"
    assert look.sighting is not None
    assert (look.sighting.size, look.sighting.sha256) == (5, hashlib.sha256(b"hello").hexdigest())
    assert look.sighting.address == s3_at("m.json")
    assert (look.sighting.pin.etag, look.sighting.pin.version_id) == (etag, None)
    assert look.sighting.settled
    assert len(s3.requests) == 1


async def test_an_unchanged_object_is_not_read_again(s3_store: S3Store, s3_at: At, s3: S3Server) -> None:
    """A second look is one conditional request, which brings no body."""
    s3.put(s3_at("").authority, "in/m.json", b"hello")
    first = (await s3_store.look(s3_at("m.json"))).sighting
    s3.requests.clear()
    again = await s3_store.look(s3_at("m.json"), since=first)
    assert again.sighting is first
    assert again.data is None
    assert [request.headers.get("if-none-match") for request in s3.requests] == [first.pin.etag]


async def test_a_replaced_object_is_read(s3_store: S3Store, s3_at: At, s3: S3Server) -> None:
    """Other bytes of the same size are a change."""
    s3.put(s3_at("").authority, "in/m.json", b"version 1")
    first = (await s3_store.look(s3_at("m.json"))).sighting
    s3.put(s3_at("").authority, "in/m.json", b"version 2")
    assert (await s3_store.look(s3_at("m.json"), since=first)).data == b"version 2"


async def test_the_same_bytes_under_another_etag_are_no_change(
    s3_store: S3Store, s3_at: At, s3: S3Server
) -> None:
    """An ETag is no digest: bytes that were seen are not handed over once more, whatever it says."""
    s3.put(s3_at("").authority, "in/m.json", b"hello")
    first = (await s3_store.look(s3_at("m.json"))).sighting
    assert first is not None
    again = await s3_store.look(s3_at("m.json"), since=replace(first, pin=Pin(etag='"other"')))
    assert again.data is None
    assert again.sighting is not None
    assert again.sighting.pin == first.pin


async def test_an_object_that_went_is_absent_again(s3_store: S3Store, s3_at: At, s3: S3Server) -> None:
    """A marker that was removed is absent, whatever was seen before."""
    s3.put(s3_at("").authority, "in/m.json", b"hello")
    first = (await s3_store.look(s3_at("m.json"))).sighting
    s3.client.delete_object(Bucket=s3_at("").authority, Key="in/m.json")
    assert (await s3_store.look(s3_at("m.json"), since=first)).sighting is None


async def test_a_version_is_pinned(s3_store: S3Store, s3: S3Server) -> None:
    """Where the bucket keeps versions, the sighting says which one was seen."""
    bucket = s3.bucket(versions=True)
    version = s3.put(bucket, "in/m.json", b"hello")["VersionId"]
    look = await s3_store.look(Address("s3", bucket, "in/", "m.json"))
    assert look.sighting is not None
    assert look.sighting.pin.version_id == version


@pytest.mark.parametrize("status", [404, 405])
async def test_a_delete_marker_is_told_apart(aws_environment: None, status: int) -> None:
    """An object that was deleted, not one that never came: the reason says so."""
    reply = error(status, "NoSuchKey", {"x-amz-delete-marker": "true", "x-amz-version-id": "v1"})
    with ScriptedS3(lambda request: reply) as server:
        async with opened(server.url) as store:
            look = await store.look(THERE)
    assert look.sighting is None
    assert look.reason == "deleted: a delete marker lies there"


async def test_a_missing_bucket_is_no_missing_object(s3_store: S3Store) -> None:
    """A wrong bucket is lasting trouble: waiting does not make one."""
    with pytest.raises(LastingTrouble, match="no such bucket"):
        await s3_store.look(Address("s3", "no-bucket-of-this-name", "in/", "m.json"))


async def test_403_is_not_404(aws_environment: None) -> None:
    """A refusal tells which right is missing, that S3 says so of absent keys too, and the option."""
    with ScriptedS3(lambda request: error(403, "AccessDenied")) as server:
        async with opened(server.url) as store:
            with pytest.raises(LastingTrouble) as caught:
                await store.look(THERE)
    assert caught.value.place == "s3://bucket/in/m.json"
    for words in ("GetObject", "s3:ListBucket", "not there yet", "treat_403_as_missing"):
        assert words in caught.value.reason


async def test_403_as_missing_when_asked_for(aws_environment: None) -> None:
    """With the option a refusal is an absent object; wrong credentials are still trouble."""
    answers = [error(403, "AccessDenied"), error(403, "InvalidAccessKeyId")]
    with ScriptedS3(lambda request: answers.pop(0)) as server:
        async with opened(server.url, treat_403_as_missing=True) as store:
            look = await store.look(THERE)
            assert look.sighting is None
            assert "403" in look.reason
            with pytest.raises(LastingTrouble, match="access key"):
                await store.look(THERE)


async def test_an_archived_marker_says_so(s3_store: S3Store, s3_at: At, s3: S3Server) -> None:
    """A marker in an archive storage class has to be restored by somebody."""
    s3.put(s3_at("").authority, "in/m.json", b"{}", StorageClass="GLACIER")
    with pytest.raises(Archived, match="restore"):
        await s3_store.look(s3_at("m.json"))


@pytest.mark.parametrize("name", ["a+b c.json", "ü é.json", "100%2F&x=y;#?.json", "日本語/𝄞.json", "~!*'()"])
async def test_keys_are_sent_as_they_are(s3_store: S3Store, s3_at: At, s3: S3Server, name: str) -> None:
    """No sign of a key is decoded or mangled on the way."""
    s3.put(s3_at("").authority, f"in/{name}", name.encode())
    assert (await s3_store.look(s3_at(name))).data == name.encode()


async def test_an_unsafe_name_is_never_asked_for(s3_store: S3Store, s3_at: At, s3: S3Server) -> None:
    """A name that leads out of the folder is refused before any request."""
    s3.requests.clear()
    for name in ("../x", "/etc/passwd", "a/../../x", "a\x00b", ""):
        with pytest.raises(Refused):
            await s3_store.look(replace(s3_at("x"), name=name))
    assert not s3.requests


async def test_a_huge_object_is_read_to_a_bound(s3_store: S3Store, s3_at: At, s3: S3Server) -> None:
    """Of an object that is too large for a marker no more than one byte above the limit is kept."""
    s3.put(s3_at("").authority, "in/m.json", bytes(MAX_DOCUMENT_BYTES + 1_000))
    look = await s3_store.look(s3_at("m.json"))
    assert look.data is not None
    assert len(look.data) == MAX_DOCUMENT_BYTES + 1
    assert look.sighting is not None
    assert look.sighting.size == MAX_DOCUMENT_BYTES + 1_000


async def test_an_endless_error_is_not_read(aws_environment: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """The text of an error is read up to a bound."""
    monkeypatch.setattr(build, "_MAX_ANSWER_BYTES", 10_000)
    with ScriptedS3(lambda request: Reply(500, b"x" * 20_000)) as server:
        async with opened(server.url) as store:
            with pytest.raises(LastingTrouble, match="endless"):
                await store.look(THERE)


async def test_a_body_that_never_ends_is_given_up(
    aws_environment: None, s3: S3Server, s3_at: At, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A look has an end, however slowly the bytes come."""
    monkeypatch.setattr(looks, "_BODY_SECONDS", 0.3)
    s3.put(s3_at("").authority, "in/m.json", bytes(200_000))
    with FaultProxy("127.0.0.1", s3.port) as proxy:
        async with opened(f"http://127.0.0.1:{proxy.port}") as store:
            await store.look(s3_at("absent"))
            proxy.mode, proxy.delay_seconds = "delay", 0.1
            with pytest.raises(PassingTrouble, match="not read within"):
                await store.look(s3_at("m.json"))


async def test_a_body_that_breaks_is_passing_trouble(s3: S3Server, s3_at: At) -> None:
    """Half a marker is never a sighting."""
    s3.put(s3_at("").authority, "in/m.json", bytes(200_000))
    with FaultProxy("127.0.0.1", s3.port) as proxy:
        proxy.mode, proxy.after_bytes = "cut", 100_000
        async with opened(f"http://127.0.0.1:{proxy.port}") as store:
            with pytest.raises(PassingTrouble):
                await store.look(s3_at("m.json"))
            proxy.mode = "pass"
            assert (await store.look(s3_at("m.json"))).sighting is not None


async def test_a_stale_answer_is_not_taken_for_a_fresh_one(aws_environment: None) -> None:
    """What was seen is known by its content: an answer without ETag is read again each time."""
    with ScriptedS3(lambda request: Reply(200, b"{}")) as server:
        async with opened(server.url) as store:
            first = (await store.look(THERE)).sighting
            assert first is not None
            assert first.pin.etag is None
            assert (await store.look(THERE, since=first)).data is None
    assert not any("if-none-match" in request.headers for request in server.requests)


@pytest.mark.parametrize("status", [206, 304])
async def test_an_answer_to_another_question(aws_environment: None, status: int) -> None:
    """A part of a marker, or word that it is unchanged, is believed only when it was asked for."""
    reply = Reply(status, b"{" if status == 206 else b"", {"ETag": '"e"'})
    with ScriptedS3(lambda request: reply) as server:
        async with opened(server.url) as store:
            with pytest.raises(LastingTrouble):
                await store.look(THERE)


async def test_hostile_headers_make_no_sighting(aws_environment: None) -> None:
    """Whatever a server answers is sorted."""
    hostile = [
        Reply(200, b"{}", {"ETag": '"' + "e" * 9_000 + '"'}),
        Reply(200, b"{}", {"x-amz-mp-parts-count": "many"}),
        Reply(200, b"{}", {"x-amz-version-id": "\xff"}),
        Reply(200, b"{}", {"Content-Length": "-1"}),
        Reply(400, b"<Error>" * 200_000),
        Reply(400, b"<a>" * 200_000 + b"</a>" * 200_000),
        Reply(400, b'<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a "aa">]><Error><Code>&a;</Code></Error>'),
        Reply(500, b"\xff\x00"),
        Reply(999, b""),
    ]
    with ScriptedS3(lambda request: hostile[0]) as server:
        async with opened(server.url) as store:
            while hostile:
                with suppress(StoreError):
                    assert (await store.look(THERE)).data == b"{}"
                del hostile[0]
