"""Looks at many markers: by a listing of their folder when that costs less."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from airflow_landmark.stores import Absent, Address, LocalStore, PassingTrouble, Refused
from airflow_landmark.stores import _local as local

At = Callable[[str], Address]


class Opened(list[str]):
    """The paths that were opened, of folders and of files."""

    @property
    def folders(self) -> list[str]:
        """Folders opened for a listing."""
        return [path for path in self if not path.endswith(".json")]


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> Opened:
    """Return the paths that the store opens."""
    paths, really = Opened(), os.open

    def recording(path: object, *rest: object, **named: object) -> int:
        paths.append(str(path))
        return really(path, *rest, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(os, "open", recording)
    return paths


async def test_every_look_gets_its_own_result(store: LocalStore, at: At, tmp_path: Path) -> None:
    """Present, absent and refused markers stand side by side in one answer."""
    (tmp_path / "a.json").write_bytes(b"a")
    (tmp_path / "link.json").symlink_to("a.json")
    found = await store.look_many({at("a.json"): None, at("b.json"): None, at("link.json"): None})
    assert found[at("a.json")].data == b"a"
    assert found[at("b.json")].sighting is None
    assert isinstance(found[at("link.json")], Refused)


async def test_few_markers_are_opened_singly(store: LocalStore, at: At, opened: Opened) -> None:
    """For a handful of markers no folder is listed."""
    await store.look_many({at(f"{n}.json"): None for n in range(7)})
    assert len(opened) == 7
    assert not opened.folders


async def test_absent_markers_are_settled_by_one_listing(
    store: LocalStore, at: At, tmp_path: Path, opened: Opened
) -> None:
    """For many markers of one folder a listing tells what is absent; only what is there is opened."""
    for number in (1, 2):
        (tmp_path / f"{number}.json").write_bytes(b"x")
    found = await store.look_many({at(f"{n}.json"): None for n in range(500)})
    assert len(opened.folders) == 1
    assert sorted(Path(path).name for path in opened if path.endswith(".json")) == ["1.json", "2.json"]
    assert len(found) == 500
    assert {a.name for a, look in found.items() if look.sighting} == {"1.json", "2.json"}
    assert found[at("0.json")].reason == "no such file"


async def test_an_absent_folder_is_asked_once(store: LocalStore, at: At, opened: Opened) -> None:
    """All markers of a folder that is not there are settled by one attempt to open it."""
    folder = f"{at('').folder}/none"
    found = await store.look_many({replace(at(f"{n}.json"), folder=folder): None for n in range(100)})
    assert opened == [folder]
    assert {look.reason for look in found.values()} == {"the folder does not exist"}


async def test_a_full_folder_is_not_listed_again_soon(
    store: LocalStore, at: At, tmp_path: Path, opened: Opened
) -> None:
    """A folder with too many other names is given up for a listing, and tried again much later."""
    for number in range(200):
        (tmp_path / f"other {number}").touch()
    opened.clear()
    wanted = {at(f"{n}.json"): None for n in range(8)}
    for _ in range(local._ROUNDS_BIG + 1):
        found = await store.look_many(wanted)
        assert all(look.sighting is None for look in found.values())
    assert len(opened.folders) == 1
    assert len(opened) == 1 + 8 * (local._ROUNDS_BIG + 1)
    await store.look_many(wanted)
    assert len(opened.folders) == 2


async def test_another_spelling_of_a_name_is_looked_at(
    store: LocalStore, at: At, tmp_path: Path, opened: Opened
) -> None:
    """A file system that ignores case may list a marker in another spelling: opening it decides."""
    (tmp_path / "A.JSON").write_bytes(b"x")
    await store.look_many({at(name): None for name in ("a.json", *(f"{n}.json" for n in range(20)))})
    assert at("a.json").uri in opened


async def test_nested_names_are_opened_singly(store: LocalStore, at: At, tmp_path: Path) -> None:
    """A listing of the folder says nothing of names below it."""
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "m.json").write_bytes(b"x")
    wanted = {at(name): None for name in ("sub/m.json", *(f"{n}.json" for n in range(20)))}
    assert (await store.look_many(wanted))[at("sub/m.json")].data == b"x"


async def test_what_was_seen_is_not_given_again(store: LocalStore, at: At, tmp_path: Path) -> None:
    """Each marker is compared with what was seen of it."""
    addresses = [at(f"{n}.json") for n in range(20)]
    for address in addresses:
        Path(address.uri).write_bytes(b"x")
    first = await store.look_many(dict.fromkeys(addresses))
    Path(addresses[3].uri).write_bytes(b"changed")
    second = await store.look_many({a: look.sighting for a, look in first.items()})
    assert {a for a, look in second.items() if look.data is not None} == {addresses[3]}


@pytest.fixture
def release() -> Iterator[threading.Event]:
    """Return what hanging looks wait for."""
    event = threading.Event()
    yield event
    event.set()


async def test_hanging_looks_spare_the_others(
    at: At, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, release: threading.Event
) -> None:
    """Of 60 files 45 hang: the other 15 are seen in the same call, and at once in the next."""
    really = local.look_at

    def look(address: Address, since: object) -> object:
        return release.wait() if int(Path(address.name).stem) < 45 else really(address, None)

    monkeypatch.setattr(local, "look_at", look)
    for number in range(60):
        (tmp_path / f"{number}.json").write_bytes(b"x")
    store = await LocalStore(look_seconds=0.3).start()
    wanted = {at(f"{n}.json"): None for n in range(60)}
    for limit in (4.0, 0.3):
        began = time.monotonic()
        found = await store.look_many(wanted)
        assert time.monotonic() - began < limit
        assert sum(isinstance(look, PassingTrouble) for look in found.values()) == 45
        assert sum(not isinstance(look, Exception) and look.data == b"x" for look in found.values()) == 15


async def test_hanging_folders_are_not_listed_one_after_another(
    at: At, monkeypatch: pytest.MonkeyPatch, release: threading.Event
) -> None:
    """Once a mount hangs, no further folder of it is listed: each listing would wait in turn."""
    monkeypatch.setattr(local, "look_at", lambda address, since: release.wait())
    monkeypatch.setattr(local, "names_in", lambda address, at_most: release.wait())
    store = await LocalStore(look_seconds=0.2).start()
    wanted = {
        Address("file", "", f"/none/{folder}", f"{n}.json"): None for folder in range(20) for n in range(8)
    }
    began = time.monotonic()
    found = await store.look_many(wanted)
    assert time.monotonic() - began < 3.0
    assert all(isinstance(look, PassingTrouble) for look in found.values())
    assert len(found) == 160


async def test_five_thousand_looks_leave_the_loop_alone(
    store: LocalStore, tmp_path: Path, loop_gaps: Callable
) -> None:
    """5,000 markers in 5,000 folders are looked at without holding the loop."""
    wanted = {Address("file", "", f"{tmp_path}/{n}", "m.json"): None for n in range(5000)}
    async with loop_gaps() as gaps:
        found = await store.look_many(wanted)
    assert len(found) == 5000
    assert max(gaps) < 0.5


async def test_absent_and_unreadable_differ(store: LocalStore, at: At) -> None:
    """Only what is absent is a look; facts of it are an error."""
    assert (await store.look(at("m.json"))).sighting is None
    with pytest.raises(Absent):
        await store.facts(at("m.json"))
