"""Names below the folder are opened part by part, so that no link leads out of it."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from airflow_landmark.stores import Absent, Address, LocalStore, Refused
from airflow_landmark.stores._local_files import facts_of, open_file

At = Callable[[str], Address]


@pytest.fixture
def outside(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder that nobody may get at, with a file ``x``."""
    folder = tmp_path_factory.mktemp("outside")
    (folder / "x").write_bytes(b"secret")
    return folder


async def test_nested_files_are_reached(store: LocalStore, at: At, tmp_path: Path) -> None:
    """A path through plain folders is opened."""
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "a" / "b" / "x y.csv ").write_bytes(b"123")
    assert (await store.facts(at("a/b/x y.csv "))).size == 3


@pytest.mark.parametrize("path", ["link/x", "a/link/x", "link/deeper/x"])
async def test_a_link_in_the_middle_is_refused(
    store: LocalStore, at: At, tmp_path: Path, outside: Path, path: str, no_descriptor_left: None
) -> None:
    """A folder of the path that is a link leads nowhere, whatever it points to."""
    (outside / "deeper").mkdir()
    (outside / "deeper" / "x").touch()
    (tmp_path / "a").mkdir()
    for folder in (tmp_path, tmp_path / "a"):
        (folder / "link").symlink_to(outside)
    for call in (store.facts(at(path)), store.digest(at(path), ["sha256"]), store.open(at(path))):
        with pytest.raises(Refused):
            await call


async def test_a_link_to_a_folder_inside_is_refused_too(store: LocalStore, at: At, tmp_path: Path) -> None:
    """Links are refused wherever they lead: a manifest names files, not ways."""
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "x").touch()
    (tmp_path / "link").symlink_to("a")
    with pytest.raises(Refused):
        await store.facts(at("link/x"))


async def test_a_file_is_no_folder_of_the_path(
    store: LocalStore, at: At, tmp_path: Path, no_descriptor_left: None
) -> None:
    """A file where the path wants a folder is refused, and a missing folder is absent."""
    (tmp_path / "a").touch()
    with pytest.raises(Refused):
        await store.facts(at("a/x"))
    with pytest.raises(Absent, match="no such file"):
        await store.facts(at("none/x"))


def test_a_folder_that_is_swapped_for_a_link_leads_nowhere(
    at: At, tmp_path: Path, outside: Path, monkeypatch: pytest.MonkeyPatch, no_descriptor_left: None
) -> None:
    """Whoever swaps a folder for a link while a path is opened gets the old folder or a refusal opened."""
    really = os.open

    for swap_before in ("a", "b", "x"):
        for name in ("a", "old"):
            if (tmp_path / name).is_symlink():
                (tmp_path / name).unlink()
        if (tmp_path / "old").exists():
            (tmp_path / "old").rename(tmp_path / "a")
        (tmp_path / "a" / "b").mkdir(parents=True, exist_ok=True)
        (tmp_path / "a" / "b" / "x").write_bytes(b"ours")
        (outside / "b").mkdir(exist_ok=True)
        (outside / "b" / "x").write_bytes(b"secret")

        def opening(path: object, *rest: object, swap_before: str = swap_before, **named: object) -> int:
            if path == swap_before:
                (tmp_path / "a").rename(tmp_path / "old")
                (tmp_path / "a").symlink_to(outside)
            return really(path, *rest, **named)  # type: ignore[arg-type]

        monkeypatch.setattr(os, "open", opening)
        try:
            with open_file(at("a/b/x")) as (descriptor, _):
                assert os.read(descriptor, 10) == b"ours"
        except Refused:
            assert swap_before == "a"
        monkeypatch.setattr(os, "open", really)


def test_error_paths_close_what_they_opened(at: At, tmp_path: Path, no_descriptor_left: None) -> None:
    """However opening fails, no descriptor is left."""
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "a" / "f").touch()
    (tmp_path / "a" / "link").symlink_to("b")
    for name in ("a/b", "a/f/x", "a/link/x", "a/none/x", "a/b/none", "none", "a", "..", "a/link"):
        for _ in range(3):
            with pytest.raises((Absent, Refused)):
                facts_of(at(name))
