"""One look at one local marker."""

from __future__ import annotations

import asyncio
import errno
import hashlib
import os
import socket
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from airflow_landmark.markers import MAX_DOCUMENT_BYTES
from airflow_landmark.stores import (
    Absent,
    Address,
    Changed,
    Facts,
    LastingTrouble,
    LocalStore,
    PassingTrouble,
    Pin,
    Refused,
    Sighting,
)
from airflow_landmark.stores import _local as local
from airflow_landmark.stores import _local_files as files

At = Callable[[str], Address]


@pytest.fixture
def hour_later(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every file look an hour old."""
    monkeypatch.setattr(files.time, "time_ns", lambda: int((time.time() + 3600) * 1e9))


def refuse_open(monkeypatch: pytest.MonkeyPatch, number: int, name: str = "m.json") -> None:
    """Let opening the name fail with that error."""
    really = os.open

    def refusing(path: str, *rest: object, **named: object) -> int:
        if str(path).endswith(name):
            raise OSError(number, os.strerror(number), path)
        return really(path, *rest, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(os, "open", refusing)


async def test_an_absent_file_is_no_error(store: LocalStore, at: At) -> None:
    """A marker that is not there yet is a look without sighting."""
    look = await store.look(at("m.json"))
    assert (look.sighting, look.data, look.reason) == (None, None, "no such file")


async def test_an_absent_folder_is_told_apart(store: LocalStore, at: At) -> None:
    """When not even the folder is there, the reason says so."""
    look = await store.look(replace(at("m.json"), folder=f"{at('').folder}/none"))
    assert (look.sighting, look.reason) == (None, "the folder does not exist")


async def test_the_first_look_reads(store: LocalStore, at: At, tmp_path: Path) -> None:
    """A look gives the bytes with their size, digest and the file's identity."""
    (tmp_path / "m.json").write_bytes(b"hello")
    look = await store.look(at("m.json"))
    status = (tmp_path / "m.json").stat()
    assert look.data == b"hello"
    assert look.sighting is not None
    assert look.sighting.address == at("m.json")
    assert (look.sighting.size, look.sighting.sha256) == (5, hashlib.sha256(b"hello").hexdigest())
    assert look.sighting.pin == Pin(
        inode=f"{status.st_dev}:{status.st_ino}",
        modified=str(status.st_mtime_ns),
        changed=str(status.st_ctime_ns),
    )


async def test_an_unchanged_file_is_not_given_again(store: LocalStore, at: At, tmp_path: Path) -> None:
    """Bytes that were seen are not handed over once more."""
    (tmp_path / "m.json").write_bytes(b"hello")
    first = (await store.look(at("m.json"))).sighting
    again = await store.look(at("m.json"), since=first)
    assert again.sighting is not None
    assert again.sighting.sha256 == first.sha256
    assert again.data is None


async def test_a_settled_file_is_not_read_again(
    store: LocalStore, at: At, tmp_path: Path, hour_later: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file that has not been written to for some seconds is known by its identity."""
    (tmp_path / "m.json").write_bytes(b"hello")
    first = (await store.look(at("m.json"))).sighting
    assert first is not None
    assert first.settled
    monkeypatch.setattr(files, "_read", lambda descriptor: pytest.fail("read again"))
    assert (await store.look(at("m.json"), since=first)).sighting is first


async def test_a_rewrite_within_the_clocks_resolution_is_seen(
    store: LocalStore, at: At, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A young file is read again although size, inode and times are those that were seen."""
    monkeypatch.setattr(files, "pin_of", lambda status: Pin(inode="1:1", modified="1", changed="1"))
    (tmp_path / "m.json").write_bytes(b"version 1")
    first = (await store.look(at("m.json"))).sighting
    assert first is not None
    assert not first.settled
    (tmp_path / "m.json").write_bytes(b"version 2")
    second = await store.look(at("m.json"), since=first)
    assert second.data == b"version 2"


async def test_a_file_of_the_future_is_not_settled(store: LocalStore, at: At, tmp_path: Path) -> None:
    """A server's clock that is ahead never lets a change go unseen."""
    (tmp_path / "m.json").write_bytes(b"x")
    os.utime(tmp_path / "m.json", (time.time() + 3600, time.time() + 3600))
    sighting = (await store.look(at("m.json"))).sighting
    assert sighting is not None
    assert not sighting.settled


async def test_a_rewrite_in_place_is_seen(
    store: LocalStore, at: At, tmp_path: Path, hour_later: None
) -> None:
    """New bytes of the same size in the same file are a change."""
    (tmp_path / "m.json").write_bytes(b"version 1")
    first = (await store.look(at("m.json"))).sighting
    time.sleep(0.02)
    (tmp_path / "m.json").write_bytes(b"version 2")
    assert (await store.look(at("m.json"), since=first)).data == b"version 2"


async def test_a_replacement_by_rename_is_seen(
    store: LocalStore, at: At, tmp_path: Path, hour_later: None
) -> None:
    """A file that was put in place of the seen one is a change, even with its modification time."""
    (tmp_path / "m.json").write_bytes(b"version 1")
    first = (await store.look(at("m.json"))).sighting
    status = (tmp_path / "m.json").stat()
    (tmp_path / "new").write_bytes(b"version 2")
    os.utime(tmp_path / "new", ns=(status.st_atime_ns, status.st_mtime_ns))
    (tmp_path / "new").rename(tmp_path / "m.json")
    assert (await store.look(at("m.json"), since=first)).data == b"version 2"


async def test_a_touched_file_is_seen_as_unchanged(
    store: LocalStore, at: At, tmp_path: Path, hour_later: None
) -> None:
    """New times with the same bytes are no change of the marker."""
    (tmp_path / "m.json").write_bytes(b"version 1")
    first = (await store.look(at("m.json"))).sighting
    os.utime(tmp_path / "m.json", (1, 1))
    again = await store.look(at("m.json"), since=first)
    assert again.data is None
    assert again.sighting is not None
    assert again.sighting.pin != first.pin


async def test_a_file_that_went_is_absent_again(store: LocalStore, at: At, tmp_path: Path) -> None:
    """A marker that was removed is absent, whatever was seen before."""
    (tmp_path / "m.json").write_bytes(b"x")
    first = (await store.look(at("m.json"))).sighting
    (tmp_path / "m.json").unlink()
    assert (await store.look(at("m.json"), since=first)).sighting is None


def _fifo(path: Path) -> None:
    os.mkfifo(path)


def _folder(path: Path) -> None:
    path.mkdir()


def _link(path: Path) -> None:
    path.with_name("real").write_bytes(b"x")
    path.symlink_to("real")


def _dangling(path: Path) -> None:
    path.symlink_to("nowhere")


def _loop(path: Path) -> None:
    path.symlink_to(path.name)


def _socket(path: Path) -> None:
    here = Path.cwd()
    os.chdir(path.parent)  # the path of a socket is short
    try:
        with socket.socket(socket.AF_UNIX) as unix:
            unix.bind(path.name)
    finally:
        os.chdir(here)


@pytest.mark.parametrize("make", [_fifo, _folder, _link, _dangling, _loop, _socket])
async def test_only_regular_files_are_opened(
    store: LocalStore, at: At, tmp_path: Path, make: Callable[[Path], None], no_descriptor_left: None
) -> None:
    """Pipes, sockets, folders and links are refused, and none of them hangs the look."""
    make(tmp_path / "m.json")
    for call in (store.look(at("m.json")), store.facts(at("m.json")), store.open(at("m.json"))):
        with pytest.raises(Refused):
            await asyncio.wait_for(call, 5)


async def test_a_link_in_the_folders_path_is_the_authors_own(store: LocalStore, tmp_path: Path) -> None:
    """The folder that a Dag names may be reached through links."""
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "m.json").write_bytes(b"x")
    (tmp_path / "here").symlink_to("real")
    assert (await store.look(Address("file", "", f"{tmp_path}/here", "m.json"))).data == b"x"


@pytest.mark.parametrize("number", [errno.EACCES, errno.EPERM])
async def test_missing_rights_are_lasting(
    store: LocalStore, at: At, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    """Permission denied is lasting trouble and says what to give."""
    refuse_open(monkeypatch, number)
    with pytest.raises(LastingTrouble, match="permission denied: give this user the right") as caught:
        await store.look(at("m.json"))
    assert caught.value.place == at("m.json").uri


@pytest.mark.parametrize(
    "number",
    [errno.ESTALE, errno.EIO, errno.EINTR, errno.ETIMEDOUT, errno.EMFILE, errno.ENFILE, errno.ENOTCONN,
     errno.EHOSTDOWN, errno.EREMOTEIO, errno.ENOMEM, errno.EAGAIN, errno.EBUSY],
)  # fmt: skip
async def test_trouble_of_the_mount_is_passing(
    store: LocalStore, at: At, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    """What a server or a full machine answers may be gone at the next look."""
    refuse_open(monkeypatch, number)
    with pytest.raises(PassingTrouble):
        await store.look(at("m.json"))


async def test_an_unknown_error_is_lasting(
    store: LocalStore, at: At, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An error that nobody sorted is lasting trouble under the system's own words."""
    refuse_open(monkeypatch, errno.EXDEV)
    with pytest.raises(LastingTrouble, match=os.strerror(errno.EXDEV)):
        await store.look(at("m.json"))


async def test_reading_errors_are_sorted_too(
    store: LocalStore, at: At, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, no_descriptor_left: None
) -> None:
    """An error that comes with the bytes is sorted too, and the file is closed."""
    (tmp_path / "m.json").write_bytes(b"x")

    def failing(_descriptor: int) -> bytes:
        raise OSError(errno.ESTALE, "stale")

    monkeypatch.setattr(files, "_read", failing)
    with pytest.raises(PassingTrouble, match="stale"):
        await store.look(at("m.json"))


@pytest.mark.parametrize(("times", "seen"), [(1, True), (2, True), (3, False)])
async def test_a_file_that_changes_while_it_is_read_is_read_again(
    store: LocalStore, at: At, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, times: int, seen: bool
) -> None:
    """What was read while it was written is never believed; after three attempts that is told."""
    (tmp_path / "m.json").write_bytes(b"")
    left = [times]
    really = files._read

    def disturbed(descriptor: int) -> bytes:
        data = really(descriptor)
        if left[0]:
            left[0] -= 1
            with (tmp_path / "m.json").open("ab") as file:
                file.write(b"+")
        return data

    monkeypatch.setattr(files, "_read", disturbed)
    if seen:
        assert (await store.look(at("m.json"))).data == b"+" * times
    else:
        with pytest.raises(Changed):
            await store.look(at("m.json"))


async def test_a_huge_file_is_read_to_a_bound(store: LocalStore, at: At, tmp_path: Path) -> None:
    """Of a file that is too large for a marker no more than one byte above the limit is read."""
    with (tmp_path / "m.json").open("wb") as file:
        file.truncate(1 << 40)
    look = await store.look(at("m.json"))
    assert look.data is not None
    assert len(look.data) == MAX_DOCUMENT_BYTES + 1
    assert look.sighting is not None
    assert look.sighting.size == 1 << 40


async def test_an_unsafe_name_is_refused_before_anything_is_opened(
    store: LocalStore, at: At, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A name that leads out of the folder is not even tried."""
    refuse_open(monkeypatch, errno.EIO, name="")
    for name in ("../x", "/etc/passwd", "a/../../x", "a\x00b", ""):
        with pytest.raises(Refused):
            await store.facts(at(name))


async def test_a_slow_look_leaves_the_loop_alone(
    at: At, monkeypatch: pytest.MonkeyPatch, loop_gaps: Callable
) -> None:
    """While a look hangs the event loop goes on, and the look is given up in time."""
    event = threading.Event()
    monkeypatch.setattr(local, "look_at", lambda address, since: event.wait())
    store = await LocalStore(look_seconds=0.3).start()
    try:
        async with loop_gaps() as gaps:
            with pytest.raises(PassingTrouble, match="no answer within"):
                await store.look(at("m.json"))
        assert len(gaps) >= 10
    finally:
        event.set()
        await store.aclose()


async def test_facts_are_size_and_identity(store: LocalStore, at: At, tmp_path: Path) -> None:
    """Facts of many files come one for each: size and pin, or why there are none."""
    (tmp_path / "a").write_bytes(b"123")
    (tmp_path / "link").symlink_to("a")
    found = await store.facts_many([at("a"), at("b"), at("link"), at("sub/x")])
    assert found[at("a")] == Facts(3, files.pin_of((tmp_path / "a").stat()))
    assert isinstance(found[at("b")], Absent)
    assert isinstance(found[at("link")], Refused)
    assert isinstance(found[at("sub/x")], Absent)
    assert found[at("a")] == await store.facts(at("a"))


def test_a_pin_survives_json() -> None:
    """A pin is plain JSON of text, and fields of a newer release are passed over."""
    pin = Pin(inode="1:18446744073709551615", modified="1", changed="2")
    assert pin.to_json() == {"inode": "1:18446744073709551615", "modified": "1", "changed": "2"}
    assert Pin.from_json({**pin.to_json(), "newer": 1}) == pin


def test_a_sighting_is_settled_unless_told() -> None:
    """Stores whose identities are exact need not say so."""
    assert Sighting(Address("file", "", "/a", "m"), 1, "00", Pin()).settled
