"""Announcing: everything is hashed and checked, then the marker is written last, or nothing is."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import pytest

from airflow_landmark.deliveries import (
    AccessTrouble,
    Announced,
    Announcement,
    CannotDeliver,
    Progress,
    Unavailable,
    announce,
    verify,
)
from airflow_landmark.markers import Expectation, Interval, Marker, read_marker
from airflow_landmark.stores import InvalidAddress, LocalStore, parse_uri
from airflow_landmark.stores import _local_digest as digests
from airflow_landmark.stores import _local_write as local_write

Make = Callable[..., Any]
DAY = Interval.parse("2024-10-01T00:00:00Z/2024-10-02T00:00:00Z")
FIRST = Announcement(Expectation("sales/orders", DAY, 1))
SECOND = replace(FIRST, expectation=Expectation("sales/orders", DAY, 2))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with two files."""
    (tmp_path / "sub").mkdir()
    (tmp_path / "a.csv").write_bytes(b"id\n1\n2\n")
    (tmp_path / "sub" / "b c+%.bin").write_bytes(b"\x00\x01")
    return tmp_path


@pytest.fixture
def during(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], object]], None]:
    """Return a function that lets something happen, once, while the first file is hashed."""

    def arrange(happens: Callable[[], object]) -> None:
        left, really = [happens], digests.DigestRun.__call__

        def disturbed(run: Any) -> Any:
            result = really(run)
            if left:
                left.pop()()
            return result

        monkeypatch.setattr(digests.DigestRun, "__call__", disturbed)

    return arrange


def marker_in(folder: Path) -> Marker:
    """The marker that lies there."""
    return read_marker((folder / "_delivery.json").read_bytes(), name="_delivery.json")


async def refused(folder: Path, announcement: Announcement, kind: str) -> CannotDeliver:
    """The refusal, after which the folder holds what it held before."""
    before = sorted(os.listdir(folder))
    marker = folder / announcement.name
    content = marker.read_bytes() if marker.is_file() else None
    with pytest.raises(CannotDeliver) as caught:
        await announce(str(folder), announcement)
    assert caught.value.kind == kind
    assert sorted(os.listdir(folder)) == before
    assert (marker.read_bytes() if marker.is_file() else None) == content
    return caught.value


async def test_what_is_announced_verifies(folder: Path) -> None:
    """The marker lists every file with size and digest, and verifying finds nothing wrong or unexpected."""
    announced = await announce(str(folder), FIRST)
    marker = marker_in(folder)
    assert announced.marker == marker
    assert [(f.path, f.size) for f in marker.manifest.files] == [("a.csv", 7), ("sub/b c+%.bin", 2)]
    assert (marker.dataset, marker.interval, marker.version, marker.status) == (
        "sales/orders",
        DAY,
        1,
        "complete",
    )
    store = await LocalStore().start()
    report = await verify(store, parse_uri(f"{folder}/"), marker, on_unexpected="fail")
    assert report.ok
    seen = await store.look(parse_uri(f"{folder}/"))
    assert seen.sighting is not None
    assert (announced.stamp.sha256, announced.stamp.pin) == (seen.sighting.sha256, seen.sighting.pin)
    await store.aclose()


async def test_the_marker_is_written_last(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is written before all files have been hashed and looked at once more."""
    events: list[str] = []

    def record(where: Any, name: str) -> None:
        really = getattr(where, name)

        def call(*args: Any, **named: Any) -> Any:
            events.append(name)
            return really(*args, **named)

        monkeypatch.setattr(where, name, call)

    record(digests.DigestRun, "__call__")
    record(LocalStore, "facts_many")
    record(os, "write")
    record(os, "link")
    await announce(str(folder), FIRST)
    assert events == ["__call__", "__call__", "facts_many", "write", "link"]


async def test_a_correction_needs_a_higher_version(folder: Path) -> None:
    """A marker of the same interval is replaced by a higher version only."""
    await announce(str(folder), SECOND)
    for version in (1, 2):
        lower = replace(FIRST, expectation=Expectation("sales/orders", DAY, version))
        error = await refused(folder, lower, "version")
        assert "version 2 lies there" in str(error)
    (folder / "c.csv").write_bytes(b"new")
    await announce(str(folder), replace(FIRST, expectation=Expectation("sales/orders", DAY, 10)))
    assert marker_in(folder).version == 10
    assert len(marker_in(folder).manifest.files) == 3


async def test_another_interval_may_take_the_place(folder: Path) -> None:
    """A folder that is used again for the next interval starts again at version 1."""
    await announce(str(folder), SECOND)
    next_day = Interval.parse("2024-10-02T00:00:00Z/2024-10-03T00:00:00Z")
    await announce(str(folder), replace(FIRST, expectation=Expectation("sales/orders", next_day, 1)))
    assert marker_in(folder).interval == next_day


async def test_what_is_not_ours_is_not_replaced(folder: Path) -> None:
    """Another dataset's marker and what is no marker at all stay as they are."""
    await announce(str(folder), replace(FIRST, expectation=Expectation("other", DAY, 1)))
    await refused(folder, FIRST, "other dataset")
    (folder / "_delivery.json").write_bytes(b"{}")
    assert "remove it first" in str(await refused(folder, FIRST, "unreadable"))
    (folder / "_delivery.json").unlink()
    (folder / "_delivery.json").symlink_to("a.csv")
    with pytest.raises(AccessTrouble):
        await announce(str(folder), FIRST)


async def test_an_empty_folder_must_be_meant(tmp_path: Path) -> None:
    """A folder without files is announced only when that is asked for."""
    (tmp_path / "empty").mkdir()
    await refused(tmp_path, FIRST, "empty")
    await announce(str(tmp_path), replace(FIRST, allow_empty=True))
    assert marker_in(tmp_path).manifest.counts() == {"files": 0, "bytes": 0, "rows": 0}


async def test_a_recall(folder: Path) -> None:
    """A withdrawal is a higher version without files, whatever lies in the folder."""
    await announce(str(folder), FIRST)
    await refused(folder, replace(FIRST, withdraw=True), "version")
    (folder / "link").symlink_to("nowhere")
    announced = await announce(str(folder), replace(SECOND, withdraw=True))
    marker = marker_in(folder)
    assert (marker.status, marker.version, marker.manifest.files) == ("withdrawn", 2, ())
    assert announced.stamp.files == 0


@pytest.mark.parametrize("target", ["a.csv", "nowhere", "/etc", "."])
async def test_links_are_refused(folder: Path, target: str) -> None:
    """A link is no file of the delivery, whatever it points to."""
    (folder / "link").symlink_to(target)
    error = await refused(folder, FIRST, "refused")
    assert [problem.place for problem in error.problems] == ["link"]


async def test_pipes_are_refused(folder: Path) -> None:
    """A pipe is no file of the delivery, and does not hang the announcement."""
    os.mkfifo(folder / "pipe")
    with anyio.fail_after(5):
        await refused(folder, FIRST, "refused")


async def test_hostile_names_are_refused_together(folder: Path) -> None:
    """All names that no reader would take are named in one refusal, in printable ASCII."""
    for name in (b"back\\slash", b"new\nline", b"\xff", "a\u2028b".encode(), b"C:x", b"A.CSV"):
        Path(os.fsdecode(os.fsencode(folder) + b"/" + name)).touch()
    error = await refused(folder, FIRST, "name")
    assert len(error.problems) == 6
    assert str(error).isascii()
    assert {problem.place for problem in error.problems} >= {"back\\\\slash", "new\\nline", "\\udcff", "C:x"}
    assert any("more than case" in problem.expected for problem in error.problems)


async def test_a_name_like_the_markers_is_refused(folder: Path) -> None:
    """A file that some file system takes for the marker is refused."""
    (folder / "_DELIVERY.json").touch()
    await refused(folder, FIRST, "name")


async def test_left_over_temporary_files_are_not_delivered(folder: Path) -> None:
    """What a killed announcement left behind is not part of the delivery."""
    (folder / "._delivery.json.0123456789abcdef.tmp").touch()
    await announce(str(folder), FIRST)
    assert [f.path for f in marker_in(folder).manifest.files] == ["a.csv", "sub/b c+%.bin"]


@pytest.mark.parametrize("change", ["written", "replaced", "removed", "added"])
async def test_a_folder_that_is_still_written_is_refused(folder: Path, during: Make, change: str) -> None:
    """Files that come, go or change while they are hashed are announced by nobody."""
    path = folder / "a.csv"

    def happen() -> None:
        time.sleep(0.02)
        if change == "written":
            path.write_bytes(b"id\n1\n3\n")
        elif change == "replaced":
            path.with_name("new").write_bytes(b"id\n1\n2\n")
            path.with_name("new").rename(path)
        elif change == "removed":
            path.unlink()
        else:
            path.with_name("new").touch()

    during(happen)
    with pytest.raises(CannotDeliver) as caught:
        await announce(str(folder), FIRST)
    assert caught.value.kind in ("changed", "absent")
    assert not (folder / "_delivery.json").exists()


async def test_rows_are_counted_on_request(folder: Path) -> None:
    """Rows are counted where the kind of file allows it, header rows apart; the others are told."""
    announced = await announce(str(folder), replace(FIRST, count_rows=True, header_rows=1))
    files = {f.path: (f.rows, f.header_rows) for f in marker_in(folder).manifest.files}
    assert files == {"a.csv": (2, 1), "sub/b c+%.bin": (None, 0)}
    assert set(announced.not_counted) == {"sub/b c+%.bin"}
    (folder / "b.jsonl").write_bytes(b"{}\n{}\n")
    (folder / "sub" / "b c+%.bin").unlink()
    announced = await announce(str(folder), replace(SECOND, count_rows=True, header_rows=1))
    assert {f.path: (f.rows, f.header_rows) for f in announced.marker.manifest.files} == {
        "a.csv": (2, 1), "b.jsonl": (2, 0),
    }  # fmt: skip
    assert announced.stamp.rows == 4
    assert not announced.not_counted


async def test_informative_fields(folder: Path) -> None:
    """Producer and time zone are told as given; what no marker can hold is refused."""
    await announce(str(folder), replace(FIRST, producer="tills 4.1", timezone="Europe/Berlin"))
    marker = marker_in(folder)
    assert (marker.producer, marker.timezone) == ("tills 4.1", "Europe/Berlin")
    await refused(folder, replace(SECOND, producer="a\nb"), "marker")
    await refused(folder, replace(SECOND, timezone="no zone"), "marker")


async def test_another_name(folder: Path) -> None:
    """The marker may have another name; one that is no plain name is refused."""
    await announce(str(folder), replace(FIRST, name="ready.json"))
    assert read_marker((folder / "ready.json").read_bytes()).version == 1
    for name in ("sub/m.json", "../m.json", "", "a\x00b"):
        with pytest.raises(CannotDeliver) as caught:
            await announce(str(folder), replace(FIRST, name=name))
        assert caught.value.kind == "name"


async def test_where_there_is_no_folder(tmp_path: Path) -> None:
    """A folder that does not exist, or is a file, and a place that is none are told apart."""
    (tmp_path / "file").touch()
    with pytest.raises(CannotDeliver) as caught:
        await announce(f"{tmp_path}/none", FIRST)
    assert caught.value.kind == "absent"
    with pytest.raises(AccessTrouble):
        await announce(f"{tmp_path}/file", FIRST)
    with pytest.raises(InvalidAddress):
        await announce("relative", FIRST)


async def test_a_full_disk(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A marker that cannot be written is passing trouble, and nothing is left of it."""

    def full(*_args: Any) -> int:
        raise OSError(28, "no space")

    monkeypatch.setattr(local_write.os, "write", full)
    with pytest.raises(Unavailable, match="no space left"):
        await announce(str(folder), FIRST)
    assert sorted(os.listdir(folder)) == ["a.csv", "sub"]


@pytest.mark.parametrize("again", [False, True])
def test_two_writers_at_once(folder: Path, again: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of two announcements at the same time one wins, for a first marker and for a correction."""
    if again:
        anyio.run(announce, str(folder), FIRST)
    barrier, really = threading.Barrier(2), digests.DigestRun.__call__
    results: list[Any] = []

    def together(run: Any) -> Any:
        barrier.wait(timeout=10)
        return really(run)

    def write(producer: str) -> None:
        try:
            results.append(anyio.run(announce, str(folder), replace(SECOND, producer=producer)))
        except (CannotDeliver, Unavailable) as error:
            results.append(error)

    monkeypatch.setattr(digests.DigestRun, "__call__", together)
    threads = [threading.Thread(target=write, args=(name,)) for name in ("one", "two")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    won = [result for result in results if isinstance(result, Announced)]
    assert len(won) == 1
    assert len(results) == 2
    assert marker_in(folder).producer == won[0].marker.producer


async def test_progress_ends_with_everything(folder: Path) -> None:
    """Progress counts files and bytes up to all of them."""
    told: list[Progress] = []
    await announce(str(folder), FIRST, progress=told.append)
    assert told[-1] == Progress(2, 2, 9, 9)


@pytest.mark.slow
async def test_many_files(tmp_path: Path, loop_gaps: Make) -> None:
    """Thousands of files are announced within seconds, and the loop goes on meanwhile."""
    for n in range(3000):
        (tmp_path / f"{n}").write_bytes(b"1")
    async with loop_gaps() as gaps:
        announced = await announce(str(tmp_path), FIRST)
    assert announced.stamp.files == 3000
    assert max(gaps) < 0.5
