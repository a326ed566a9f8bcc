"""``landmark verify``: good, corrupt, incomplete, missing, not the expected one, not to be told."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from airflow_landmark.cli import _progress, _verify

Landmark = Callable[..., Result]
SHAPE = {
    "ok", "verdict", "text", "uri", "dataset", "interval", "version", "level", "marker", "manifest",
    "problems", "problems_total", "warnings", "warnings_total", "notes", "digests", "rows_counted",
}  # fmt: skip


def _json(done: Result) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(done.stdout)
    assert set(document) - {"error"} == SHAPE
    assert document["ok"] is (done.exit_code == 0)
    assert ("error" in document) is (done.exit_code != 0)
    return document


def _kinds(document: dict[str, Any]) -> dict[str, str]:
    return {problem["place"]: problem["kind"] for problem in document["problems"]}


def _damage(delivery: Path) -> None:
    (delivery / "part-1.csv").write_text("id,amount\n1,10\n2,21\n")
    os.truncate(delivery / "more" / "part-2.csv", 3)
    (delivery / "notes.txt").unlink()
    (delivery / "extra.txt").touch()


@pytest.mark.parametrize("level", ["marker", "files", "digests", "rows"])
def test_good(delivery: Path, landmark: Landmark, wanted: list[str], level: str) -> None:
    """A delivery as it was announced holds at every level."""
    document = _json(landmark("verify", delivery, *wanted, "--level", level, "--json"))
    assert document["verdict"] == "holds"
    assert (document["problems"], document["problems_total"]) == ([], 0)
    assert document["marker"]["uri"] == f"{delivery}/_delivery.json"
    assert document["marker"].keys() == {"uri", "sha256", "size", "pin"}
    assert document["manifest"] == {"files": 3, "bytes": 41, "rows": None}
    assert document["digests"] == ({"sha256": 3} if level in ("digests", "rows") else {})
    assert document["rows_counted"] == (2 if level == "rows" else 0)


def test_good_for_people(delivery: Path, landmark: Landmark) -> None:
    """The first line is the verdict, and what was proven is said."""
    done = landmark("verify", delivery / "_delivery.json", "--level", "rows")
    assert (done.exit_code, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert lines[0] == "HOLDS: version 2: no problems among 3 files"
    assert lines[-1] == "  proven     presence and size of 3 files, sha256 of 3 files, rows of 2 files"


def test_all_problems_at_once(delivery: Path, landmark: Landmark) -> None:
    """Missing, incomplete, corrupt and unexpected files are told apart in one report."""
    _damage(delivery)
    done = landmark("verify", delivery, "--unexpected", "fail", "--json")
    document = _json(done)
    assert (done.exit_code, document["verdict"], document["problems_total"]) == (1, "does not hold", 4)
    assert _kinds(document) == {
        "part-1.csv": "corrupt",
        "more/part-2.csv": "incomplete",
        "notes.txt": "missing",
        "extra.txt": "unexpected",
    }
    assert all(problem["expected"] and problem["found"] for problem in document["problems"])


def test_problems_for_people(delivery: Path, landmark: Landmark) -> None:
    """Each problem has its kind and file in one line, expected and found below; no line is too wide."""
    _damage(delivery)
    done = landmark("verify", delivery, "--unexpected", "fail")
    first, *lines = done.stdout.splitlines()
    assert first == "DOES NOT HOLD: version 2: 1 corrupt, 1 incomplete, 1 missing, 1 unexpected among 3 files"
    assert "  missing     notes.txt" in lines
    assert "              expected 6 bytes, found nothing" in lines
    assert "  corrupt     part-1.csv" in lines
    assert "\x1b" not in done.stdout
    assert max(len(line) for line in lines if str(delivery) not in line) <= 80


def test_unexpected_is_told(delivery: Path, landmark: Landmark) -> None:
    """With ``--unexpected warn`` a file that is not listed is named and does no harm."""
    (delivery / "extra.txt").touch()
    assert "extra.txt" not in landmark("verify", delivery).stdout
    done = landmark("verify", delivery, "--unexpected", "warn")
    assert done.exit_code == 0
    assert "  unexpected file: extra.txt" in done.stdout


def test_wrong_rows(folder: Path, landmark: Landmark, wanted: list[str]) -> None:
    """A wrong number of rows shows at level rows only."""
    landmark("deliver", folder, *wanted, "--version", 1, "--rows", "auto", "--header-rows", 1)
    marker = folder / "_delivery.json"
    marker.write_text(marker.read_text().replace('"rows": 2', '"rows": 7').replace('"rows": 3', '"rows": 8'))
    assert landmark("verify", folder).exit_code == 0
    done = landmark("verify", folder, "--level", "rows", "--json")
    assert done.exit_code == 1
    assert _json(done)["problems"] == [
        {"kind": "rows", "place": "part-1.csv", "expected": "7 rows", "found": "2 rows"}
    ]


def test_uncountable_rows(delivery: Path, landmark: Landmark) -> None:
    """Rows that are promised and cannot be counted leave the answer open."""
    marker = delivery / "_delivery.json"
    marker.write_text(marker.read_text().replace('"header_rows": 1', '"content_encoding": "br"'))
    done = landmark("verify", delivery, "--level", "rows", "--json")
    document = _json(done)
    assert (done.exit_code, document["verdict"]) == (3, "undecided")
    assert set(_kinds(document).values()) == {"not counted"}
    assert landmark("verify", delivery, "--level", "rows").stdout.startswith("COULD NOT TELL: ")


@pytest.mark.parametrize("place", ["", "_delivery.json", "none", "none/"])
def test_no_marker(folder: Path, landmark: Landmark, place: str) -> None:
    """A marker that is not there is a no, whatever else is there."""
    done = landmark("verify", f"{folder}/{place}", "--json")
    assert (done.exit_code, _json(done)["verdict"]) == (1, "absent")
    assert landmark("verify", f"{folder}/{place}").stdout.startswith("NOT THERE: ")


@pytest.mark.parametrize(
    ("options", "verdict", "field"),
    [
        (["--dataset", "refunds"], "other dataset", "dataset"),
        (["--interval", "2024-10-02T00:00:00Z/2024-10-03T00:00:00Z"], "other interval", "interval"),
        (["--interval", "2024-10-01", "--timezone", "Europe/Berlin"], "other interval", "interval"),
        (["--min-version", "3"], "older version", "version"),
    ],
)
def test_not_the_expected_one(
    delivery: Path, landmark: Landmark, options: list[str], verdict: str, field: str
) -> None:
    """A valid marker that is not the expected one is a no that names the field."""
    done = landmark("verify", delivery, *options, "--json")
    document = _json(done)
    assert (done.exit_code, document["verdict"]) == (1, verdict)
    assert _kinds(document) == {field: verdict}
    assert document["version"] == 2
    assert landmark("verify", delivery, *options).stdout.startswith(f"DOES NOT HOLD: {verdict}\n")


def test_withdrawn(delivery: Path, landmark: Landmark, wanted: list[str]) -> None:
    """A recall is no delivery to be taken."""
    landmark("deliver", delivery, *wanted, "--version", 3, "--withdraw")
    done = landmark("verify", delivery, "--json")
    assert (done.exit_code, _json(done)["verdict"]) == (1, "withdrawn")


def test_marker_is_a_link(delivery: Path, landmark: Landmark) -> None:
    """A marker that is a symbolic link is refused by every reader."""
    (delivery / "_delivery.json").rename(delivery.parent / "elsewhere.json")
    (delivery / "_delivery.json").symlink_to(delivery.parent / "elsewhere.json")
    done = landmark("verify", delivery, "--json")
    assert (done.exit_code, _json(done)["verdict"]) == (1, "refused")


def test_trouble(delivery: Path, landmark: Landmark) -> None:
    """A store that cannot be read leaves the answer open."""
    done = landmark("verify", delivery / "notes.txt" / "_delivery.json", "--json")
    assert (done.exit_code, _json(done)["verdict"]) == (3, "trouble")


@pytest.mark.parametrize("name", ["_delivery.json", "part-1.csv"])
def test_changed_meanwhile(
    delivery: Path,
    landmark: Landmark,
    name: str,
    meddle: Callable[..., None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What changes while it is verified proves nothing."""
    monkeypatch.setattr("airflow_landmark.deliveries._parallel._AT_ONCE", 1)  # part-1.csv comes last
    meddle(_verify, lambda: (delivery / name).write_bytes((delivery / name).read_bytes() + b" "))
    done = landmark("verify", delivery, "--json")
    assert (done.exit_code, _json(done)["verdict"]) == (3, "changed")


def test_dots_and_folder(delivery: Path, landmark: Landmark, monkeypatch: pytest.MonkeyPatch) -> None:
    """A relative path, a folder with or without a slash, and a file URI name the same marker."""
    monkeypatch.chdir(delivery / "more")
    for place in ("..", "../", "../_delivery.json", "../more/..", f"file://{delivery}", f"{delivery}/./"):
        assert _json(landmark("verify", place, "--json"))["uri"] == f"{delivery}/_delivery.json"


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (["s4://bucket/key"], "no store for s4:"),
        (["a\x1bb"], "control characters"),
        ([""], "URI"),
        ([".", "--timezone", "Europe/Berlin"], "--interval"),
        ([".", "--level", "everything"], "--level"),
        ([".", "--dataset", ""], "--dataset"),
        (["."] * 2, "unexpected extra argument"),
    ],
)
def test_wrong_usage(landmark: Landmark, arguments: list[str], word: str) -> None:
    """Wrong usage ends with 2, in one line, and as JSON where JSON was asked for."""
    done = landmark("verify", *arguments)
    assert (done.exit_code, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert word in done.stderr
    document = json.loads(landmark("verify", *arguments, "--json").stdout)
    assert (document["ok"], document["error"]["kind"]) == (False, "usage")


def test_progress_on_stderr(delivery: Path, landmark: Landmark, monkeypatch: pytest.MonkeyPatch) -> None:
    """Progress goes to stderr only."""
    monkeypatch.setattr(_progress, "_LINE_EVERY_SECONDS", 0.0)
    done = landmark("verify", delivery, "--json")
    assert done.stderr.splitlines()[-1] == "Verifying: 3 of 3 files, 41 of 41 bytes"
    assert _json(done)["ok"] is True


def test_many_problems(tmp_path: Path, landmark: Landmark, write_marker: Callable[..., None]) -> None:
    """Beyond 50, problems are counted only."""
    digests = {"sha256": "0" * 64}
    write_marker(tmp_path, files=[{"path": f"{n}.csv", "size": n, "digests": digests} for n in range(1000)])
    document = _json(landmark("verify", tmp_path, "--json"))
    assert (len(document["problems"]), document["problems_total"]) == (50, 1000)
    assert "  and 950 more\n" in landmark("verify", tmp_path).stdout
