"""Reading objects: by range, one state only, and on from where a connection broke."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Callable

import anyio
import pytest

from airflow_landmark.stores import (
    Absent,
    Address,
    Archived,
    Changed,
    LastingTrouble,
    PassingTrouble,
    Pin,
    new_hash,
)
from airflow_landmark.stores import _s3_read as reading
from airflow_landmark.stores._s3 import S3Store
from faultproxy import FaultProxy
from s3server import Reply, Request, S3Server, ScriptedS3, opened

At = Callable[[str], Address]
THERE = Address("s3", "bucket", "in/", "a.csv")
DATA = random.Random(1).randbytes(1_500_000)


async def read(store: S3Store, address: Address, **how: object) -> bytes:
    """All the bytes."""
    return b"".join([chunk async for chunk in store.read(address, **how)])  # type: ignore[arg-type]


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let reading go on without pauses."""
    monkeypatch.setattr(reading, "_MAX_PAUSE", 0.01)


@pytest.mark.parametrize(
    ("start", "stop"), [(0, None), (3, None), (0, 4), (2, 5), (0, 100), (9, 12), (10, None), (50, 60), (4, 4)]
)
async def test_ranges(s3_store: S3Store, s3_at: At, s3: S3Server, start: int, stop: int | None) -> None:
    """Any range reads as the same slice of the bytes does."""
    s3.put(s3_at("").authority, "in/a", b"0123456789")
    assert await read(s3_store, s3_at("a"), start=start, stop=stop) == b"0123456789"[start:stop]


@pytest.mark.parametrize(("start", "stop"), [(0, None), (0, 10), (5, None)])
async def test_an_empty_object(
    s3_store: S3Store, s3_at: At, s3: S3Server, start: int, stop: int | None
) -> None:
    """Nothing can be read of it, and that is no error."""
    s3.put(s3_at("").authority, "in/a", b"")
    assert await read(s3_store, s3_at("a"), start=start, stop=stop) == b""


async def test_chunks_are_bounded(s3_store: S3Store, s3_at: At, s3: S3Server) -> None:
    """However large the object, a chunk is at most 1 MiB."""
    s3.put(s3_at("").authority, "in/a", DATA)
    chunks = [chunk async for chunk in s3_store.read(s3_at("a"))]
    assert b"".join(chunks) == DATA
    assert max(map(len, chunks)) <= 1 << 20


async def test_another_state_is_not_read(s3_store: S3Store, s3_at: At, s3: S3Server) -> None:
    """A pin reads that state or nothing."""
    s3.put(s3_at("").authority, "in/a", b"one")
    pin = (await s3_store.facts(s3_at("a"))).pin
    assert await read(s3_store, s3_at("a"), pin=pin) == b"one"
    s3.put(s3_at("").authority, "in/a", b"two")
    with pytest.raises(Changed):
        await read(s3_store, s3_at("a"), pin=pin)
    with pytest.raises(Changed):
        await s3_store.digest(s3_at("a"), ["sha256"], pin=pin)


async def test_a_pinned_version_stays_readable(s3_store: S3Store, s3: S3Server) -> None:
    """Where the bucket keeps versions, what was verified is read although it was replaced since."""
    bucket = s3.bucket(versions=True)
    at = Address("s3", bucket, "in/", "a")
    s3.put(bucket, "in/a", b"one")
    pin = (await s3_store.facts(at)).pin
    s3.put(bucket, "in/a", b"two")
    s3.client.delete_object(Bucket=bucket, Key="in/a")
    assert await read(s3_store, at, pin=pin) == b"one"
    s3.client.delete_object(Bucket=bucket, Key="in/a", VersionId=pin.version_id)
    with pytest.raises(Changed):
        await read(s3_store, at, pin=pin)


async def test_what_cannot_be_read(s3_store: S3Store, s3_at: At, s3: S3Server) -> None:
    """Nothing there, or an archive, is told as what it is."""
    with pytest.raises(Absent):
        await read(s3_store, s3_at("a"))
    s3.put(s3_at("").authority, "in/a", b"x", StorageClass="GLACIER")
    with pytest.raises(Archived):
        await read(s3_store, s3_at("a"))


async def test_a_digest_reads_once(s3_store: S3Store, s3_at: At, s3: S3Server, loop_guard: object) -> None:
    """Several digests and other takers of the bytes share one request."""
    s3.put(s3_at("").authority, "in/a", DATA)
    taken: list[bytes] = []

    class Taker:
        def update(self, chunk: bytes, /) -> None:
            taken.append(chunk)

    s3.requests.clear()
    algorithms = ["sha256", "sha512", "md5", "crc32c", "crc64nvme"]
    found = await s3_store.digest(s3_at("a"), algorithms, sinks=[Taker()])
    for name in algorithms:
        run = new_hash(name)
        run.update(DATA)
        assert found.digests[name] == run.hexdigest()
    assert b"".join(taken) == DATA
    assert found.facts.size == len(DATA)
    assert len(s3.requests) == 1


async def test_a_digest_pins_what_was_digested(s3_store: S3Store, s3: S3Server) -> None:
    """The facts name the version that the digest is of."""
    bucket = s3.bucket(versions=True)
    version = s3.put(bucket, "in/a", b"one")["VersionId"]
    found = await s3_store.digest(Address("s3", bucket, "in/", "a"), ["sha256"])
    assert found.facts.pin.version_id == version
    assert found.digests == {"sha256": hashlib.sha256(b"one").hexdigest()}


async def test_an_algorithm_that_is_unknown(s3_store: S3Store, s3_at: At, s3: S3Server) -> None:
    """What cannot be computed is told before anything is read."""
    s3.requests.clear()
    with pytest.raises(LastingTrouble):
        await s3_store.digest(s3_at("a"), ["sha999"])
    assert not s3.requests


async def test_a_taker_that_fails_ends_the_digest(s3_store: S3Store, s3_at: At, s3: S3Server) -> None:
    """Its error is raised as it is, and nothing is fed to it twice."""
    s3.put(s3_at("").authority, "in/a", DATA)
    taken = []

    class Full:
        def update(self, chunk: bytes, /) -> None:
            taken.append(len(chunk))
            raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        await s3_store.digest(s3_at("a"), [], sinks=[Full()])
    assert len(taken) == 1


@pytest.mark.parametrize("mode", ["cut", "reset"])
async def test_reading_goes_on_where_a_connection_broke(
    s3: S3Server, s3_at: At, quick: None, mode: str
) -> None:
    """A broken connection costs a request for the rest, of the same state."""
    s3.put(s3_at("").authority, "in/a", DATA)
    s3.requests.clear()
    with FaultProxy("127.0.0.1", s3.port) as proxy:
        proxy.mode, proxy.after_bytes, proxy.faults = mode, 400_000, 3  # type: ignore[assignment]
        async with opened(f"http://127.0.0.1:{proxy.port}") as store:
            found = await store.digest(s3_at("a"), ["sha256"])
    assert found.digests["sha256"] == hashlib.sha256(DATA).hexdigest()
    starts = [request.headers.get("range") for request in s3.requests]
    assert len(starts) == 4
    assert starts[0] is None
    assert all(start is not None and start.startswith("bytes=") for start in starts[1:])
    assert all("if-match" in request.headers for request in s3.requests[1:])


async def test_an_object_replaced_between_two_connections(s3: S3Server, s3_at: At, quick: None) -> None:
    """The rest of another object is never read as the rest of the first."""
    s3.put(s3_at("").authority, "in/a", DATA)
    with FaultProxy("127.0.0.1", s3.port) as proxy:
        proxy.mode, proxy.after_bytes, proxy.faults = "cut", 400_000, 1
        async with opened(f"http://127.0.0.1:{proxy.port}") as store:
            chunks = store.read(s3_at("a"))
            got = await anext(chunks)
            s3.put(s3_at("").authority, "in/a", DATA[::-1])
            with pytest.raises(Changed):
                got += b"".join([chunk async for chunk in chunks])
    assert DATA.startswith(got)


async def test_a_server_that_never_answers_whole_is_given_up(s3: S3Server, s3_at: At, quick: None) -> None:
    """After a few connections that brought hardly anything reading ends in passing trouble."""
    s3.put(s3_at("").authority, "in/a", DATA)
    with FaultProxy("127.0.0.1", s3.port) as proxy:
        proxy.mode, proxy.after_bytes = "cut", 1_000
        async with opened(f"http://127.0.0.1:{proxy.port}") as store:
            with pytest.raises(PassingTrouble):
                await read(store, s3_at("a"))
        assert proxy.connections == reading._ATTEMPTS + 1


async def test_a_reader_that_stops_gives_the_connection_back(s3: S3Server, s3_at: At) -> None:
    """More readers than connections, each of which stops early, wait for none."""
    s3.put(s3_at("").authority, "in/a", DATA)
    async with opened(s3.url, client_config=(("max_pool_connections", 2),)) as store:
        with anyio.fail_after(20):
            for _ in range(6):
                chunks = store.read(s3_at("a"))
                assert await anext(chunks)
                await chunks.aclose()  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "headers",
    [{}, {"Content-Range": "bytes 0-4/10"}, {"Content-Range": "nonsense"}, {"Content-Range": "bytes 3-7/x"}],
)
async def test_another_range_than_asked_for(aws_environment: None, headers: dict[str, str]) -> None:
    """Bytes from somewhere else are never taken for the ones asked for."""

    def answer(request: Request) -> Reply:
        return Reply(206 if headers else 200, b"01234", {"ETag": '"e"', **headers})

    with ScriptedS3(answer) as server:
        async with opened(server.url) as store:
            with pytest.raises(LastingTrouble, match="another range"):
                await read(store, THERE, start=3, stop=8)


@pytest.mark.parametrize("status", [206, 416])
async def test_a_range_that_was_not_asked_for(aws_environment: None, status: int) -> None:
    """A part is never taken for the whole."""
    headers = {"ETag": '"e"', "Content-Range": "bytes 0-4/10"}
    with ScriptedS3(lambda request: Reply(status, b"01234", headers)) as server:
        async with opened(server.url) as store:
            with pytest.raises(LastingTrouble):
                await store.digest(THERE, ["sha256"])


async def test_a_server_that_changes_under_one_etag(aws_environment: None) -> None:
    """Two answers of one reading must be of one state."""

    def answer(request: Request) -> Reply:
        return Reply(200, b"x" * 10, {"ETag": '"new"'})

    with ScriptedS3(answer) as server:
        async with opened(server.url) as store:
            with pytest.raises(Changed):
                await read(store, THERE, pin=Pin(etag='"old"'))


async def test_the_loop_goes_on_while_a_digest_runs(
    s3_store: S3Store, s3_at: At, s3: S3Server, loop_gaps: Callable
) -> None:
    """Hashing happens elsewhere."""
    s3.put(s3_at("").authority, "in/a", bytes(30_000_000))
    async with loop_gaps() as gaps:
        await s3_store.digest(s3_at("a"), ["sha512", "blake2b", "sha256"])
    assert max(gaps) < 0.1
