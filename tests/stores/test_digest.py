"""Digests of local files: read once, in a thread, and never of a file that changed meanwhile."""

from __future__ import annotations

import asyncio
import hashlib
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import anyio
import pytest

from airflow_landmark.markers import STRONG_ALGORITHMS, WEAK_ALGORITHMS
from airflow_landmark.stores import (
    Absent,
    Address,
    Changed,
    LastingTrouble,
    LocalStore,
    PassingTrouble,
    Pin,
    Refused,
    computable,
)
from airflow_landmark.stores._local_files import pin_of

At = Callable[[str], Address]
MEGABYTE = 1 << 20


class Sink:
    """Takes chunks and does something with the first one."""

    def __init__(self, then: Callable[[], object] = lambda: None) -> None:
        self.chunks: list[bytes] = []
        self._then = then

    def update(self, chunk: bytes, /) -> None:
        """Keep the chunk."""
        self.chunks.append(chunk)
        if len(self.chunks) == 1:
            self._then()


@pytest.fixture
def release() -> Iterator[threading.Event]:
    """Return what a blocked sink waits for."""
    event = threading.Event()
    yield event
    event.set()


@pytest.mark.parametrize("algorithm", [*STRONG_ALGORITHMS, *WEAK_ALGORITHMS])
async def test_each_algorithm_of_a_manifest(
    store: LocalStore, at: At, tmp_path: Path, algorithm: str
) -> None:
    """Every algorithm that a manifest may name is computed; the checks give their published values."""
    (tmp_path / "f").write_bytes(b"123456789")
    digested = await store.digest(at("f"), [algorithm])
    checks = {"crc32c": "e3069283", "crc64nvme": "ae8b14860a799888"}  # of these nine digits
    expected = (
        checks.get(algorithm) or hashlib.new(algorithm, b"123456789", usedforsecurity=False).hexdigest()
    )
    assert digested.digests == {algorithm: expected}
    assert len(expected) == {**STRONG_ALGORITHMS, **WEAK_ALGORITHMS}[algorithm]


async def test_without_the_s3_extra_its_checks_cannot_be_computed(
    store: LocalStore, at: At, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without the library that computes them, the two checks of object stores are told before reading."""
    monkeypatch.setattr("airflow_landmark.stores._hashes.find_spec", lambda _name: None)
    (tmp_path / "f").write_bytes(b"content")
    assert [a for a in WEAK_ALGORITHMS if not computable(a)] == ["crc32c", "crc64nvme"]
    assert not computable("whirlpool")
    with pytest.raises(LastingTrouble, match="cannot compute"):
        await store.digest(at("f"), ["crc32c"])


async def test_a_file_is_read_once_for_everything(store: LocalStore, at: At, tmp_path: Path) -> None:
    """Several digests and sinks share one pass, in chunks of bounded size."""
    data = os.urandom(2 * MEGABYTE + 17)
    (tmp_path / "f").write_bytes(data)
    sinks = [Sink(), Sink()]
    digested = await store.digest(at("f"), ["sha256", "md5"], sinks=sinks)
    assert digested.digests["sha256"] == hashlib.sha256(data).hexdigest()
    assert set(digested.digests) == {"sha256", "md5"}
    assert digested.facts.size == len(data)
    assert digested.facts.pin == pin_of((tmp_path / "f").stat())
    for sink in sinks:
        assert b"".join(sink.chunks) == data
        assert max(map(len, sink.chunks)) <= MEGABYTE


async def test_an_empty_file_has_a_digest(store: LocalStore, at: At, tmp_path: Path) -> None:
    """A file without bytes is digested like any other."""
    (tmp_path / "f").touch()
    assert (await store.digest(at("f"), ["sha256"])).digests == {"sha256": hashlib.sha256().hexdigest()}


async def test_without_algorithms_only_the_sinks_read(store: LocalStore, at: At, tmp_path: Path) -> None:
    """A pass may serve sinks alone."""
    (tmp_path / "f").write_bytes(b"x")
    sink = Sink()
    assert (await store.digest(at("f"), [], sinks=[sink])).digests == {}
    assert sink.chunks == [b"x"]


async def test_what_cannot_be_read(store: LocalStore, at: At, tmp_path: Path) -> None:
    """Absent files and links are told apart."""
    (tmp_path / "link").symlink_to("f")
    with pytest.raises(Absent):
        await store.digest(at("f"), ["sha256"])
    with pytest.raises(Refused):
        await store.digest(at("link"), ["sha256"])


async def test_only_the_pinned_state_is_digested(store: LocalStore, at: At, tmp_path: Path) -> None:
    """A file that is not the one that was seen is not read."""
    (tmp_path / "f").write_bytes(b"x")
    pin = (await store.facts(at("f"))).pin
    assert (await store.digest(at("f"), ["sha256"], pin=pin)).facts.pin == pin
    time.sleep(0.02)
    (tmp_path / "f").write_bytes(b"y")
    sink = Sink()
    with pytest.raises(Changed):
        await store.digest(at("f"), ["sha256"], pin=pin, sinks=[sink])
    assert not sink.chunks
    with pytest.raises(Changed):
        await store.digest(at("f"), ["sha256"], pin=Pin())


def _append(path: Path) -> None:
    with path.open("ab") as file:
        file.write(b"more")


def _replace(path: Path) -> None:
    path.with_name("new").write_bytes(path.read_bytes())
    path.with_name("new").rename(path)


def _truncate(path: Path) -> None:
    os.truncate(path, 1)


@pytest.mark.parametrize("change", [_append, _replace, _truncate])
async def test_a_change_during_the_pass_is_noticed(
    store: LocalStore, at: At, tmp_path: Path, change: Callable[[Path], None], no_descriptor_left: None
) -> None:
    """A file that grows, shrinks or is replaced while it is read has no digest."""
    (tmp_path / "f").write_bytes(b"x" * 3 * MEGABYTE)
    time.sleep(0.02)
    with pytest.raises(Changed):
        await store.digest(at("f"), ["sha256"], sinks=[Sink(lambda: change(tmp_path / "f"))])


async def test_a_file_that_goes_during_the_pass(store: LocalStore, at: At, tmp_path: Path) -> None:
    """A file that is removed while it is read is absent or changed, never good."""
    (tmp_path / "f").write_bytes(b"x")
    with pytest.raises((Absent, Changed)):
        await store.digest(at("f"), ["sha256"], sinks=[Sink((tmp_path / "f").unlink)])


async def test_cancelling_stops_the_reading(
    store: LocalStore, at: At, tmp_path: Path, no_descriptor_left: None
) -> None:
    """A cancelled digest reads no further chunk."""
    with (tmp_path / "f").open("wb") as file:
        file.truncate(1 << 40)
    begun = threading.Event()
    sink = Sink(begun.set)
    task = asyncio.ensure_future(store.digest(at("f"), [], sinks=[sink]))
    while not begun.is_set():
        await anyio.sleep(0.001)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await anyio.sleep(0.05)
    read = len(sink.chunks)
    await anyio.sleep(0.1)
    assert len(sink.chunks) == read


async def test_a_pass_without_progress_is_given_up(at: At, tmp_path: Path, release: threading.Event) -> None:
    """When no byte comes for the stall time, that is passing trouble."""
    (tmp_path / "f").write_bytes(b"x")
    store = await LocalStore(stall_seconds=0.2).start()
    with anyio.fail_after(5):
        with pytest.raises(PassingTrouble, match=r"no byte came for 0.2 s"):
            await store.digest(at("f"), ["sha256"], sinks=[Sink(release.wait)])
    await store.aclose()


async def test_a_slow_pass_with_progress_is_not_given_up(at: At, tmp_path: Path) -> None:
    """A pass may take longer than the stall time while bytes come."""

    class Slow(Sink):
        def update(self, chunk: bytes, /) -> None:
            time.sleep(0.1)

    (tmp_path / "f").write_bytes(b"x" * 5 * MEGABYTE)
    store = await LocalStore(stall_seconds=0.2).start()
    assert (await store.digest(at("f"), [], sinks=[Slow()])).facts.size == 5 * MEGABYTE
    await store.aclose()


async def test_waiting_for_a_turn_is_no_stall(at: At, tmp_path: Path, release: threading.Event) -> None:
    """The stall time runs while a file is read, not while it waits behind others."""
    (tmp_path / "f").write_bytes(b"x")
    store = await LocalStore(stall_seconds=0.4).start()
    store._digests = anyio.CapacityLimiter(1)
    begun = threading.Event()
    async with anyio.create_task_group() as group:

        async def first() -> None:
            await store.digest(at("f"), [], sinks=[Sink(lambda: (begun.set(), time.sleep(0.3)))])
            await store.digest(at("f"), [], sinks=[Sink(lambda: time.sleep(0.3))])

        group.start_soon(first)
        while not begun.is_set():
            await anyio.sleep(0.001)
        digested = await store.digest(at("f"), ["sha256"], sinks=[Sink(lambda: time.sleep(0.3))])
        assert digested.facts.size == 1
    await store.aclose()


async def test_the_loop_goes_on_meanwhile(
    store: LocalStore, at: At, tmp_path: Path, loop_gaps: Callable
) -> None:
    """Large files are digested off the event loop."""
    (tmp_path / "f").write_bytes(b"x" * 30 * MEGABYTE)
    async with loop_gaps() as gaps:
        await store.digest(at("f"), ["sha256"])
    assert max(gaps) < 0.5


def test_a_stalled_pass_does_not_keep_the_process() -> None:
    """A process ends although one of its files hangs while it is digested."""
    script = (
        "import anyio, tempfile, threading\n"
        "from airflow_landmark.stores import LocalStore, PassingTrouble, parse_uri\n"
        "class Sink:\n"
        "    def update(self, chunk):\n"
        "        threading.Event().wait()\n"
        "async def main():\n"
        "    store = await LocalStore(stall_seconds=0.1).start()\n"
        "    with tempfile.NamedTemporaryFile() as file:\n"
        "        file.write(b'x')\n"
        "        file.flush()\n"
        "        try:\n"
        "            await store.digest(parse_uri(file.name), ['sha256'], sinks=[Sink()])\n"
        "        except PassingTrouble:\n"
        "            print('given up')\n"
        "anyio.run(main)\n"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-W", "error", "-c", script]
    done = subprocess.run(command, env=environment, timeout=30, capture_output=True, check=True)
    assert (done.stdout, done.stderr) == (b"given up\n", b"")
