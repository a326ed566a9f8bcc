"""``landmark deliver FOLDER DESTINATION`` and ``--also sums``."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from airflow_landmark.cli import _progress

Landmark = Callable[..., Result]
FILES = {"part-1.csv", "more/part-2.csv", "notes.txt"}


def _names(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture
def drop(tmp_path: Path) -> Path:
    """Return a folder that does not exist yet."""
    return tmp_path / "drop" / "day 1"


@pytest.mark.parametrize("slash", ["", "/"])
def test_carries(folder: Path, drop: Path, landmark: Landmark, wanted: list[str], slash: str) -> None:
    """The files are carried, the marker is written there, and the answer tells how many went."""
    done = landmark("deliver", folder, f"{drop}{slash}", *wanted, "--version", 1)
    assert (done.exit_code, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert lines[0] == "ANNOUNCED: version 1 of orders"
    assert f"  marker     {drop}/_delivery.json" in lines
    assert "  uploaded   3 files" in lines
    assert _names(drop) == FILES | {"_delivery.json"}
    assert _names(folder) == FILES
    assert landmark("verify", drop, "--unexpected", "fail").exit_code == 0


def test_json(folder: Path, drop: Path, landmark: Landmark, wanted: list[str]) -> None:
    """With ``--json`` the document tells the same."""
    done = landmark("deliver", folder, drop, *wanted, "--version", 1, "--also", "sums", "--json")
    document = json.loads(done.stdout)
    assert (done.exit_code, document["ok"], document["uploaded"]) == (0, True, 3)
    assert document["marker"]["uri"] == f"{drop}/_delivery.json"
    assert document["manifest"]["files"] == 3
    here = json.loads(landmark("deliver", folder, *wanted, "--version", 1, "--json").stdout)
    assert (here["uploaded"], list(here)) == (0, list(document))


def test_relative(
    folder: Path, landmark: Landmark, wanted: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both places may be relative."""
    monkeypatch.chdir(folder / "more")
    assert landmark("deliver", ".", "../../drop", *wanted, "--version", 1).exit_code == 0
    assert _names(folder.parent / "drop") == {"part-2.csv", "_delivery.json"}


@pytest.mark.parametrize("carried", [False, True])
def test_also_sums(folder: Path, drop: Path, landmark: Landmark, wanted: list[str], carried: bool) -> None:
    """The list lies beside the marker, reads as a list of sums, and is listed nowhere."""
    place = drop if carried else folder
    places = [folder, drop] if carried else [folder]
    done = landmark("deliver", *places, *wanted, "--version", 1, "--also", "sums")
    assert done.exit_code == 0
    assert "  files      3 files, 41 bytes" in done.stdout.splitlines()
    assert _names(place) == FILES | {"_delivery.json", "SHA256SUMS"}
    declared = {"complete": "rename", "algorithm": "sha256", "dataset": "orders", "version": "1"}
    declared |= {"interval": "2024-10-01", "timezone": "UTC"}
    options = [f"--declare={key}={text}" for key, text in declared.items()]
    done = landmark("verify", place / "SHA256SUMS", *wanted, "--format", "sums", *options, "--json")
    assert json.loads(done.stdout)["digests"] == {"sha256": 3}
    assert landmark("verify", place, "--unexpected", "fail").exit_code == 0


def test_nothing_is_written_when_the_version_is_there(
    folder: Path, drop: Path, landmark: Landmark, wanted: list[str]
) -> None:
    """A version that lies there is refused before a byte is carried or a list is written."""
    landmark("deliver", folder, drop, *wanted, "--version", 1)
    (folder / "notes.txt").write_text("other")
    done = landmark("deliver", folder, drop, *wanted, "--version", 1, "--also", "sums")
    assert (done.exit_code, done.stderr.count("\n")) == (1, 1)
    assert (drop / "notes.txt").read_text() == "hello\n"
    assert not (drop / "SHA256SUMS").exists()


def test_a_destination_inside_is_refused(folder: Path, landmark: Landmark, wanted: list[str]) -> None:
    """A delivery into its own source is a no."""
    done = landmark("deliver", folder, folder / "more", *wanted, "--version", 1, "--json")
    assert (done.exit_code, json.loads(done.stdout)["error"]["kind"]) == (1, "source")
    assert _names(folder) == FILES


@pytest.mark.parametrize("place", ["https://host.example/drop"])
def test_a_place_that_cannot_be_written_to(
    folder: Path, landmark: Landmark, wanted: list[str], place: str
) -> None:
    """A web server takes no delivery, and says so before anything is hashed."""
    done = landmark("deliver", folder, place, *wanted, "--version", 1)
    assert (done.exit_code, done.stdout, done.stderr.count("\n")) == (1, "", 1)
    assert "cannot be written to" in done.stderr


@pytest.mark.parametrize(
    "arguments",
    [["--withdraw", "--also", "sums"], ["--also", "md5"], ["--also"], ["elsewhere", "--withdraw"]],
)
def test_wrong_usage(folder: Path, landmark: Landmark, wanted: list[str], arguments: list[str]) -> None:
    """Wrong usage ends with 2, in one line, and writes nothing."""
    done = landmark("deliver", folder, *wanted, "--version", 1, *arguments)
    assert (done.exit_code, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert _names(folder) == FILES


def test_progress(
    folder: Path, drop: Path, landmark: Landmark, wanted: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is hashed and carried is told on stderr."""
    monkeypatch.setattr(_progress, "_LINE_EVERY_SECONDS", 0.0)
    done = landmark("deliver", folder, drop, *wanted, "--version", 1, "--json")
    assert done.stderr.splitlines()[-1].startswith("Delivering: ")
    assert json.loads(done.stdout)["ok"] is True
