"""Delivering from a folder to another place: everything is carried over, then the marker is written."""

from __future__ import annotations

import io
import os
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import pytest

from airflow_landmark.deliveries import Announcement, CannotDeliver, Progress, Unavailable, announce, check
from airflow_landmark.markers import Expectation, Interval, read_marker
from airflow_landmark.stores import Facts, LocalStore, PassingTrouble
from airflow_landmark.stores import _local_write as local_write

DAY = Interval.parse("2024-10-01T00:00:00Z/2024-10-02T00:00:00Z")
FIRST = Announcement(Expectation("sales/orders", DAY, 1))
SECOND = replace(FIRST, expectation=Expectation("sales/orders", DAY, 2))


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """Return a folder with two files, one of them in a folder of its own."""
    folder = tmp_path / "out"
    (folder / "sub").mkdir(parents=True)
    (folder / "a.csv").write_bytes(b"id\n1\n2\n")
    (folder / "sub" / "b c+%.bin").write_bytes(os.urandom(3_000_000))
    return folder


@pytest.fixture
def drop(tmp_path: Path) -> Path:
    """Return a folder that does not exist yet."""
    return tmp_path / "drop" / "2024-10-01"


async def test_files_are_carried_and_announced(source: Path, drop: Path) -> None:
    """All files lie in the delivery's folder, made where it is missing, and the delivery holds."""
    announced = await announce(str(drop), FIRST, source=str(source))
    assert announced.uploaded == 2
    assert (drop / "sub" / "b c+%.bin").read_bytes() == (source / "sub" / "b c+%.bin").read_bytes()
    assert (await check(f"{drop}/", level="digests", on_unexpected="fail")).ok
    assert not (source / "_delivery.json").exists()


async def test_a_correction_replaces_files_and_marker(source: Path, drop: Path) -> None:
    """A higher version brings its own files; an equal one is refused before a byte is carried."""
    await announce(str(drop), FIRST, source=str(source))
    (source / "a.csv").write_bytes(b"id\n1\n2\n3\n")
    with pytest.raises(CannotDeliver, match="version 1 lies there"):
        await announce(str(drop), FIRST, source=str(source))
    assert (drop / "a.csv").read_bytes() == b"id\n1\n2\n"
    await announce(str(drop), SECOND, source=str(source))
    assert (drop / "a.csv").read_bytes() == b"id\n1\n2\n3\n"
    assert (await check(f"{drop}/")).ok


async def test_a_marker_in_the_source_is_not_carried(source: Path, drop: Path) -> None:
    """A marker that lies in the source is no file of the new delivery."""
    await announce(str(source), FIRST)
    await announce(str(drop), FIRST, source=str(source))
    marker = read_marker((drop / "_delivery.json").read_bytes())
    assert [entry.path for entry in marker.manifest.files] == ["a.csv", "sub/b c+%.bin"]


@pytest.mark.parametrize("below", ["", "inner", "inner/most"])
async def test_the_folder_must_not_lie_in_the_source(source: Path, below: str) -> None:
    """A delivery into its own source would carry itself."""
    with pytest.raises(CannotDeliver, match="lies in it"):
        await announce(str(source / below), FIRST, source=str(source))
    assert sorted(os.listdir(source)) == ["a.csv", "sub"]


async def test_a_source_elsewhere_is_refused(drop: Path) -> None:
    """Files are carried from a local folder."""
    with pytest.raises(CannotDeliver, match="local folder"):
        await announce(str(drop), FIRST, source="https://host.example/in/")


async def test_a_missing_source_is_told(tmp_path: Path, drop: Path) -> None:
    """A source that does not exist is named, and nothing is written."""
    with pytest.raises(CannotDeliver, match=r"nowhere.*does not exist"):
        await announce(str(drop), FIRST, source=str(tmp_path / "nowhere"))
    assert not drop.exists()


async def test_a_file_that_changes_while_it_is_carried(
    source: Path, drop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A source that gives other bytes than were hashed is not announced, nor is a half file left."""
    really = local_write.FileCopy.__call__

    def disturbed(run: Any) -> None:
        run._source = io.BytesIO()
        really(run)

    monkeypatch.setattr(local_write.FileCopy, "__call__", disturbed)
    with pytest.raises(CannotDeliver, match="changed"):
        await announce(str(drop), FIRST, source=str(source))
    assert [name for _, _, names in os.walk(drop) for name in names] == []


async def test_a_link_on_the_way_is_not_followed(source: Path, drop: Path, tmp_path: Path) -> None:
    """A link in the delivery's folder leads no file out of it."""
    drop.mkdir(parents=True)
    (tmp_path / "elsewhere").mkdir()
    (drop / "sub").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(Exception, match="link"):
        await announce(str(drop), FIRST, source=str(source))
    assert os.listdir(tmp_path / "elsewhere") == []
    assert not (drop / "_delivery.json").exists()


async def test_what_the_store_vouches_for_is_not_carried_again(
    source: Path, drop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file of the right size whose digest the store itself keeps is left alone; any other is carried."""
    await announce(str(drop), FIRST, source=str(source))
    marker = read_marker((drop / "_delivery.json").read_bytes())
    kept = {entry.path: dict(entry.digests) for entry in marker.manifest.files}
    kept["a.csv"] = {"sha256": "0" * 64}
    (drop / "_delivery.json").unlink()

    async def held_digests(_self: LocalStore, address: Any, _algorithms: Any, **_named: Any) -> Any:
        return kept[address.name]

    monkeypatch.setattr(LocalStore, "held_digests", held_digests)
    announced = await announce(str(drop), FIRST, source=str(source))
    assert announced.uploaded == 1


async def test_what_does_not_lie_there_in_the_end_is_not_announced(
    source: Path, drop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A store that loses a file after taking it gets no marker."""
    really = LocalStore.put_file

    async def losing(self: LocalStore, address: Any, file: Any, **named: Any) -> Facts:
        facts = await really(self, address, file, **named)
        await anyio.Path(address.uri).unlink()
        return facts

    monkeypatch.setattr(LocalStore, "put_file", losing)
    with pytest.raises(CannotDeliver, match="no such file"):
        await announce(str(drop), FIRST, source=str(source))
    assert not (drop / "_delivery.json").exists()


async def test_trouble_on_the_way_announces_nothing(
    source: Path, drop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A store that fails while files are carried is told, and no marker is written."""

    async def failing(_self: LocalStore, address: Any, _file: Any, **_named: Any) -> Facts:
        raise PassingTrouble(address.uri, "no space left")

    monkeypatch.setattr(LocalStore, "put_file", failing)
    with pytest.raises(Unavailable, match="no space left"):
        await announce(str(drop), FIRST, source=str(source))
    assert not (drop / "_delivery.json").exists()


async def test_progress_tells_of_both_passes(source: Path, drop: Path) -> None:
    """Progress ends with everything, after hashing and again after carrying."""
    told: list[Progress] = []
    await announce(str(drop), FIRST, source=str(source), progress=told.append)
    ends = [p for p in told if p.files_done == p.files == 2 and p.bytes_done == p.size_bytes]
    assert len(ends) >= 2


async def test_a_list_of_checksums_beside_the_marker(source: Path, drop: Path) -> None:
    """The list is one that sha256sum checks, and is itself no file of the delivery."""
    announced = await announce(str(drop), replace(FIRST, also=("sums",)), source=str(source))
    assert announced.stamp.files == 2
    command = ["sha256sum", "--check", "--strict", "SHA256SUMS"]
    done = await anyio.run_process(command, cwd=drop)
    assert done.stdout.decode().splitlines() == ["a.csv: OK", "sub/b c+%.bin: OK"]
    again = await announce(str(drop), replace(SECOND, also=("sums",)))
    assert [entry.path for entry in again.marker.manifest.files] == ["a.csv", "sub/b c+%.bin"]


async def test_an_upload_that_is_cancelled_leaves_no_part(
    source: Path, drop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Cancelled in the middle of a file, an upload leaves neither a marker nor a temporary file."""
    begun, go_on = threading.Event(), threading.Event()
    really = local_write.FileCopy._chunks

    def held(run: Any) -> Iterator[bytes]:
        for chunk in really(run):
            begun.set()
            go_on.wait(30)
            yield chunk

    monkeypatch.setattr(local_write.FileCopy, "_chunks", held)
    async with anyio.create_task_group() as group:
        group.start_soon(lambda: announce(str(drop), FIRST, source=str(source)))
        await anyio.to_thread.run_sync(begun.wait)
        group.cancel_scope.cancel()
    go_on.set()
    with anyio.fail_after(30):
        while [name for _, _, names in os.walk(drop) for name in names]:
            await anyio.sleep(0.01)
