"""Writing files into buckets, in one piece or in parts that appear together."""

from __future__ import annotations

import hashlib
import io
import random
import tracemalloc
from collections.abc import Callable, Mapping

import anyio
import pytest

from airflow_landmark.stores import (
    Address,
    Changed,
    Facts,
    LastingTrouble,
    PassingTrouble,
    new_hash,
)
from airflow_landmark.stores import _s3_parts as parts
from airflow_landmark.stores import _s3_source as source
from airflow_landmark.stores import _s3_write as write
from airflow_landmark.stores._s3 import S3Store
from faultproxy import FaultProxy
from s3server import Reply, Request, S3Server, ScriptedS3, error, opened

At = Callable[[str], Address]
MIB = 1 << 20
DATA = random.Random(1).randbytes(12 * MIB)
THERE = Address("s3", "bucket", "in/", "a.csv")


@pytest.fixture(autouse=True)
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let parts be as small as S3 takes them."""
    monkeypatch.setattr(parts, "PART_BYTES", 5 * MIB)
    monkeypatch.setattr(write, "PART_BYTES", 5 * MIB)


def digests(data: bytes, *algorithms: str) -> Mapping[str, str]:
    """What is promised of the bytes."""
    found = {}
    for name in algorithms or ("sha256",):
        run = new_hash(name)
        run.update(data)
        found[name] = run.hexdigest()
    return found


async def put(store: S3Store, address: Address, data: bytes, *algorithms: str) -> Facts:
    """Write the bytes as a file."""
    return await store.put_file(address, io.BytesIO(data), size=len(data), digests=digests(data, *algorithms))


def left(s3: S3Server, bucket: str) -> tuple[list[str], int]:
    """The keys in a bucket, and how many uploads are open there."""
    keys = [entry["Key"] for entry in s3.client.list_objects_v2(Bucket=bucket).get("Contents", [])]
    return keys, len(s3.client.list_multipart_uploads(Bucket=bucket).get("Uploads", []))


class Taker:
    """Takes chunks."""

    def __init__(self) -> None:
        self.data = b""

    def update(self, chunk: bytes, /) -> None:
        """Keep the chunk."""
        self.data += chunk


@pytest.mark.parametrize("size", [0, 1, 5 * MIB])
async def test_a_small_file_is_one_request(s3_store: S3Store, s3_at: At, s3: S3Server, size: int) -> None:
    """It is sent with its checksum."""
    taker = Taker()
    s3.requests.clear()
    facts = await s3_store.put_file(
        s3_at("a b/ü+.csv"), io.BytesIO(DATA[:size]), size=size, digests=digests(DATA[:size]), sinks=[taker]
    )
    assert [request.method for request in s3.requests] == ["PUT"]
    assert "x-amz-checksum-sha256" in s3.requests[0].headers
    assert facts == Facts(size, facts.pin)
    assert facts.pin.etag == (await s3_store.facts(s3_at("a b/ü+.csv"))).pin.etag
    assert s3.get(s3_at("").authority, "in/a b/ü+.csv") == DATA[:size] == taker.data


@pytest.mark.parametrize("size", [5 * MIB + 1, 10 * MIB])
async def test_a_large_file_is_sent_in_parts(s3_store: S3Store, s3: S3Server, size: int) -> None:
    """The parts appear together, and the store keeps a checksum of the whole."""
    at = Address("s3", s3.bucket(versions=True), "in/", "a.csv")
    taker = Taker()
    facts = await s3_store.put_file(
        at, io.BytesIO(DATA[:size]), size=size, digests=digests(DATA[:size]), sinks=[taker]
    )
    assert s3.get(at.authority, "in/a.csv") == DATA[:size] == taker.data
    there = await s3_store.facts(at)
    assert (facts.size, facts.pin.etag, facts.pin.version_id) == (
        size,
        there.pin.etag,
        there.pin.version_id,
    )
    held = await s3_store.held_digests(at, ["crc64nvme"], pin=facts.pin)
    assert held == digests(DATA[:size], "crc64nvme")
    assert left(s3, at.authority) == (["in/a.csv"], 0)


async def test_a_known_checksum_is_the_one_that_is_kept(s3_store: S3Store, s3: S3Server) -> None:
    """When the manifest has a CRC32C, the store is to vouch for that."""
    at = Address("s3", s3.bucket(), "in/", "a.csv")
    await put(s3_store, at, DATA, "sha256", "crc32c")
    uploads = [r for r in s3.asked("POST") if "uploads" in r.query]
    assert [r.headers["x-amz-checksum-algorithm"] for r in uploads if at.authority in r.path] == ["CRC32C"]
    assert source.full_algorithm({"crc64nvme": "", "crc32c": ""}) == "crc64nvme"


@pytest.mark.parametrize("size", [1_000, 12 * MIB])
@pytest.mark.parametrize("change", ["other bytes", "fewer", "more"])
async def test_a_source_that_changed(
    s3_store: S3Store, s3_at: At, s3: S3Server, size: int, change: str
) -> None:
    """Other bytes than were promised are never seen by anybody, and leave nothing behind."""
    data = DATA[:size]
    changed = {"other bytes": data[:-1] + b"!", "fewer": data[:-1], "more": data + b"!"}[change]
    with pytest.raises(Changed, match="source changed"):
        await s3_store.put_file(
            s3_at("a.csv"), io.BytesIO(changed), size=size, digests={**digests(data), "future": "00"}
        )
    assert left(s3, s3_at("").authority) == ([], 0)


@pytest.mark.parametrize("size", [1_000, 12 * MIB])
async def test_trouble_on_the_way_is_tried_again(s3: S3Server, s3_at: At, size: int) -> None:
    """Answers that are lost cost requests, not the upload."""
    with FaultProxy("127.0.0.1", s3.port) as proxy:
        async with opened(f"http://127.0.0.1:{proxy.port}") as store:
            proxy.mode, proxy.faults = "reset", 2
            await put(store, s3_at("a.csv"), DATA[:size])
            assert proxy.faults == 0
    assert s3.get(s3_at("").authority, "in/a.csv") == DATA[:size]


class Uploads:
    """A server that knows uploads in parts, and fails as told.

    :param fails: which requests it answers otherwise, and how.
    """

    def __init__(self, fails: Callable[[Request], Reply | None]) -> None:
        self.fails = fails
        self.parts: list[int] = []
        self.ended: list[str] = []

    def __call__(self, request: Request) -> Reply:
        """Answer as S3 does."""
        if (failure := self.fails(request)) is not None:
            return failure
        if request.method == "POST" and "uploads" in request.query:
            return Reply(200, b"<R><UploadId>u1</UploadId></R>")
        if request.method == "PUT":
            self.parts.append(int(request.query["partNumber"]))
            return Reply(200, b"", {"ETag": '"part"'})
        if request.method == "POST":
            self.ended.append("completed")
            return Reply(200, b'<R><ETag>"whole-3"</ETag></R>')
        if request.method == "DELETE":
            self.ended.append("aborted")
            return Reply(204)
        return error(404, "NoSuchKey")


def part(number: int, reply: Reply) -> Callable[[Request], Reply | None]:
    """Let one part fail."""
    return lambda r: reply if r.query.get("partNumber") == str(number) else None


async def test_parts_that_fail_for_good_are_aborted(aws_environment: None) -> None:
    """Neither passing nor lasting trouble leaves parts that nobody sees and somebody pays for."""
    for reply, kind in (
        (error(503, "SlowDown"), PassingTrouble),
        (error(403, "AccessDenied"), LastingTrouble),
    ):
        script = Uploads(part(2, reply))
        with ScriptedS3(script) as server:
            async with opened(server.url) as store:
                with pytest.raises(kind):
                    await put(store, THERE, DATA)
        assert script.ended == ["aborted"]


async def test_an_abort_that_fails_hides_nothing(aws_environment: None) -> None:
    """The first trouble is the one that is told."""

    def fails(request: Request) -> Reply | None:
        if request.method == "DELETE":
            return error(500, "InternalError")
        return part(1, error(403, "AccessDenied"))(request)

    with ScriptedS3(Uploads(fails)) as server:
        async with opened(server.url) as store:
            with pytest.raises(LastingTrouble, match="UploadPart"):
                await put(store, THERE, DATA)


async def test_a_cancelled_upload_is_aborted(s3: S3Server, s3_at: At) -> None:
    """Ctrl-C in the midst of a part leaves nothing behind."""
    bucket = s3_at("").authority
    with FaultProxy("127.0.0.1", s3.port) as proxy:
        async with opened(f"http://127.0.0.1:{proxy.port}") as store:

            class Stalling(Taker):
                def update(self, chunk: bytes, /) -> None:
                    proxy.mode = "delay"
                    proxy.delay_seconds = 0.5

            with anyio.move_on_after(0.4) as scope:
                await store.put_file(
                    s3_at("a.csv"), io.BytesIO(DATA), size=len(DATA), digests={}, sinks=[Stalling()]
                )
            assert scope.cancelled_caught
    assert left(s3, bucket) == ([], 0)


async def test_the_last_answer_is_lost(s3: S3Server, s3_at: At) -> None:
    """When the store vouches for our bytes, the upload was completed."""
    done: list[bool] = []
    with FaultProxy("127.0.0.1", s3.port) as proxy:
        async with opened(f"http://127.0.0.1:{proxy.port}") as store:
            really = store.connection.call

            async def call(operation: str, *rest: object, **named: object) -> object:
                if operation == "complete_multipart_upload" and not done:
                    done.append(True)
                    proxy.mode, proxy.faults = "cut", 1
                return await really(operation, *rest, **named)  # type: ignore[arg-type]

            store.connection.call = call  # type: ignore[method-assign, assignment]
            facts = await put(store, s3_at("a.csv"), DATA)
            assert proxy.faults == 0
            assert facts.pin == (await store.facts(s3_at("a.csv"))).pin
    assert left(s3, s3_at("").authority) == (["in/a.csv"], 0)


async def test_a_last_answer_that_never_comes(aws_environment: None) -> None:
    """When nothing vouches for the bytes, the upload is aborted and the trouble told."""
    script = Uploads(lambda r: Reply(cut=True) if r.method == "POST" and "uploadId" in r.query else None)
    with ScriptedS3(script) as server:
        async with opened(server.url) as store:
            with pytest.raises(PassingTrouble, match="CompleteMultipartUpload"):
                await put(store, THERE, DATA)
    assert script.ended == ["aborted"]


async def test_a_server_that_knows_no_such_checksum(aws_environment: None) -> None:
    """It gets the parts without."""
    script = Uploads(
        lambda r: error(400, "InvalidArgument") if "x-amz-checksum-algorithm" in r.headers else None
    )
    with ScriptedS3(script) as server:
        async with opened(server.url) as store:
            facts = await put(store, THERE, DATA)
    assert facts.pin.etag == '"whole-3"'
    assert sorted(script.parts) == [1, 2, 3]
    assert not any("x-amz-checksum-crc64nvme" in request.headers for request in server.requests)


async def test_without_the_runtime_library(
    s3_store: S3Store, s3_at: At, s3: S3Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where no CRC can be computed, the source is still held against its digests."""
    monkeypatch.setattr(source, "computable", lambda name: name == "sha256")
    await put(s3_store, s3_at("a.csv"), DATA)
    assert s3.get(s3_at("").authority, "in/a.csv") == DATA


def test_the_parts_of_the_largest_object(s3: S3Server) -> None:
    """Five terabytes fit into ten thousand parts."""
    connection = S3Store.__new__(S3Store)
    for size in (6 * MIB, 100_000 * MIB, 5 * 1024 * 1024 * MIB):
        upload = parts.PartsUpload(
            connection,  # type: ignore[arg-type]
            THERE,
            source.Source(THERE, io.BytesIO(), size=size, digests={}, also=None, sinks=[]),
            size=size,
            algorithm=None,
            again=None,  # type: ignore[arg-type]
        )
        assert upload._part_bytes >= 5 * MIB
        assert size / upload._part_bytes <= 10_000


async def test_memory_stays_bounded(s3_store: S3Store, s3_at: At, monkeypatch: pytest.MonkeyPatch) -> None:
    """However large the file, only a few parts of it are held."""

    class Endless(io.RawIOBase):
        left = 60 * MIB

        def read(self, size: int = -1) -> bytes:
            taken = min(size, self.left)
            self.left -= taken
            return bytes(taken)

    held, most = [0], [0]
    really = parts.PartsUpload._call

    async def counted(self: object, operation: str, parameters: Mapping, **named: object) -> Mapping:
        size = int(parameters.get("ContentLength", 0))
        held[0] += size
        most[0] = max(most[0], held[0])
        if operation == "upload_part":
            await anyio.sleep(0.01)
            held[0] -= size
            return {"ETag": '"part"'}
        if operation == "complete_multipart_upload":
            return {"ETag": '"whole"'}
        return await really(self, operation, parameters, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(parts.PartsUpload, "_call", counted)
    tracemalloc.start()
    try:
        await s3_store.put_file(s3_at("a"), Endless(), size=60 * MIB, digests={})  # type: ignore[arg-type]
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert 5 * MIB < most[0] <= parts._AT_ONCE * 5 * MIB
    assert peak < 60 * MIB


async def test_a_source_that_fails(s3_store: S3Store, s3_at: At, s3: S3Server) -> None:
    """It is told, as is a taker's own error, and the upload is aborted."""

    class Failing(io.BytesIO):
        def read(self, size: int | None = -1) -> bytes:
            if self.tell() > 6 * MIB:
                raise OSError(5, "gone")
            return super().read(size)

    class Broken:
        def update(self, chunk: bytes, /) -> None:
            raise ZeroDivisionError

    with pytest.raises(LastingTrouble, match="cannot be read"):
        await s3_store.put_file(s3_at("a"), Failing(DATA), size=len(DATA), digests={})
    with pytest.raises(ZeroDivisionError):
        await s3_store.put_file(s3_at("a"), io.BytesIO(DATA), size=len(DATA), digests={}, sinks=[Broken()])
    assert left(s3, s3_at("").authority) == ([], 0)


def test_promises_that_cannot_be_computed() -> None:
    """They are left alone: another release may know them."""
    reader = source.Source(THERE, io.BytesIO(b"x"), size=1, digests={"future": "00"}, also=None, sinks=[])
    assert reader._promised == {}
    assert reader._hashes.keys() == {"sha256"}
    assert hashlib.sha256().hexdigest() == reader.hexdigest("sha256")
