"""``landmark deliver``: announced, or nothing was written."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from airflow_landmark.cli import _deliver, _progress
from airflow_landmark.markers import marker_schema, read_marker

Landmark = Callable[..., Result]


def _names(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if not path.is_dir()}


def test_announces(folder: Path, landmark: Landmark, wanted: list[str]) -> None:
    """Every file of the folder is listed with size, digest and rows, and the answer says so."""
    done = landmark("deliver", folder, *wanted, "--version", 1, "--rows", "auto", "--header-rows", 1)
    assert (done.exit_code, done.stderr) == (0, "")
    marker = read_marker((folder / "_delivery.json").read_bytes(), name="_delivery.json")
    rows = {entry.path: (entry.size, entry.rows) for entry in marker.manifest.files}
    assert rows == {"more/part-2.csv": (15, 1), "notes.txt": (6, None), "part-1.csv": (20, 2)}
    lines = done.stdout.splitlines()
    assert lines[0] == "ANNOUNCED: version 1 of orders"
    assert f"  marker     {folder}/_delivery.json" in lines
    assert f"  sha256     {marker.identity}" in lines
    assert "  files      3 files, 41 bytes" in lines
    assert "  rows       3 in 2 files" in lines
    assert "  not counted: notes.txt" in lines


def test_json(folder: Path, landmark: Landmark, wanted: list[str]) -> None:
    """With ``--json`` stdout is one document."""
    done = landmark("deliver", folder, *wanted, "--version", 1, "--rows", "auto", "--json")
    document = json.loads(done.stdout)
    assert done.exit_code == 0
    assert document["ok"] is True
    assert document["manifest"] == {"files": 3, "bytes": 41, "rows": None}
    assert document["marker"]["uri"] == f"{folder}/_delivery.json"
    assert list(document["not_counted"]) == ["notes.txt"]
    assert document["interval"] == {"start": "2024-10-01T00:00:00Z", "end": "2024-10-02T00:00:00Z"}


def test_local_day(folder: Path, landmark: Landmark) -> None:
    """A bare day is the zone's day, 25 hours when clocks go back, and the marker notes the zone."""
    day = ["--interval", "2024-10-27", "--timezone", "Europe/Berlin"]
    assert landmark("deliver", folder, "--dataset", "orders", *day, "--version", 1).exit_code == 0
    marker = read_marker((folder / "_delivery.json").read_bytes())
    assert str(marker.interval) == "2024-10-26T22:00:00Z/2024-10-27T23:00:00Z"
    assert marker.timezone == "Europe/Berlin"


def test_other_name_and_producer(folder: Path, landmark: Landmark, wanted: list[str]) -> None:
    """Marker's name and producer are as given."""
    options = ["--version", 1, "--name", "orders.json", "--producer", "Example Ltd"]
    assert landmark("deliver", folder, *wanted, *options).exit_code == 0
    assert read_marker((folder / "orders.json").read_bytes()).producer == "Example Ltd"


def test_relative_folder(
    folder: Path, landmark: Landmark, wanted: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A relative path is meant from where the command was started, dots included."""
    monkeypatch.chdir(folder / "more")
    done = landmark("deliver", "..", *wanted, "--version", 1, "--json")
    assert json.loads(done.stdout)["marker"]["uri"] == f"{folder}/_delivery.json"


def test_empty_must_be_meant(tmp_path: Path, landmark: Landmark, wanted: list[str]) -> None:
    """A folder without files is announced only with ``--allow-empty``."""
    refused = landmark("deliver", tmp_path, *wanted, "--version", 1)
    assert (refused.exit_code, _names(tmp_path)) == (1, set())
    assert landmark("deliver", tmp_path, *wanted, "--version", 1, "--allow-empty").exit_code == 0
    assert landmark("verify", tmp_path, *wanted).exit_code == 0


def test_withdraw(delivery: Path, landmark: Landmark, wanted: list[str]) -> None:
    """A recall is a marker with a higher version and without files."""
    done = landmark("deliver", delivery, *wanted, "--version", 3, "--withdraw")
    assert done.stdout.startswith("WITHDRAWN: version 3 of orders\n")
    marker = read_marker((delivery / "_delivery.json").read_bytes())
    assert (marker.status, marker.version, marker.manifest.files) == ("withdrawn", 3, ())


@pytest.mark.parametrize("version", [1, 2])
def test_version_must_grow(delivery: Path, landmark: Landmark, wanted: list[str], version: int) -> None:
    """What was announced stays as it is unless the new version is higher."""
    before = (delivery / "_delivery.json").read_bytes()
    done = landmark("deliver", delivery, *wanted, "--version", version)
    assert (done.exit_code, done.stdout) == (1, "")
    assert done.stderr == (
        f"landmark deliver: {delivery}/_delivery.json: version 2 lies there: "
        "a correction needs a version above it\n"
    )
    assert (delivery / "_delivery.json").read_bytes() == before


def test_refuses_links(folder: Path, landmark: Landmark, wanted: list[str]) -> None:
    """A symbolic link is refused, and nothing is written."""
    (folder / "link.csv").symlink_to("part-1.csv")
    before = _names(folder)
    done = landmark("deliver", folder, *wanted, "--version", 1)
    assert (done.exit_code, done.stdout) == (1, "")
    first, *_ = done.stderr.splitlines()
    assert "link.csv: a symbolic link is never followed" in first
    assert _names(folder) == before


@pytest.mark.parametrize("name", ["a\x1b[31mb.csv", "back\\slash.csv", "PART-1.csv", "_Delivery.json"])
def test_refuses_names(folder: Path, landmark: Landmark, wanted: list[str], name: str) -> None:
    """A name that readers refuse is refused before anything is written, and is shown escaped."""
    (folder / name).write_text("x")
    before = _names(folder)
    done = landmark("deliver", folder, *wanted, "--version", 1, "--json")
    assert done.exit_code == 1
    assert "\x1b" not in done.output
    document = json.loads(done.stdout)
    assert (document["ok"], document["error"]["kind"]) == (False, "name")
    assert len(document["problems"]) == 1
    assert _names(folder) == before


@pytest.mark.parametrize("name", ["late.csv", "part-1.csv"])
def test_refuses_changes(
    folder: Path, landmark: Landmark, wanted: list[str], name: str, meddle: Callable[..., None]
) -> None:
    """A file that comes or changes while the others are hashed ends it, and nothing is written."""
    meddle(_deliver, lambda: (folder / name).write_text("other content"))
    done = landmark("deliver", folder, *wanted, "--version", 1)
    assert done.exit_code == 1
    assert "start again" in done.stderr
    assert not (folder / "_delivery.json").exists()


def test_refuses_what_is_no_marker(folder: Path, landmark: Landmark, wanted: list[str]) -> None:
    """A file of the marker's name that is no marker is never overwritten."""
    (folder / "_delivery.json").write_text("precious")
    assert landmark("deliver", folder, *wanted, "--version", 1).exit_code == 1
    assert (folder / "_delivery.json").read_text() == "precious"


def test_missing_folder(tmp_path: Path, landmark: Landmark, wanted: list[str]) -> None:
    """A folder that does not exist is a no."""
    done = landmark("deliver", tmp_path / "none", *wanted, "--version", 1)
    assert done.exit_code == 1
    assert done.stderr == f"landmark deliver: {tmp_path}/none/: the folder does not exist\n"


def test_unreachable_folder(folder: Path, landmark: Landmark, wanted: list[str]) -> None:
    """A place that cannot be looked into leaves the answer open."""
    done = landmark("deliver", folder / "notes.txt" / "x", *wanted, "--version", 1)
    assert done.exit_code == 3


@pytest.mark.parametrize(
    ("options", "word"),
    [
        (["--version", "0"], "--version"),
        (["--version", "1.0"], "--version"),
        (["--version", "1", "--header-rows", "1"], "--rows auto"),
        (["--version", "1", "--withdraw", "--rows", "auto"], "--withdraw"),
        (["--version", "1", "--withdraw", "--allow-empty"], "--withdraw"),
        (["--version", "1", "--name", "a/b.json"], "--name"),
        (["--version", "1", "--name", ".."], "--name"),
        (["--version", "1", "--timezone", "Mars/Olympus"], "Mars/Olympus"),
        (["--version", "1", "--dataset", "two words"], "--dataset"),
        (["--version", "1", "--interval", "2024-10-01"], "--timezone"),
        (["--version", "1", "--interval", "2024-10-01/2024-10-02"], "--interval"),
    ],
)
def test_wrong_usage(
    folder: Path, landmark: Landmark, wanted: list[str], options: list[str], word: str
) -> None:
    """Wrong usage ends with 2, names the option in one line, and writes nothing."""
    done = landmark("deliver", folder, *wanted, *options)
    assert (done.exit_code, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert word in done.stderr
    assert not (folder / "_delivery.json").exists()


def test_progress_on_stderr(
    folder: Path, landmark: Landmark, wanted: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where no terminal is, long work tells how far it is in plain lines on stderr."""
    monkeypatch.setattr(_progress, "_LINE_EVERY_SECONDS", 0.0)
    done = landmark("deliver", folder, *wanted, "--version", 1, "--json")
    assert done.stderr.splitlines()[-1] == "Hashing: 3 of 3 files, 41 of 41 bytes"
    assert json.loads(done.stdout)["ok"] is True


def test_schema_agrees(delivery: Path) -> None:
    """What is written is valid by the schema that partners are given."""
    jsonschema = pytest.importorskip("jsonschema")
    document = json.loads((delivery / "_delivery.json").read_bytes())
    jsonschema.Draft202012Validator(marker_schema()).validate(document)
