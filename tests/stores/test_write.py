"""Writing a local marker: all of it is seen or nothing, and nothing is left behind."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from airflow_landmark.stores import (
    Absent,
    Address,
    Changed,
    LastingTrouble,
    LocalStore,
    PassingTrouble,
    Refused,
    StoreError,
    WritableStore,
)
from airflow_landmark.stores import _local_write as write
from airflow_landmark.stores._local_files import facts_of, look_at

At = Callable[[str], Address]


@pytest.fixture
def nothing_left(tmp_path: Path, no_descriptor_left: None) -> Iterator[None]:
    """Fail a test that leaves a temporary name or a descriptor behind."""
    yield
    assert not [name for name in os.listdir(tmp_path) if name.endswith(".tmp")]


@pytest.fixture
def failing(monkeypatch: pytest.MonkeyPatch) -> Callable[[str, int], None]:
    """Return a function that lets a call of ``os`` fail with an error."""

    def fail(name: str, number: int) -> None:
        def call(*_args: object, **_named: object) -> None:
            raise OSError(number, os.strerror(number))

        monkeypatch.setattr(os, name, call)

    return fail


async def test_put_writes_whatever_lies_there(
    store: LocalStore, at: At, tmp_path: Path, nothing_left: None
) -> None:
    """A put makes or replaces the file and tells its size and identity."""
    for data in (b"first", b"second, longer", b""):
        facts = await store.put(at("m.json"), data)
        assert (tmp_path / "m.json").read_bytes() == data
        assert facts == await store.facts(at("m.json"))
    assert isinstance(store, WritableStore)


async def test_put_if_absent_writes_once(
    store: LocalStore, at: At, tmp_path: Path, nothing_left: None
) -> None:
    """Where something lies, nothing is written."""
    facts = await store.put_if_absent(at("m.json"), b"first")
    assert facts == await store.facts(at("m.json"))
    with pytest.raises(Changed):
        await store.put_if_absent(at("m.json"), b"second")
    assert (tmp_path / "m.json").read_bytes() == b"first"


async def test_put_if_absent_respects_a_dangling_link(
    store: LocalStore, at: At, tmp_path: Path, nothing_left: None
) -> None:
    """A link to nowhere is something that lies there."""
    (tmp_path / "m.json").symlink_to("nowhere")
    with pytest.raises(Changed):
        await store.put_if_absent(at("m.json"), b"x")
    assert (tmp_path / "m.json").is_symlink()


async def test_put_if_unchanged_replaces_what_was_seen(
    store: LocalStore, at: At, tmp_path: Path, nothing_left: None
) -> None:
    """What was seen is replaced; what is other or gone is left as it is."""
    await store.put(at("m.json"), b"first")
    seen = (await store.look(at("m.json"))).sighting
    assert seen is not None
    facts = await store.put_if_unchanged(at("m.json"), b"second", since=seen)
    assert facts == await store.facts(at("m.json"))
    with pytest.raises(Changed):
        await store.put_if_unchanged(at("m.json"), b"third", since=seen)
    assert (tmp_path / "m.json").read_bytes() == b"second"
    (tmp_path / "m.json").unlink()
    with pytest.raises(Changed):
        await store.put_if_unchanged(at("m.json"), b"third", since=seen)
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("links", [True, False])
def test_one_of_many_writers_wins(
    at: At, tmp_path: Path, nothing_left: None, failing: Callable, links: bool
) -> None:
    """Of many threads that put at once exactly one succeeds, with or without hard links."""
    if not links:
        failing("link", errno.EPERM)
    barrier, won = threading.Barrier(8), []

    def put(number: int) -> None:
        barrier.wait()
        try:
            write.put_if_absent(at("m.json"), b"%d" % number)
        except StoreError:
            return
        won.append(number)

    threads = [threading.Thread(target=put, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(won) == 1
    assert (tmp_path / "m.json").read_bytes() == b"%d" % won[0]


def test_one_of_many_processes_wins(tmp_path: Path, nothing_left: None) -> None:
    """Of eight processes that put at once where nothing lies exactly one succeeds."""
    script = (
        "import os, sys\n"
        "from airflow_landmark.stores import Address, Changed\n"
        "from airflow_landmark.stores._local_write import put_if_absent\n"
        "print('ready', flush=True)\n"
        "sys.stdin.readline()\n"
        "try:\n"
        "    put_if_absent(Address('file', '', sys.argv[1], 'm.json'), sys.argv[2].encode())\n"
        "except Changed:\n"
        "    print('lost')\n"
        "else:\n"
        "    print('won')\n"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", script, str(tmp_path), str(number)],
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for number in range(8)
    ]
    assert [writer.stdout.readline() for writer in writers] == ["ready\n"] * 8  # type: ignore[union-attr]
    for writer in writers:
        writer.stdin.write("\n")  # type: ignore[union-attr]
        writer.stdin.flush()  # type: ignore[union-attr]
    results = [writer.communicate(timeout=30)[0] for writer in writers]
    assert sorted(results) == ["lost\n"] * 7 + ["won\n"]
    assert (tmp_path / "m.json").read_text() == str(results.index("won\n"))


def test_one_of_many_replacers_wins(at: At, tmp_path: Path, nothing_left: None) -> None:
    """Of many writers that saw the same state exactly one replaces it."""
    write.put(at("m.json"), b"seen")
    seen = look_at(at("m.json"), None).sighting
    assert seen is not None
    barrier, won, refused = threading.Barrier(8), [], []

    def put(number: int) -> None:
        barrier.wait()
        try:
            write.put_if_unchanged(at("m.json"), b"%d" % number, seen)
        except PassingTrouble as error:
            refused.append(error)
        else:
            won.append(number)

    threads = [threading.Thread(target=put, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(won) == 1
    assert len(refused) == 7
    assert (tmp_path / "m.json").read_bytes() == b"%d" % won[0]


def test_a_reader_never_sees_half_a_file(at: At, tmp_path: Path, nothing_left: None) -> None:
    """While a file is replaced again and again, every reader sees one of its states as a whole."""
    bodies = [bytes([65 + n]) * (1 << 20) for n in range(2)]
    write.put(at("m.json"), bodies[0])
    done = threading.Event()

    def writer() -> None:
        for number in range(30):
            write.put(at("m.json"), bodies[number % 2])
        done.set()

    thread = threading.Thread(target=writer)
    thread.start()
    looks = 0
    while not done.is_set():
        assert (tmp_path / "m.json").read_bytes() in bodies
        looks += 1
    thread.join()
    assert looks > 3


def test_bytes_are_on_the_disk_before_the_name(
    at: At, monkeypatch: pytest.MonkeyPatch, nothing_left: None
) -> None:
    """The bytes are synced before the file gets its name, and the folder after it."""
    events: list[str] = []

    def record(name: str, show: Callable[..., str]) -> None:
        really = getattr(os, name)

        def call(*args: object, **named: object) -> object:
            events.append(show(*args))
            return really(*args, **named)

        monkeypatch.setattr(os, name, call)

    kind = lambda descriptor: "folder" if Path(f"/proc/self/fd/{descriptor}").is_dir() else "file"  # noqa: E731
    record("write", lambda *_: "write")
    record("fsync", lambda descriptor: f"sync {kind(descriptor)}")
    record("rename", lambda *_: "rename")
    record("link", lambda *_: "link")
    write.put_if_absent(at("m.json"), b"x")
    assert events == ["write", "sync file", "link", "sync folder"]
    seen = look_at(at("m.json"), None).sighting
    for put in (
        lambda: write.put(at("m.json"), b"x"),
        lambda: write.put_if_unchanged(at("m.json"), b"x", seen),
    ):
        events.clear()
        put()
        assert events == ["write", "sync file", "rename", "sync folder"]


@pytest.mark.parametrize("call", ["write", "fsync", "rename"])
@pytest.mark.parametrize(("number", "kind"), [(errno.ENOSPC, PassingTrouble), (errno.EROFS, LastingTrouble)])
def test_a_failed_write_leaves_nothing(
    at: At,
    tmp_path: Path,
    failing: Callable,
    nothing_left: None,
    call: str,
    number: int,
    kind: type[StoreError],
) -> None:
    """When the disk is full or fails, the old file stays and no other is left."""
    (tmp_path / "m.json").write_bytes(b"old")
    failing(call, number)
    with pytest.raises(kind):
        write.put(at("m.json"), b"new")
    assert (tmp_path / "m.json").read_bytes() == b"old"


def test_a_temporary_name_that_cannot_be_removed(at: At, failing: Callable, no_descriptor_left: None) -> None:
    """Trouble with removing the temporary file hides no other trouble and leaks no descriptor."""
    failing("unlink", errno.ESTALE)
    failing("rename", errno.EROFS)
    with pytest.raises(LastingTrouble):
        write.put(at("m.json"), b"new")


@pytest.mark.parametrize("number", [errno.EPERM, errno.EOPNOTSUPP])
async def test_file_systems_without_hard_links(
    store: LocalStore, at: At, tmp_path: Path, failing: Callable, nothing_left: None, number: int
) -> None:
    """Where a file system knows no hard links, writers exclude each other by a lock."""
    failing("link", number)
    facts = await store.put_if_absent(at("m.json"), b"first")
    assert facts == facts_of(at("m.json"))
    with pytest.raises(Changed):
        await store.put_if_absent(at("m.json"), b"second")
    assert (tmp_path / "m.json").read_bytes() == b"first"


def test_file_systems_without_a_sync_of_folders(
    at: At, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, nothing_left: None
) -> None:
    """A mount that cannot sync a folder can be written to all the same."""
    really = os.fsync

    def sync(descriptor: int) -> None:
        if Path(f"/proc/self/fd/{descriptor}").is_dir():
            raise OSError(errno.EINVAL, "invalid")
        really(descriptor)

    monkeypatch.setattr(os, "fsync", sync)
    write.put(at("m.json"), b"x")
    assert (tmp_path / "m.json").read_bytes() == b"x"


def test_file_systems_without_locks(at: At, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A mount without locks can be written to all the same; other trouble with a lock is told."""
    write.put(at("m.json"), b"old")
    seen = look_at(at("m.json"), None).sighting
    assert seen is not None
    for number, written in ((errno.ENOLCK, True), (errno.EIO, False)):

        def lock(*_args: object, number: int = number) -> None:
            raise OSError(number, "no lock")

        monkeypatch.setattr(write.fcntl, "flock", lock)
        if written:
            write.put_if_unchanged(at("m.json"), b"old", seen)
        else:
            with pytest.raises(PassingTrouble):
                write.put_if_unchanged(at("m.json"), b"new", seen)
    assert (tmp_path / "m.json").read_bytes() == b"old"


async def test_where_nothing_can_be_written(
    store: LocalStore, at: At, tmp_path: Path, nothing_left: None
) -> None:
    """Absent folders, folders under the name, nested and unsafe names are refused beforehand."""
    (tmp_path / "folder").mkdir()
    with pytest.raises(Absent, match="folder does not exist"):
        await store.put(replace(at("m.json"), folder=f"{tmp_path}/none"), b"x")
    for name in ("folder", "folder/m.json", "../m.json", ""):
        with pytest.raises(Refused):
            await store.put(at(name), b"x")
    assert os.listdir(tmp_path) == ["folder"]
    assert os.listdir(tmp_path / "folder") == []


async def test_a_long_name_fits_with_its_temporary_one(store: LocalStore, at: At, nothing_left: None) -> None:
    """A name of the greatest length can be written."""
    await store.put(at("n" * 255), b"x")
    assert (await store.facts(at("n" * 255))).size == 1
