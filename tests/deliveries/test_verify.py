"""Verifying: every file of the manifest, every problem in one report."""

from __future__ import annotations

import asyncio
import errno
import hashlib
import os
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import pytest

from airflow_landmark.deliveries import Progress, verify
from airflow_landmark.markers import MAX_PROBLEMS, FileEntry, Marker, read_marker
from airflow_landmark.stores import Address, Changed, Facts, LocalStore, PassingTrouble, Pin, parse_uri
from airflow_landmark.stores import _local_digest as digests

Make = Callable[..., Any]


@pytest.fixture
async def check(tmp_path: Path, make_marker: Make) -> Any:
    """Return a function that verifies a list of entries against the test's folder, without pauses."""
    store = await LocalStore().start()

    async def run(entries: list[FileEntry], **how: Any) -> Any:
        marker = read_marker(make_marker(entries=entries), name="_delivery.json")
        return await verify(store, parse_uri(f"{tmp_path}/"), marker, **{"recheck_seconds": (), **how})

    yield run
    await store.aclose()


@pytest.fixture
def fill(tmp_path: Path, entry: Make) -> Callable[..., list[FileEntry]]:
    """Return a function that writes files and gives their entries."""

    def write(files: dict[str, bytes]) -> list[FileEntry]:
        for path, data in files.items():
            (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / path).write_bytes(data)
        return [entry(path, data) for path, data in files.items()]

    return write


def found(report: Any) -> list[tuple[str, str]]:
    """Kind and place of the problems."""
    return [(problem.kind, problem.place) for problem in report.problems]


async def test_a_good_delivery(check: Make, fill: Make) -> None:
    """When every file is there with its bytes, the report has no problem and says how that was proven."""
    report = await check(fill({"a": b"1", "sub/b c+%20": b"22", "empty": b""}))
    assert report.ok
    assert not report.undecided
    assert report.text == "no problems"
    assert report.digests == {"sha256": 3}
    assert {path: facts.size for path, facts in report.facts.items()} == {
        "a": 1,
        "sub/b c+%20": 2,
        "empty": 0,
    }


async def test_every_problem_in_one_report(check: Make, fill: Make, tmp_path: Path) -> None:
    """Missing, short, long, corrupt, refused and unexpected files stand in one report, by path."""
    entries = fill(dict.fromkeys(("good", "missing", "short", "long", "corrupt", "link", "d/f"), b"12345"))
    (tmp_path / "missing").unlink()
    (tmp_path / "short").write_bytes(b"1")
    (tmp_path / "long").write_bytes(b"123456")
    (tmp_path / "corrupt").write_bytes(b"1234X")
    (tmp_path / "link").unlink()
    (tmp_path / "link").symlink_to("good")
    (tmp_path / "d" / "f").rename(tmp_path / "elsewhere")
    (tmp_path / "d").rmdir()
    (tmp_path / "d").symlink_to("/tmp")
    report = await check(entries, on_unexpected="fail")
    assert found(report) == [
        ("corrupt", "corrupt"),
        ("unexpected", "d"),
        ("refused", "d/f"),
        ("unexpected", "elsewhere"),
        ("refused", "link"),
        ("corrupt", "long"),
        ("missing", "missing"),
        ("incomplete", "short"),
    ]
    assert report.total == 8
    assert report.kinds == {"corrupt": 2, "refused": 2, "unexpected": 2, "missing": 1, "incomplete": 1}
    texts = {problem.place: problem.text for problem in report.problems}
    assert texts["short"] == "short: expected 5 bytes, found 1 bytes"
    assert hashlib.sha256(b"12345").hexdigest() in texts["corrupt"]
    assert hashlib.sha256(b"1234X").hexdigest() in texts["corrupt"]


async def test_problems_are_capped_and_counted(check: Make, entry: Make) -> None:
    """Of very many problems the first are named and all are counted."""
    report = await check([entry(f"{n:04}", b"") for n in range(500)])
    assert len(report.problems) == MAX_PROBLEMS
    assert report.total == 500
    assert report.text == "500 missing"


@pytest.mark.parametrize(
    ("policy", "total", "warned"), [("ignore", 0, 0), ("warn", 0, 120), ("fail", 120, 0)]
)
async def test_unexpected_files(check: Make, fill: Make, policy: str, total: int, warned: int) -> None:
    """Files that no manifest lists are ignored, told or problems, as asked; their names are capped too."""
    entries = fill({"a": b"1"})
    fill({f"extra/{n}": b"" for n in range(120)})
    report = await check(entries, on_unexpected=policy)
    assert (report.total, report.warnings_total) == (total, warned)
    assert len(report.warnings) == min(warned, MAX_PROBLEMS)
    assert report.ok == (policy != "fail")


async def test_what_is_never_unexpected(check: Make, fill: Make, tmp_path: Path) -> None:
    """The marker, listed files and folders are no extras; another file of a listed name's spelling is one."""
    entries = fill({"a": b"1", "sub/b": b"2"})
    (tmp_path / "_delivery.json").touch()
    (tmp_path / "empty").mkdir()
    assert (await check(entries, on_unexpected="fail")).ok
    (tmp_path / "A").touch()
    assert found(await check(entries, on_unexpected="fail")) == [("unexpected", "A")]
    (tmp_path / "a").rename(tmp_path / "A")
    assert found(await check(entries, on_unexpected="fail")) == [("missing", "a")]


async def test_folder_placeholders_are_never_unexpected(make_marker: Make) -> None:
    """Names that end with a slash, as object stores list folders, are passed over."""

    class Store(LocalStore):
        async def listing(self, folder: Address, **_named: Any) -> dict[str, Facts]:  # type: ignore[override]
            return {name: Facts(0, Pin()) for name in ("in/", "in/deeper/", "x\u202e")}

    marker = read_marker(make_marker(files={}))
    report = await verify(Store(), parse_uri("/none/"), marker, on_unexpected="fail")
    assert found(report) == [("unexpected", "x\\u202e")]


async def test_levels(check: Make, fill: Make, tmp_path: Path) -> None:
    """Each level asks for what the one before asks, and one thing more."""
    entries = fill({"a": b"12", "b": b"34"})
    (tmp_path / "a").write_bytes(b"xx")
    (tmp_path / "b").unlink()
    assert found(await check(entries, level="marker")) == []
    assert found(await check(entries, level="files")) == [("missing", "b")]
    assert found(await check(entries, level="digests")) == [("corrupt", "a"), ("missing", "b")]
    assert found(await check(entries, level="rows")) == [("corrupt", "a"), ("missing", "b")]


async def test_equal_bytes_under_two_paths(check: Make, fill: Make) -> None:
    """Two files of equal digest are two good files."""
    report = await check(fill({"a": b"same", "b": b"same"}))
    assert report.ok
    assert report.digests == {"sha256": 2}


async def test_upper_case_digests(fill: Make, make_marker: Make, tmp_path: Path) -> None:
    """Hex digests are compared without regard to case and surrounding blanks."""
    fill({"a": b"1"})
    document = make_marker(files={"a": b"1"}).decode()
    digest = hashlib.sha256(b"1").hexdigest()
    document = document.replace(digest, f" {digest.upper()} ")
    store = await LocalStore().start()
    assert (await verify(store, parse_uri(f"{tmp_path}/"), read_marker(document.encode()))).ok
    await store.aclose()


async def test_every_digest_has_to_be_right(check: Make, fill: Make, entry: Make) -> None:
    """Of several digests the strongest is told when all are right, and a wrong one is corruption."""
    fill({"a": b"1"})
    sha256, md5 = hashlib.sha256(b"1").hexdigest(), hashlib.md5(b"1", usedforsecurity=False).hexdigest()
    report = await check([entry("a", b"1", digests={"md5": md5, "sha256": sha256})])
    assert (report.ok, report.digests) == (True, {"sha256": 1})
    report = await check([entry("a", b"1", digests={"md5": "0" * 32, "sha256": sha256})])
    assert [(p.kind, p.expected) for p in report.problems] == [("corrupt", f"md5 {'0' * 32}")]
    report = await check([entry("a", b"1", digests={"blake2b": hashlib.blake2b(b"1").hexdigest()})])
    assert report.digests == {"blake2b": 1}


async def test_weak_digests_and_none(fill: Make, entry: Make, tmp_path: Path, make_marker: Make) -> None:
    """Where a format has only damage checks, or none, the report says what was not proven."""
    fill({"a": b"1", "b": b"2"})
    marker = read_marker(make_marker())
    entries = (
        FileEntry("a", 1, {"md5": hashlib.md5(b"1", usedforsecurity=False).hexdigest()}),
        FileEntry("b", None, {"tiger": "00"}),
    )
    marker = Marker(marker.dataset, marker.interval, 1, type(marker.manifest).of(entries))
    store = await LocalStore().start()
    report = await verify(store, parse_uri(f"{tmp_path}/"), marker)
    assert report.ok
    assert sorted(report.notes) == [
        "a: md5 shows damage only, it proves no content",
        "b: no digest that this release can compute",
    ]
    await store.aclose()


async def test_a_missing_file_is_looked_for_again(check: Make, fill: Make, tmp_path: Path) -> None:
    """A file that shows up, or reaches its length, at a second look is no problem."""
    entries = fill({"a": b"123", "b": b"123"})
    (tmp_path / "a").rename(tmp_path / "hidden")
    (tmp_path / "b").write_bytes(b"1")

    async def appear() -> None:
        await anyio.sleep(0.1)
        (tmp_path / "hidden").rename(tmp_path / "a")
        (tmp_path / "b").write_bytes(b"123")

    async with anyio.create_task_group() as group:
        group.start_soon(appear)
        report = await check(entries, recheck_seconds=(0.2, 0.2))
    assert report.ok


async def test_looking_again_is_bounded(check: Make, entry: Make, fake: Any, make_marker: Make) -> None:
    """What stays missing is looked for a fixed number of times, and what is wrong for good only once."""
    fake.files = {"/in/long": b"12345"}
    marker = read_marker(make_marker(files={"long": b"1", "missing": b"1"}))
    report = await verify(fake, parse_uri("/in/"), marker, level="files", recheck_seconds=(0.01, 0.01))
    assert found(report) == [("corrupt", "long"), ("missing", "missing")]
    assert sorted(fake.facts_asked) == ["/in/long"] + ["/in/missing"] * 3


@pytest.mark.parametrize("when", ["opening", "reading"])
async def test_files_that_may_not_be_read(
    check: Make, fill: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, when: str
) -> None:
    """Missing rights show nothing of the file: the report is undecided, not bad."""
    entries, really, left = fill({"a": b"1", "b": b"2"}), os.open, [0 if when == "opening" else 1]

    def opening(path: object, *rest: Any, **named: Any) -> int:
        if str(path).endswith("/a"):
            if not left[0]:
                raise OSError(errno.EACCES, "denied")
            left[0] -= 1
        return really(path, *rest, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(os, "open", opening)
    report = await check(entries)
    assert found(report) == [("no access", "a")]
    assert report.undecided
    assert not report.ok
    (tmp_path / "b").write_bytes(b"X")
    assert not (await check(entries)).undecided


@pytest.mark.parametrize("change", ["written", "replaced", "removed", "linked"])
async def test_a_change_while_verifying(
    check: Make, fill: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: str
) -> None:
    """A file that changes between its look and its digest ends verifying; one that goes is missing."""
    entries, really = fill({"a": b"1"}), digests.open_file

    def meddling(address: Address) -> Any:
        path = Path(address.uri)
        if change == "written":
            time.sleep(0.02)
            path.write_bytes(b"2")
        elif change == "replaced":
            path.with_name("new").write_bytes(b"1")
            path.with_name("new").rename(path)
        else:
            path.unlink(missing_ok=True)
            if change == "linked":
                path.symlink_to("/etc/passwd")
        return really(address)

    monkeypatch.setattr(digests, "open_file", meddling)
    if change in ("written", "replaced"):
        with pytest.raises(Changed):
            await check(entries)
    else:
        report = await check(entries)
        assert found(report) == [("missing" if change == "removed" else "refused", "a")]
        assert not report.undecided


async def test_passing_trouble_is_tried_again(
    check: Make, fill: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A digest that fails in passing is tried again a bounded number of times."""
    entries, really, tries = fill({"a": b"1"}), digests.open_file, [0]

    def failing(address: Address) -> Any:
        tries[0] += 1
        if tries[0] <= times:
            raise PassingTrouble(address.uri, "stale")
        return really(address)

    async def soon(_seconds: float) -> None:
        await asyncio.sleep(0.001)

    monkeypatch.setattr(digests, "open_file", failing)
    monkeypatch.setattr("airflow_landmark.deliveries._verify.anyio.sleep", soon)
    times = 2
    assert (await check(entries)).ok
    times, tries[0] = 99, 0
    with pytest.raises(PassingTrouble):
        await check(entries)
    assert tries[0] == 3


async def test_progress_is_told(check: Make, fill: Make) -> None:
    """Progress names files and bytes, and ends with all of them."""
    told: list[Progress] = []
    await check(fill({f"{n}": b"x" * n for n in range(20)}), progress=told.append)
    assert told[-1] == Progress(20, 20, 190, 190)
    assert [p.files_done for p in told] == sorted(p.files_done for p in told)


async def test_cancelling_stops_the_reading(check: Make, fill: Make, tmp_path: Path, entry: Make) -> None:
    """A cancelled verification reads no further chunk, and tells which files were being read."""
    for n in range(12):
        with (tmp_path / f"{n}").open("wb") as file:
            file.truncate(1 << 36)
    entries = [entry(f"{n}", b"", size=1 << 36) for n in range(12)]
    busy: list[str] = []
    with anyio.move_on_after(0.3) as scope:
        await check(entries, in_progress=busy)
    assert scope.cancelled_caught
    assert 1 <= len(busy) <= 8
    began = time.process_time()
    await asyncio.sleep(0.3)
    assert time.process_time() - began < 0.2


async def test_files_are_read_side_by_side(check: Make, fill: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """Several files are read at a time."""
    meeting, really = threading.Barrier(2), digests.DigestRun.__call__

    def together(run: Any) -> Any:
        meeting.wait(timeout=10)
        return really(run)

    monkeypatch.setattr(digests.DigestRun, "__call__", together)
    assert (await check(fill({"a": b"1", "b": b"2"}))).ok


@pytest.mark.slow
async def test_ten_thousand_files(check: Make, entry: Make, tmp_path: Path, loop_gaps: Make) -> None:
    """10,000 small files are verified within seconds, and the loop goes on meanwhile."""
    for n in range(10_000):
        (tmp_path / f"{n}").write_bytes(b"1")
    entries = [entry(f"{n}", b"1") for n in range(10_000)]
    began = time.monotonic()
    async with loop_gaps() as gaps:
        report = await check(entries, on_unexpected="fail")
    assert report.ok
    assert report.digests == {"sha256": 10_000}
    assert time.monotonic() - began < 20
    assert max(gaps) < 0.4
