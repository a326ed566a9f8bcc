"""``landmark convert``: our marker beside a foreign one, or nothing was written."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from airflow_landmark.cli import _progress
from airflow_landmark.markers import read_marker

Landmark = Callable[..., Result]
FILES = ("part-1.csv", "more/part-2.csv")
DECLARED = {
    "algorithm": "sha256",
    "complete": "rename",
    "dataset": "orders",
    "interval": "2024-10-01",
    "timezone": "UTC",
    "version": "2",
}


def options(**changes: str) -> list[str]:
    """The options that read a list of sums."""
    declared = [f"--declare={key}={text}" for key, text in (DECLARED | changes).items()]
    return ["--format", "sums", *declared]


@pytest.fixture
def sums(folder: Path) -> Path:
    """Return a list of sums of two of the folder's files."""
    lines = [f"{hashlib.sha256((folder / name).read_bytes()).hexdigest()}  {name}\n" for name in FILES]
    (folder / "SHA256SUMS").write_text("".join(lines))
    return folder / "SHA256SUMS"


@pytest.mark.parametrize("place", ["/SHA256SUMS", "", "/"])
def test_converts(sums: Path, landmark: Landmark, place: str) -> None:
    """The file, its folder, and its folder with a slash name the same list; what was written is told."""
    done = landmark("convert", f"{sums.parent}{place}", *options(), "--to", "landmark")
    assert (done.exit_code, done.stderr) == (0, "")
    marker = read_marker((sums.parent / "_delivery.json").read_bytes(), name="_delivery.json")
    lines = done.stdout.splitlines()
    assert lines[0] == "CONVERTED: version 2 of orders"
    assert f"  marker     {sums.parent}/_delivery.json" in lines
    assert f"  sha256     {marker.identity}" in lines
    assert "  files      2 files, 35 bytes" in lines
    assert sorted(entry.path for entry in marker.manifest.files) == sorted(FILES)
    assert landmark("verify", sums.parent).exit_code == 0


def test_json(sums: Path, landmark: Landmark) -> None:
    """With ``--json`` stdout is one document, of the same shape as that of ``deliver``."""
    done = landmark(
        "convert", sums, *options(), "--json", "--name", "orders.json", "--producer", "Example Ltd"
    )
    document = json.loads(done.stdout)
    assert (done.exit_code, document["ok"], document["version"]) == (0, True, 2)
    assert document["marker"]["uri"] == f"{sums.parent}/orders.json"
    assert document["manifest"] == {"files": 2, "bytes": 35, "rows": None}
    assert read_marker((sums.parent / "orders.json").read_bytes()).producer == "Example Ltd"
    delivered = landmark("deliver", sums.parent, "--dataset", "x", "--version", 1, "--json",
                         "--interval", "2024-10-01T00:00:00Z/2024-10-02T00:00:00Z")  # fmt: skip
    assert list(json.loads(delivered.stdout)) == list(document)


def test_corrupt(sums: Path, landmark: Landmark) -> None:
    """A delivery that does not hold is a no with each file by its name, and nothing is written."""
    (sums.parent / "part-1.csv").write_text("other\n")
    done = landmark("convert", sums, *options())
    assert (done.exit_code, done.stdout) == (1, "")
    first, *lines = done.stderr.splitlines()
    assert first.startswith(f"landmark convert: {sums}: the foreign delivery does not hold: 1 corrupt")
    assert "  corrupt  part-1.csv" in lines
    document = json.loads(landmark("convert", sums, *options(), "--json").stdout)
    assert (document["ok"], document["error"]["kind"]) == (False, "corrupt")
    assert [problem["place"] for problem in document["problems"]] == ["part-1.csv"]
    assert not (sums.parent / "_delivery.json").exists()


def test_again(sums: Path, landmark: Landmark) -> None:
    """What was converted is converted again only under a higher version."""
    assert landmark("convert", sums, *options()).exit_code == 0
    done = landmark("convert", sums, *options())
    assert (done.exit_code, done.stderr.count("\n")) == (1, 1)
    assert "version 2 lies there: a correction needs a version above it" in done.stderr
    assert landmark("convert", sums, *options(version="3")).exit_code == 0


def test_nothing_there(folder: Path, landmark: Landmark) -> None:
    """Without a foreign marker there is nothing to convert."""
    done = landmark("convert", folder, *options(), "--json")
    assert (done.exit_code, json.loads(done.stdout)["error"]["kind"]) == (1, "absent")


def test_our_own_format_is_none(delivery: Path, landmark: Landmark) -> None:
    """Our own marker is there already: converting it to itself is a no."""
    done = landmark("convert", delivery, "--format", "landmark")
    assert (done.exit_code, done.stdout) == (1, "")
    assert "version 2 lies there" in done.stderr


def test_unreachable(folder: Path, landmark: Landmark) -> None:
    """A place that cannot be looked into leaves the answer open."""
    assert landmark("convert", folder / "notes.txt" / "SHA256SUMS", *options()).exit_code == 3


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        ([], "--format"),
        (["--format", "sum"], "no format 'sum' (known: bagit, "),
        (["--format", "sums"], "declare dataset and interval and version and complete too"),
        (options(algorithm="sha-256"), "algorithm must be one of"),
        (options(version="0"), "version"),
        (options(interval="{day}"), "{day} is not a group of path or line"),
        ([*options(), "--declare", "dataset=orders"], "'dataset' is given twice"),
        ([*options(), "--declare", "version"], "'version' is not of the form KEY=TEXT"),
        ([*options(), "--to", "sums"], "--to"),
        ([*options(), "--name", "a/b.json"], "--name"),
        ([*options(), "--option", "region=eu-west-3"], "--"),
    ],
)
def test_wrong_usage(sums: Path, landmark: Landmark, arguments: list[str], word: str) -> None:
    """Wrong usage ends with 2, in one line, and writes nothing."""
    done = landmark("convert", sums, *arguments)
    assert (done.exit_code, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert word in done.stderr
    assert not (sums.parent / "_delivery.json").exists()


def test_progress_on_stderr(sums: Path, landmark: Landmark, monkeypatch: pytest.MonkeyPatch) -> None:
    """Long work tells how far it is, on stderr."""
    monkeypatch.setattr(_progress, "_LINE_EVERY_SECONDS", 0.0)
    done = landmark("convert", sums, *options(), "--json")
    assert done.stderr.splitlines()[-1] == "Hashing: 2 of 2 files, 35 of 35 bytes"
    assert json.loads(done.stdout)["ok"] is True
