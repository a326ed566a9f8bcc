"""``--format`` and ``--declare`` with ``verify`` and ``wait``: other markers, the same answers."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from airflow_landmark.deliveries import Delivery

Landmark = Callable[..., Result]
DAY = {"dataset": "orders", "timezone": "UTC", "version": "2"}
SUCCESS = {**DAY, "path": r"/dt=(?P<day>[0-9-]{10})/", "interval": "{day}"}
SUMS = {**DAY, "interval": "2024-10-01", "complete": "rename"}
CONTROL = {**DAY, "interval": "2024-10-01", "grammar": "key=value", "field.file": "FILE"}


def options(name: str, declared: dict[str, str]) -> list[str]:
    """The options that read this format."""
    return ["--format", name, *(f"--declare={key}={text}" for key, text in declared.items())]


@pytest.fixture
def partition(tmp_path: Path) -> Path:
    """Return the folder of a day with a file and a sentinel."""
    folder = tmp_path / "dt=2024-10-01"
    folder.mkdir()
    (folder / "part-0.csv").write_text("id\n1\n")
    (folder / "_SUCCESS").touch()
    return folder


@pytest.mark.parametrize("place", ["", "/", "/_SUCCESS"])
def test_verify(partition: Path, landmark: Landmark, place: str, wanted: list[str]) -> None:
    """A folder stands for the usual name of the format; the answer has the shape that it always has."""
    arguments = [f"{partition}{place}", *wanted, *options("sentinel", SUCCESS), "--level", "files"]
    done = landmark("verify", *arguments)
    assert (done.exit_code, done.stderr) == (0, "")
    assert done.stdout.startswith("HOLDS: version 2: no problems among 1 file\n")
    document = json.loads(landmark("verify", *arguments, "--json").stdout)
    assert document["marker"]["uri"] == f"{partition}/_SUCCESS"
    assert document["manifest"] == {"files": 1, "bytes": 5, "rows": None}


def test_json_has_the_same_shape(partition: Path, delivery: Path, landmark: Landmark) -> None:
    """A program that reads the answer on our markers reads the answer on others."""
    ours = json.loads(landmark("verify", delivery, "--json").stdout)
    other = json.loads(landmark("verify", partition, *options("sentinel", SUCCESS), "--json").stdout)
    assert other.keys() == ours.keys()
    assert other["marker"].keys() == ours["marker"].keys()
    assert other["notes"] == ["part-0.csv: no digest is promised"]


def _kinds(document: dict[str, Any]) -> list[tuple[str, str]]:
    return [(problem["kind"], problem["place"]) for problem in document["problems"]]


def _sums(folder: Path, data: bytes = b"id\n1\n") -> Path:
    (folder / "SHA256SUMS").write_text(f"{hashlib.sha256(data).hexdigest()}  part-0.csv\n")
    return folder / "SHA256SUMS"


@pytest.mark.parametrize(
    ("change", "status", "verdict"),
    [
        ("", 0, "holds"),
        ("other bytes", 1, "does not hold"),
        ("no list", 1, "absent"),
        ("half a list", 1, "unreadable"),
        ("another day", 1, "other interval"),
        ("an older one", 1, "older version"),
        ("a folder", 1, "refused"),
        ("out of reach", 3, "trouble"),
    ],
)
def test_exit_status(
    partition: Path, landmark: Landmark, wanted: list[str], change: str, status: int, verdict: str
) -> None:
    """Verdicts and exit status are those of our own markers."""
    place = _sums(partition, b"other" if change == "other bytes" else b"id\n1\n")
    if change == "half a list":
        place.write_text(place.read_text()[:30])
    if change in ("no list", "a folder"):
        place.unlink()
    if change == "a folder":
        place.mkdir()
    if change == "out of reach":
        place = partition / "part-0.csv" / "SHA256SUMS"
    declared = {**SUMS, "algorithm": "sha256"}
    declared |= {"interval": "2024-10-02"} if change == "another day" else {}
    least = ["--min-version", "3"] if change == "an older one" else []
    # A path that names a folder stands for the list in it: here the folder's own folder is named.
    where = f"{partition}/" if change == "a folder" else place
    done = landmark("verify", where, *wanted, *least, *options("sums", declared), "--json")
    document = json.loads(done.stdout)
    assert (done.exit_code, document["verdict"]) == (status, verdict)
    assert document["ok"] is (status == 0)


def test_problems_name_their_lines(partition: Path, landmark: Landmark) -> None:
    """All problems of a list are told at once, by line."""
    (partition / "SHA256SUMS").write_text("# sums\nx  a\n" + "0" * 64 + "  ../b\n")
    declared = {**SUMS, "algorithm": "sha256"}
    done = landmark("verify", partition, *options("sums", declared), "--json")
    document = json.loads(done.stdout)
    assert _kinds(document) == [("invalid digest", "line 2"), ("invalid path", "line 3")]


def test_damage_checks_are_told(partition: Path, landmark: Landmark) -> None:
    """A digest that proves no content is accepted and told as what it is."""
    md5 = hashlib.md5(b"id\n1\n", usedforsecurity=False).hexdigest()
    (partition / "MD5SUMS").write_text(f"{md5}  part-0.csv\n")
    done = landmark("verify", partition / "MD5SUMS", *options("sums", {**SUMS, "algorithm": "md5"}))
    assert done.exit_code == 0
    assert "  note: part-0.csv: md5 shows damage only, it proves no content" in done.stdout.splitlines()


def test_wait(partition: Path, landmark: Landmark, wanted: list[str]) -> None:
    """The document of a wait tells the format, for whoever loads its files again."""
    done = landmark("wait", partition, *wanted, *options("sentinel", SUCCESS), "--timeout", 0)
    assert done.exit_code == 0
    document = json.loads(done.stdout)
    assert document["format"] == {"name": "sentinel", "declared": SUCCESS}
    taken = Delivery.from_xcom({**document, "files": None})
    assert [file.path for file in taken.files()] == ["part-0.csv"]


def test_wait_for_another_day(partition: Path, landmark: Landmark, wanted: list[str]) -> None:
    """A partition whose path tells another day is waited out, or ends the wait where that is asked for."""
    other = partition.rename(partition.with_name("dt=2024-10-02"))
    arguments = [other, *wanted, *options("sentinel", SUCCESS), "--timeout", 0, "--json"]
    done = landmark("wait", *arguments)
    assert (done.exit_code, json.loads(done.stdout)["error"]["kind"]) == (1, "not in time")
    done = landmark("wait", *arguments, "--on-mismatch", "fail")
    assert (done.exit_code, json.loads(done.stdout)["error"]["kind"]) == (1, "other interval")


def test_wait_by_pattern(partition: Path, landmark: Landmark, wanted: list[str]) -> None:
    """A pattern finds control files, the highest version wins, and a format without a usual name is fine."""
    for version in (2, 10, 9):
        (partition / f"v{version}.ctl").write_text("FILE=part-0.csv\n")
    declared = {**CONTROL, "path": r"/v(?P<version>\d+)\.ctl$", "version": "{version}"}
    done = landmark(
        "wait", partition, *wanted, "--pattern", "*.ctl", *options("control", declared), "--timeout", 0
    )
    assert (done.exit_code, json.loads(done.stdout)["version"]) == (0, 10)


@pytest.mark.parametrize("command", ["verify", "wait"])
@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (["--declare", "version=1"], "--declare is for foreign formats"),
        (["--format", "_success"], "no format '_success' (known: bagit, "),
        (["--format", "sentinel"], "declare dataset and interval and version too"),
        (options("sentinel", {**SUCCESS, "interval": "{date}"}), "{date} is not a group of path or line"),
        (options("sentinel", {**SUCCESS, "path": "("}), "path is not a regular expression"),
        (options("sentinel", {**SUCCESS, "colour": "red"}), "'colour' is not known (known: "),
        (options("sums", {**SUMS, "complete": "maybe"}), "complete must be one of rename, sidecar"),
        (options("control", CONTROL), "format control has no usual file name"),
        (options("landmark", SUCCESS), "'dataset': this format needs no declaration"),
        ([*options("sentinel", SUCCESS), "--declare", "=x"], "'' is not known"),
        ([*options("sentinel", SUCCESS), "--declare", "files="], "files must be text"),
        ([*options("sentinel", SUCCESS), "--declare", "version=3"], "'version' is given twice"),
    ],
)
def test_wrong_usage(
    partition: Path, landmark: Landmark, wanted: list[str], command: str, arguments: list[str], word: str
) -> None:
    """Wrong usage ends with 2 in one line before any look, and says what would be right."""
    done = landmark(command, partition, *wanted, *arguments)
    assert (done.exit_code, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert word in done.stderr
    document = json.loads(landmark(command, partition, *wanted, *arguments, "--json").stdout)
    assert (document["ok"], document["error"]["kind"]) == (False, "usage")


def test_an_example_is_given(partition: Path, landmark: Landmark) -> None:
    """What is missing is told with a declaration that would be right."""
    done = landmark("verify", partition, "--format", "sentinel")
    assert r'"path": r"/dt=(?P<day>[0-9-]+)/_SUCCESS$", "dataset": "orders"' in done.stderr
