"""Waits on real folders, with real threads and the machine's clock."""

from __future__ import annotations

import asyncio
import os
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from airflow_landmark.deliveries import wait
from airflow_landmark.stores import Address
from airflow_landmark.stores import _local as local
from airflow_landmark.stores import _registry as registry

Make = Callable[..., Any]


async def until(condition: Callable[[], bool]) -> None:
    """Wait for something that happens beside the test."""
    with anyio.fail_after(20):
        while not condition():
            await anyio.sleep(0.005)


async def test_a_marker_that_is_renamed_into_place_arrives(
    started: Any, make_terms: Make, make_marker: Make, tmp_path: Path
) -> None:
    """A writer that renames its marker into place is seen within a poll or two."""
    path = tmp_path / "_delivery.json"
    task = started.add(wait(make_terms(str(path), poll_interval=0.1)))
    await anyio.sleep(0.3)
    path.with_name("new").write_bytes(make_marker())
    path.with_name("new").rename(path)
    await until(task.done)
    assert task.result().kind == "arrived"
    assert task.result().stamp.uri == str(path)


async def test_a_marker_that_is_written_slowly_arrives(
    started: Any, make_terms: Make, make_marker: Make, tmp_path: Path
) -> None:
    """A writer that writes its marker byte by byte disturbs nobody."""
    data, path = make_marker(files={"a": b"1"}), tmp_path / "_delivery.json"
    (tmp_path / "a").write_bytes(b"1")

    def write() -> None:
        with path.open("wb", buffering=0) as file:
            for start in range(0, len(data), 16):
                file.write(data[start : start + 16])
                time.sleep(0.01)

    task = started.add(wait(make_terms(str(path), poll_interval=0.1, verify="files")))
    thread = threading.Thread(target=write)
    thread.start()
    await until(task.done)
    thread.join()
    assert task.result().kind == "arrived"
    assert set(task.result().looks.seen) <= {"absent", "unreadable", "trouble", "arrived"}


async def test_a_folder_that_comes_late(
    started: Any, make_terms: Make, make_marker: Make, tmp_path: Path
) -> None:
    """A folder that is not there yet is waited for like its marker."""
    task = started.add(wait(make_terms(f"{tmp_path}/later/", poll_interval=0.1), tell=started.told.append))
    await until(lambda: bool(started.told))
    assert "the folder does not exist" in started.told[0]
    (tmp_path / "later").mkdir()
    (tmp_path / "later" / "_delivery.json").write_bytes(make_marker())
    await until(task.done)
    assert task.result().kind == "arrived"


async def test_files_that_arrive_behind_the_marker(
    started: Any, make_terms: Make, deliver: Make, tmp_path: Path
) -> None:
    """Data that is completed after its marker makes the delivery arrive, and not earlier."""
    uri = deliver(files={"a.csv": b"x" * 100})
    os.truncate(tmp_path / "a.csv", 60)
    task = started.add(wait(make_terms(uri, poll_interval=0.1, verify="digests")))
    await anyio.sleep(0.4)
    assert not task.done()
    (tmp_path / "a.csv").write_bytes(b"x" * 100)
    await until(task.done)
    assert set(task.result().looks.seen) == {"incomplete", "arrived"}


async def test_a_large_marker_is_parsed_beside_the_loop(
    started: Any, make_terms: Make, make_marker: Make, entry: Make, tmp_path: Path, loop_gaps: Make
) -> None:
    """A marker of many files is read and its files are looked at without holding the loop."""
    entries = [entry(f"part-{n}", b"") for n in range(5000)]
    (tmp_path / "_delivery.json").write_bytes(make_marker(entries=entries))
    async with loop_gaps() as gaps:
        task = started.add(
            wait(make_terms(f"{tmp_path}/", poll_interval=0.1, verify="files"), tell=started.told.append)
        )
        await until(lambda: bool(started.told))
    assert "5000 of 5000 files not complete" in started.told[0]
    assert max(gaps) < 1.0
    task.cancel()


@pytest.mark.slow
@pytest.mark.parametrize("folders", [1, 5000])
async def test_five_thousand_waits_leave_the_loop_alone(
    started: Any, make_terms: Make, make_marker: Make, tmp_path: Path, loop_gaps: Make, folders: int
) -> None:
    """5,000 waits in one folder or in as many are polled without holding the loop, and all fire."""
    names = [f"{tmp_path}/{n % folders}/{n}.json" for n in range(5000)]
    for name in names:
        started.add(wait(make_terms(name, poll_interval=0.5)))
        if len(started.tasks) % 100 == 0:
            await anyio.lowlevel.checkpoint()
    await anyio.sleep(0.3)
    async with loop_gaps() as gaps:
        await anyio.sleep(1.5)
    gaps.sort()
    assert gaps[-1] < 1.0
    assert gaps[len(gaps) * 95 // 100] < 0.1
    data = make_marker()
    for name in names[:: len(names) // 50]:
        Path(name).parent.mkdir(exist_ok=True)
        Path(name).write_bytes(data)
    await until(lambda: started.outcomes["arrived"] == 50)


async def test_a_hanging_mount_starves_no_other(
    started: Any, make_terms: Make, make_marker: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of 60 waits 45 hang in their looks: the other 15 and those of another mount fire."""
    release, really = threading.Event(), local.look_at

    def look(address: Address, since: Any) -> object:
        if f"{tmp_path}/mnt/hangs/" in address.folder:
            release.wait()
        return really(address, since)

    async def factory(_address: Address) -> Any:
        store = await local.LocalStore(look_seconds=0.3).start()
        store._mounts = local.MountTable([f"{tmp_path}/mnt"])
        return store

    monkeypatch.setattr(local, "look_at", look)
    monkeypatch.setitem(registry._FACTORIES, "file", factory)
    data = make_marker()
    uris = [f"{tmp_path}/mnt/hangs/{n}" for n in range(45)] + [f"{tmp_path}/mnt/{n}" for n in range(15)]
    uris += [f"{tmp_path}/{n}" for n in range(10)]
    for uri in uris:
        Path(uri).mkdir(parents=True)
        (Path(uri) / "_delivery.json").write_bytes(data)
        started.add(wait(make_terms(f"{uri}/", poll_interval=0.5)))
    try:
        await until(lambda: all(task.done() for task in started.tasks[55:]))
        await until(lambda: all(task.done() for task in started.tasks[45:]))
        assert started.outcomes == {"arrived": 25}
    finally:
        release.set()
    await until(lambda: started.outcomes == {"arrived": 70})


async def test_cancelling_real_waits_leaves_nothing(started: Any, make_terms: Make, tmp_path: Path) -> None:
    """However far real waits have come when they are cancelled, no task of theirs is left."""
    before = asyncio.all_tasks()
    for delay in (0.0, 0.001, 0.05, 0.11, 0.12, 0.15, 0.3):
        tasks = [
            asyncio.ensure_future(wait(make_terms(f"{tmp_path}/{n}/", poll_interval=0.1))) for n in range(20)
        ]
        await asyncio.sleep(delay)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await asyncio.sleep(0.01)
        assert asyncio.all_tasks() == before
