"""The rooms in the repository and the packages in ``pyproject.toml`` are the same."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

NOT_ROOMS = {"tests", "examples", "benchmarks", "docs", "build", "dist"}
MAX_LINES = 400


def _rooms(root: Path) -> dict[str, Path]:
    """Return every folder with code, those inside a room included, by its import name."""
    folders = [file.parent.relative_to(root) for file in root.glob("[a-z]*/**/__init__.py")]
    return {
        ".".join(["airflow_landmark", *folder.parts]): root / folder
        for folder in folders
        if folder.parts[0] not in NOT_ROOMS
    }


def _sources(root: Path) -> list[Path]:
    return [path for path in root.glob("[a-z]*/**/*.py") if path.relative_to(root).parts[0] != "build"]


def test_every_room_is_mapped(root: Path, packages: dict[str, Path]) -> None:
    """Every folder with code is mapped to its import name, and nothing else is."""
    assert packages == _rooms(root)


def test_lists_agree(project: dict[str, Any], packages: dict[str, Path]) -> None:
    """The list of packages and the list of their data files name the same packages as the mapping."""
    setuptools = project["tool"]["setuptools"]
    assert set(setuptools["packages"]) == set(packages)
    assert set(setuptools["package-data"]) == set(packages)


def test_rooms_are_typed(packages: dict[str, Path]) -> None:
    """Every room says that it is typed: a package without a folder of its own can't say it for them."""
    assert [name for name, folder in packages.items() if not (folder / "py.typed").exists()] == []


def test_no_folder_shadows_the_package(root: Path) -> None:
    """No folder is named like the import package: Python would find it before the installed one."""
    assert not (root / "airflow_landmark").exists()


def test_modules_are_short(root: Path) -> None:
    """No Python file is longer than a reader keeps in mind."""
    lengths = {path: len(path.read_text(encoding="utf-8").splitlines()) for path in _sources(root)}
    too_long = {str(path.relative_to(root)): length for path, length in lengths.items() if length > MAX_LINES}
    assert too_long == {}


@pytest.mark.parametrize("place", ["://", "--index", "--extra-index", "--find-links", " @ ", "/requirements"])
def test_lock_names_no_place(root: Path, place: str) -> None:
    """The lock holds names, versions and digests: where to get the files is up to the machine."""
    assert place not in (root / "requirements.lock").read_text(encoding="utf-8")
