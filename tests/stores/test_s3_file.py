"""Objects as files for blocking code, which may be read after the event loop has ended."""

from __future__ import annotations

import asyncio
import csv
import gc
import io
import os
import random
import threading
from collections.abc import Callable, Iterator
from typing import BinaryIO

import pytest

from airflow_landmark.stores import Absent, Address, Archived, Changed, Pin, S3Access, open_store
from airflow_landmark.stores import _s3_bridge as bridges
from airflow_landmark.stores import _s3_file as files
from faultproxy import FaultProxy
from s3server import S3Server

At = Callable[[str], Address]
DATA = random.Random(1).randbytes(6_000_000)


@pytest.fixture(autouse=True)
def own_bridge(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Give each test a bridge of its own, which has nothing left open in the end."""
    monkeypatch.setattr(files, "_LINGER_SECONDS", 0.0)
    yield
    for bridge in bridges._BRIDGES:
        bridge.end()
        assert not bridge._thread.is_alive()
    bridges._BRIDGES.clear()


def opened(address: Address, url: str, pin: Pin | None = None) -> BinaryIO:
    """A file that was opened in an event loop that has ended."""

    async def work() -> BinaryIO:
        access = S3Access(endpoint_url=url, addressing_style="path", read_timeout=2.0)
        place = Address(address.scheme, address.authority, address.folder, address.name, access)
        async with open_store(place) as store:
            return await store.open(place, pin=pin)

    return asyncio.run(work())


def test_a_file_outlives_its_loop(s3: S3Server, s3_at: At) -> None:
    """Blocking code reads it as any other file."""
    s3.put(s3_at("").authority, "in/a.csv", b"id,name\n1,x\n2,y\n")
    with opened(s3_at("a.csv"), s3.url) as file:
        assert file.readable()
        assert file.seekable()
        rows = list(csv.reader(io.TextIOWrapper(file, encoding="utf-8", newline="")))
    assert rows == [["id", "name"], ["1", "x"], ["2", "y"]]


def test_nothing_is_read_before_it_is_asked_for(s3: S3Server, s3_at: At) -> None:
    """Opening is one HEAD; a few bytes at the end cost a few bytes."""
    s3.put(s3_at("").authority, "in/a", DATA)
    s3.requests.clear()
    with opened(s3_at("a"), s3.url) as file:
        assert [request.method for request in s3.requests] == ["HEAD"]
        assert file.seek(-10, io.SEEK_END) == len(DATA) - 10
        assert file.read() == DATA[-10:]
    ranges = [request.headers["range"] for request in s3.asked("GET")]
    assert ranges == [f"bytes={len(DATA) - 10}-{len(DATA) - 1}"]


def test_reading_straight_on_takes_few_requests(s3: S3Server, s3_at: At) -> None:
    """Ranges grow while nobody jumps."""
    s3.put(s3_at("").authority, "in/a", DATA)
    s3.requests.clear()
    with opened(s3_at("a"), s3.url) as file:
        assert b"".join(iter(lambda: file.read(100_000), b"")) == DATA
        assert file.read() == b""
    assert len(s3.asked("GET")) == 3


def test_reading_everywhere(s3: S3Server, s3_at: At) -> None:
    """Any order of jumps and reads gives what the bytes give."""
    s3.put(s3_at("").authority, "in/a", DATA[:300_000])
    dice, plain = random.Random(2), io.BytesIO(DATA[:300_000])
    with opened(s3_at("a"), s3.url) as file:
        for _ in range(40):
            place, whence = dice.choice([(dice.randrange(310_000), 0), (dice.randrange(50), 1), (-9, 2)])
            assert file.seek(place, whence) == plain.seek(place, whence)
            length = dice.choice([0, 1, 100, 70_000, -1])
            assert file.read(length) == plain.read(length)
            assert file.tell() == plain.tell()
        with pytest.raises(ValueError, match="negative"):
            file.seek(-1)
        assert file.seek(0) == 0
        assert file.read() == DATA[:300_000]


def test_one_state_only(s3: S3Server, s3_at: At) -> None:
    """What was opened is read, or nothing."""
    s3.put(s3_at("").authority, "in/a", DATA)
    with opened(s3_at("a"), s3.url) as file:
        assert file.read(10) == DATA[:10]
        s3.put(s3_at("").authority, "in/a", DATA[::-1])
        file.seek(5_000_000)
        with pytest.raises(Changed):
            file.read(10)


def test_what_is_not_opened(s3: S3Server, s3_at: At) -> None:
    """Another state, an archived object and nothing at all are told when the file is opened."""
    bucket = s3_at("").authority
    s3.put(bucket, "in/a", b"one")
    s3.put(bucket, "in/cold", b"x", StorageClass="DEEP_ARCHIVE")
    with pytest.raises(Changed):
        opened(s3_at("a"), s3.url, Pin(etag='"other"'))
    with pytest.raises(Archived):
        opened(s3_at("cold"), s3.url)
    with pytest.raises(Absent):
        opened(s3_at("none"), s3.url)


def test_a_pinned_version(s3: S3Server) -> None:
    """A version stays readable after it was replaced."""
    bucket = s3.bucket(versions=True)
    version = s3.put(bucket, "in/a", b"one")["VersionId"]
    s3.put(bucket, "in/a", b"two")
    with opened(Address("s3", bucket, "in/", "a"), s3.url, Pin(version_id=version)) as file:
        assert file.read() == b"one"


def test_a_broken_connection_is_not_noticed(s3: S3Server, s3_at: At) -> None:
    """Reading goes on with the rest."""
    s3.put(s3_at("").authority, "in/a", DATA)
    with (
        FaultProxy("127.0.0.1", s3.port) as proxy,
        opened(s3_at("a"), f"http://127.0.0.1:{proxy.port}") as file,
    ):
        proxy.mode, proxy.after_bytes, proxy.faults = "cut", 300_000, 2
        assert file.read() == DATA


def test_files_share_a_client_and_threads_share_the_bridge(s3: S3Server, s3_at: At) -> None:
    """Several files in several threads are read through one loop, each to its own end."""
    for number in range(4):
        s3.put(s3_at("").authority, f"in/{number}", DATA[number * 1_000_000 : (number + 1) * 1_000_000])
    got: dict[int, bytes] = {}

    def work(number: int) -> None:
        with opened(s3_at(str(number)), s3.url) as file:
            got[number] = file.read()

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert b"".join(got[number] for number in range(4)) == DATA[:4_000_000]
    assert len(bridges._BRIDGES) == 1


async def test_a_file_may_be_closed_by_anybody(s3: S3Server, s3_at: At) -> None:
    """Closing never waits: the garbage collector does it in any thread, also in the bridge's own."""
    s3.put(s3_at("").authority, "in/a", DATA)
    file = await asyncio.to_thread(opened, s3_at("a"), s3.url)
    await asyncio.to_thread(file.read, 10)
    here = bridges.bridge()

    async def drop() -> None:
        nonlocal file
        del file
        gc.collect()

    await asyncio.wrap_future(here.submit(drop()))

    async def closed() -> int:
        while here._closers or here._tasks:
            await asyncio.sleep(0.01)
        return 0

    assert await asyncio.wait_for(asyncio.wrap_future(here.submit(closed())), 5) == 0


def test_a_closed_file(s3: S3Server, s3_at: At) -> None:
    """It can be closed twice, and not read."""
    s3.put(s3_at("").authority, "in/a", b"one")
    file = opened(s3_at("a"), s3.url)
    file.close()
    file.close()
    with pytest.raises(ValueError, match="closed"):
        file.read()


def test_the_end_of_the_process_closes_what_is_open(
    s3: S3Server, s3_at: At, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file that nobody closed leaves no connection; what waits for its moment to close does not wait."""
    monkeypatch.setattr(files, "_LINGER_SECONDS", 60.0)
    s3.put(s3_at("").authority, "in/a", DATA)
    left_open, closed = opened(s3_at("a"), s3.url), opened(s3_at("a"), s3.url)
    left_open.read(10)
    closed.close()
    here = bridges.bridge()
    assert len(here._closers) == 2
    bridges._end()
    assert not here._closers
    assert here.loop.is_closed()
    left_open.close()


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_child_process_does_not_hang(s3: S3Server, s3_at: At) -> None:
    """A forked process has the file but not the thread behind it: it is told so, and can open its own."""
    s3.put(s3_at("").authority, "in/a", DATA)
    with opened(s3_at("a"), s3.url) as file:
        child = os.fork()
        if not child:  # pragma: no cover - another process
            try:
                file.read(10)
            except RuntimeError:
                os._exit(0 if not bridges._BRIDGES else 2)
            os._exit(1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert file.read(10) == DATA[:10]
