"""Size, identity and kept digests of objects in buckets."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable, Mapping

import pytest
from awscrt import checksums

from airflow_landmark.stores import Absent, Address, Archived, Changed, Facts, Pin
from airflow_landmark.stores._s3 import S3Store
from s3server import Reply, Request, S3Server, ScriptedS3, error, opened

At = Callable[[str], Address]
THERE = Address("s3", "bucket", "in/", "a.csv")
DATA = b"id,name\n1,x\n"
SHA256 = hashlib.sha256(DATA).digest()
CRC64 = checksums.crc64nvme(DATA).to_bytes(8, "big")
CRC32C = checksums.crc32c(DATA).to_bytes(4, "big")


def text(digest: bytes) -> str:
    """As S3 writes it."""
    return base64.b64encode(digest).decode()


async def test_facts(s3_store: S3Store, s3_at: At, s3: S3Server) -> None:
    """Size and ETag; nothing there is an error here."""
    etag = s3.put(s3_at("").authority, "in/a", b"123")["ETag"]
    facts = await s3_store.facts(s3_at("a"))
    assert (facts.size, facts.pin.etag, facts.pin.version_id) == (3, etag, None)
    with pytest.raises(Absent):
        await s3_store.facts(s3_at("b"))


@pytest.mark.parametrize(
    ("headers", "text"),
    [
        ({"x-amz-storage-class": "GLACIER"}, "restore it first"),
        ({"x-amz-storage-class": "DEEP_ARCHIVE"}, "restore it first"),
        ({"x-amz-archive-status": "DEEP_ARCHIVE_ACCESS"}, "DEEP_ARCHIVE_ACCESS"),
        (
            {"x-amz-storage-class": "GLACIER", "x-amz-restore": 'ongoing-request="true"'},
            "being restored: wait for it",
        ),
    ],
)
async def test_an_archived_object(aws_environment: None, headers: Mapping[str, str], text: str) -> None:
    """What has to be restored first is told by where it lies, before anybody tries to read it."""
    with ScriptedS3(lambda request: Reply(200, DATA, headers)) as server:
        async with opened(server.url) as store:
            with pytest.raises(Archived, match=text):
                await store.facts(THERE)


@pytest.mark.parametrize(
    "headers",
    [
        {"x-amz-storage-class": "GLACIER_IR"},
        {"x-amz-storage-class": "STANDARD_IA"},
        {
            "x-amz-storage-class": "GLACIER",
            "x-amz-restore": 'ongoing-request="false", expiry-date="Fri, 21 Dec 2035 00:00:00 GMT"',
        },
    ],
)
async def test_a_readable_object(aws_environment: None, headers: Mapping[str, str]) -> None:
    """Cold storage that answers, and restored copies, are as good as any."""
    with ScriptedS3(lambda request: Reply(200, DATA, headers)) as server:
        async with opened(server.url) as store:
            assert (await store.facts(THERE)).size == len(DATA)


@pytest.mark.parametrize(
    ("headers", "held"),
    [
        ({"x-amz-checksum-sha256": text(SHA256)}, {"sha256": SHA256.hex()}),
        ({"x-amz-checksum-crc64nvme": text(CRC64)}, {"crc64nvme": CRC64.hex()}),
        ({"x-amz-checksum-crc32c": text(CRC32C)}, {"crc32c": CRC32C.hex()}),
        ({"x-amz-checksum-sha256": f"{text(SHA256)}-3"}, {}),
        ({"x-amz-checksum-sha256": text(SHA256), "x-amz-checksum-type": "COMPOSITE"}, {}),
        ({"x-amz-checksum-sha256": text(SHA256), "x-amz-checksum-type": ""}, {}),
        ({"x-amz-checksum-sha256": "no base64"}, {}),
        ({"x-amz-checksum-sha256": text(b"short")}, {}),
        ({"x-amz-checksum-crc64nvme": text(CRC64[:4])}, {}),
        ({}, {}),
    ],
)
async def test_held_digests(
    aws_environment: None, headers: Mapping[str, str], held: Mapping[str, str]
) -> None:
    """Only checksums over the whole object are told, as hex; an ETag never is, though it looks like MD5."""
    md5 = hashlib.md5(DATA, usedforsecurity=False).hexdigest()
    sent = {"x-amz-checksum-type": "FULL_OBJECT", "ETag": f'"{md5}"', **headers}
    with ScriptedS3(lambda request: Reply(200, b"", sent)) as server:
        async with opened(server.url) as store:
            found = await store.held_digests(THERE, ["md5", "sha1", "sha256", "crc64nvme", "crc32c"])
    assert found == held
    (request,) = server.requests
    assert (request.method, request.headers["x-amz-checksum-mode"]) == ("HEAD", "ENABLED")


async def test_digests_that_no_store_holds(s3_store: S3Store, s3_at: At, s3: S3Server) -> None:
    """For algorithms that S3 does not know nothing is asked."""
    s3.requests.clear()
    assert await s3_store.held_digests(s3_at("a"), ["md5", "blake2b"]) == {}
    assert not s3.requests


async def test_digests_of_another_state(s3_store: S3Store, s3_at: At, s3: S3Server) -> None:
    """The digest of what was put in its place proves nothing of the pinned object."""
    s3.put(s3_at("").authority, "in/a", b"one")
    pin = (await s3_store.facts(s3_at("a"))).pin
    s3.put(s3_at("").authority, "in/a", b"two")
    with pytest.raises(Changed):
        await s3_store.held_digests(s3_at("a"), ["sha256"], pin=pin)


async def test_a_server_that_heeds_no_conditions(aws_environment: None) -> None:
    """An answer of another state than the pinned one is not believed, whatever its status."""
    with ScriptedS3(lambda request: Reply(200, b"", {"ETag": '"new"'})) as server:
        async with opened(server.url) as store:
            with pytest.raises(Changed):
                await store.held_digests(THERE, ["sha256"], pin=Pin(etag='"old"'))
            with pytest.raises(Changed):
                await store.held_digests(THERE, ["sha256"], pin=Pin(version_id="v1"))


async def test_the_null_version_is_no_pin(aws_environment: None) -> None:
    """What was written before a bucket kept versions is pinned by its ETag: its version is overwritten."""
    headers = {"ETag": '"e"', "x-amz-version-id": "null"}
    with ScriptedS3(lambda request: Reply(200, b"", headers)) as server:
        async with opened(server.url) as store:
            assert (await store.facts(THERE)).pin == Pin(etag='"e"')


async def test_a_refused_head_is_sorted(aws_environment: None) -> None:
    """Answers to HEAD have no body: their status is all there is."""

    def answer(request: Request) -> Reply:
        return Reply(404) if request.path.endswith("a.csv") else error(403, "AccessDenied")

    with ScriptedS3(answer) as server:
        async with opened(server.url, treat_403_as_missing=True) as store:
            found = await store.facts_many([THERE, THERE.at("b.csv")])
    assert all(isinstance(trouble, Absent) for trouble in found.values())
    assert not any(isinstance(trouble, Facts) for trouble in found.values())
