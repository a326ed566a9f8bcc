"""Reading local files: ranges, pins, and nothing left open."""

from __future__ import annotations

import gc
import os
import threading
import time
from collections.abc import Callable
from contextlib import aclosing
from pathlib import Path

import anyio
import pytest

from airflow_landmark.stores import Absent, Address, Changed, LocalStore, PassingTrouble, Pin, Refused
from airflow_landmark.stores import _local as local

At = Callable[[str], Address]


async def read(store: LocalStore, address: Address, **what: object) -> bytes:
    """All chunks in one."""
    return b"".join([chunk async for chunk in store.read(address, **what)])  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("start", "stop", "expected"),
    [
        (0, None, b"0123456789"), (3, None, b"3456789"), (3, 5, b"34"), (0, 0, b""), (5, 5, b""), (5, 3, b""),
        (8, 99, b"89"), (10, None, b""), (99, None, b""), (99, 100, b""),
    ],
)  # fmt: skip
async def test_a_range_is_half_open(
    store: LocalStore,
    at: At,
    tmp_path: Path,
    start: int,
    stop: int | None,
    expected: bytes,
    no_descriptor_left: None,
) -> None:
    """A range goes from its start to before its stop, as far as there are bytes."""
    (tmp_path / "f").write_bytes(b"0123456789")
    assert await read(store, at("f"), start=start, stop=stop) == expected


async def test_chunks_are_bounded(store: LocalStore, at: At, tmp_path: Path) -> None:
    """A large file comes in chunks of at most a mebibyte."""
    data = os.urandom((1 << 20) * 2 + 5)
    (tmp_path / "f").write_bytes(data)
    chunks = [chunk async for chunk in store.read(at("f"), start=1)]
    assert b"".join(chunks) == data[1:]
    assert max(map(len, chunks)) <= 1 << 20


async def test_a_reader_that_leaves_early_closes_the_file(
    store: LocalStore, at: At, tmp_path: Path, no_descriptor_left: None
) -> None:
    """Whoever stops in the middle leaves no open file behind."""
    (tmp_path / "f").write_bytes(b"x" * (3 << 20))
    async with aclosing(store.read(at("f"))) as chunks:
        async for _ in chunks:
            break


async def test_a_cancelled_reader_closes_the_file(
    store: LocalStore, at: At, tmp_path: Path, no_descriptor_left: None
) -> None:
    """A cancelled reader leaves no open file behind."""
    (tmp_path / "f").write_bytes(b"x" * (3 << 20))
    for delay in (0, 0.001, 0.002, 0.004):
        with anyio.move_on_after(delay):
            async with aclosing(store.read(at("f"))) as chunks:
                async for _ in chunks:
                    await anyio.sleep(1)
    gc.collect()


async def test_only_the_pinned_state_is_read(store: LocalStore, at: At, tmp_path: Path) -> None:
    """A pin that is not the file's is a change, before the first byte."""
    (tmp_path / "f").write_bytes(b"x")
    pin = (await store.facts(at("f"))).pin
    assert await read(store, at("f"), pin=pin) == b"x"
    (tmp_path / "new").write_bytes(b"x")
    (tmp_path / "new").rename(tmp_path / "f")
    with pytest.raises(Changed):
        await read(store, at("f"), pin=pin)


async def test_a_change_while_reading_a_pinned_state_is_noticed(
    store: LocalStore, at: At, tmp_path: Path
) -> None:
    """Bytes of a pinned state that changed while they were read end in an error."""
    (tmp_path / "f").write_bytes(b"x" * (2 << 20))
    pin = (await store.facts(at("f"))).pin
    time.sleep(0.02)
    chunks = store.read(at("f"), pin=pin)
    await anext(chunks)
    with (tmp_path / "f").open("r+b") as file:
        file.write(b"y")
    with pytest.raises(Changed):
        [chunk async for chunk in chunks]


@pytest.mark.parametrize("name", ["none", "link", "folder"])
async def test_what_cannot_be_read(store: LocalStore, at: At, tmp_path: Path, name: str) -> None:
    """Absent files are absent; links and folders are refused."""
    (tmp_path / "link").symlink_to("f")
    (tmp_path / "folder").mkdir()
    expected = Absent if name == "none" else Refused
    with pytest.raises(expected):
        await read(store, at(name))
    with pytest.raises(expected):
        await store.open(at(name))


async def test_reading_errors_are_sorted(
    store: LocalStore, at: At, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An error of the mount that comes with the bytes is an error of the store."""

    class Stale:
        async def seek(self, _start: int) -> None:
            raise OSError(116, "stale")

    (tmp_path / "f").write_bytes(b"x")
    monkeypatch.setattr(local, "wrap", lambda file, loop, executor: Stale())
    with pytest.raises(PassingTrouble, match="stale"):
        await read(store, at("f"))


async def test_an_open_file_may_seek(
    store: LocalStore, at: At, tmp_path: Path, no_descriptor_left: None
) -> None:
    """An opened file is a binary file that outlives the store."""
    (tmp_path / "f").write_bytes(b"0123")
    with await store.open(at("f")) as file:
        await store.aclose()
        assert file.read(2) == b"01"
        assert file.seek(-1, os.SEEK_END) == 3
        assert file.read() == b"3"
        assert not os.get_inheritable(file.fileno())


async def test_only_the_pinned_state_is_opened(
    store: LocalStore, at: At, tmp_path: Path, no_descriptor_left: None
) -> None:
    """A pin that is not the file's opens nothing."""
    (tmp_path / "f").write_bytes(b"x")
    (await store.open(at("f"), pin=(await store.facts(at("f"))).pin)).close()
    with pytest.raises(Changed, match="replaced or changed"):
        await store.open(at("f"), pin=Pin(inode="0:0"))


async def test_a_late_open_file_is_closed(
    at: At, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, no_descriptor_left: None
) -> None:
    """A file that a slow mount opens after its look was given up is closed."""
    (tmp_path / "f").write_bytes(b"x")
    release, really = threading.Event(), local._open_pinned

    def slow(address: Address, pin: Pin | None) -> object:
        release.wait()
        return really(address, pin)

    monkeypatch.setattr(local, "_open_pinned", slow)
    store = await LocalStore(look_seconds=0.05).start()
    with pytest.raises(PassingTrouble):
        await store.open(at("f"))
    release.set()
    await store.aclose()


async def test_reading_leaves_the_loop_alone(
    store: LocalStore, at: At, tmp_path: Path, loop_gaps: Callable
) -> None:
    """Chunks are read off the event loop."""
    (tmp_path / "f").write_bytes(b"x" * (20 << 20))
    async with loop_gaps() as gaps:
        assert len(await read(store, at("f"))) == 20 << 20
    assert max(gaps) < 0.5
