"""Markers and names that were made to do harm: they are refused, and shown harmlessly."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from click.testing import Result

from airflow_landmark.cli._print import safe

Landmark = Callable[..., Result]
ESCAPES = "\x1b[2J\x1b]0;title\x07\u202eevil\u2066\x9b31m\r\n"
SHA = "0" * 64
HOSTILE = {
    "dataset": lambda text: {"dataset": text},
    "producer": lambda text: {"producer": text},
    "key": lambda text: {text: 1},
    "label": lambda text: {"interval": {"start": "x", "end": "y", "label": text}},
    "path": lambda text: {"files": [{"path": text, "size": 1, "digests": {"sha256": SHA}}]},
    "algorithm": lambda text: {"files": [{"path": "a", "size": 1, "digests": {text: SHA}}]},
    "digest": lambda text: {"files": [{"path": "a", "size": 1, "digests": {"sha256": text}}]},
    "status": lambda text: {"status": text},
}
RAW = {
    "30-digit number": '{"spec": "landmark/1", "version": 123456789012345678901234567890}',
    "a million digits": '{"version": ' + "9" * 1_000_000 + "}",
    "NaN": '{"spec": "landmark/1", "version": NaN}',
    "infinity": '{"spec": "landmark/1", "version": -Infinity}',
    "repeated key": '{"spec": "landmark/1", "spec": "landmark/1"}',
    "deep": "[" * 100_000,
    "surrogate": '{"spec": "\\ud800"}',
    "NUL": '{"spec": "\\u0000"}',
    "cut": '{"spec": "landmark/1", "data',
    "empty": "",
    "control characters": '{"spec": "\x1b[31m"}',
}


def _is_plain(text: str) -> bool:
    return all(character.isprintable() or character == "\n" for character in text)


@pytest.mark.parametrize("where", HOSTILE)
def test_texts(tmp_path: Path, landmark: Landmark, write_marker: Callable[..., None], where: str) -> None:
    """No control character, ANSI sequence or bidirectional override of a marker reaches the terminal."""
    write_marker(tmp_path, **HOSTILE[where](ESCAPES))
    for options in ([], ["--json"]):
        done = landmark("verify", tmp_path, *options)
        assert done.exit_code == 1
        assert _is_plain(done.output)


@pytest.mark.parametrize("what", RAW)
def test_documents(tmp_path: Path, landmark: Landmark, what: str) -> None:
    """Documents that break JSON readers are not valid markers, without a traceback."""
    (tmp_path / "_delivery.json").write_text(RAW[what])
    done = landmark("verify", tmp_path, "--json")
    document = json.loads(done.stdout)
    assert (done.exit_code, document["verdict"]) == (1, "unreadable")
    assert document["problems_total"] >= 1
    assert document["marker"]["size"] == len(RAW[what])
    assert _is_plain(done.output)
    assert _is_plain(landmark("verify", tmp_path).output)


@pytest.mark.parametrize("path", ["../outside.csv", "/etc/passwd", "a/../../b", "C:\\x", "_delivery.json"])
def test_paths(tmp_path: Path, landmark: Landmark, write_marker: Callable[..., None], path: str) -> None:
    """A path that leaves the folder makes the marker invalid: no file is looked at."""
    write_marker(tmp_path, files=[{"path": path, "size": 1, "digests": {"sha256": SHA}}])
    document = json.loads(landmark("verify", tmp_path, "--json").stdout)
    assert document["verdict"] == "unreadable"
    assert document["problems"][0]["place"] == "files[0].path"


def test_link_out_of_the_folder(
    tmp_path: Path, landmark: Landmark, write_marker: Callable[..., None]
) -> None:
    """A file that is a link out of the folder is refused and not read."""
    write_marker(tmp_path / "d", files=[{"path": "a", "size": 1, "digests": {"sha256": SHA}}])
    (tmp_path / "d" / "a").symlink_to("/etc/passwd")
    document = json.loads(landmark("verify", tmp_path / "d", "--json").stdout)
    assert [problem["kind"] for problem in document["problems"]] == ["refused"]


def test_bidirectional_path(tmp_path: Path, landmark: Landmark, write_marker: Callable[..., None]) -> None:
    """A path that would be shown in another order is shown escaped."""
    path = "bill\u202efdp.exe"
    write_marker(tmp_path, files=[{"path": path, "size": 1, "digests": {"sha256": SHA}}])
    assert "  missing  bill\\u202efdp.exe\n" in landmark("verify", tmp_path).stdout
    assert json.loads(landmark("verify", tmp_path, "--json").stdout)["problems"][0]["place"] == path


def test_unexpected_names(delivery: Path, landmark: Landmark) -> None:
    """Names in the folder are shown escaped too."""
    (delivery / "\x1b[31mred\n").touch()
    for policy in ("warn", "fail"):
        done = landmark("verify", delivery, "--unexpected", policy)
        assert "\\x1b[31mred\\n" in done.stdout
        assert _is_plain(done.output)


def test_wait_is_plain(
    tmp_path: Path, landmark: Landmark, write_marker: Callable[..., None], wanted: list[str]
) -> None:
    """What a wait tells is escaped as well."""
    write_marker(tmp_path, producer=ESCAPES, **{ESCAPES: ESCAPES})
    done = landmark("wait", tmp_path, *wanted, "--timeout", 0, "--json")
    assert done.exit_code == 1
    assert _is_plain(done.output)


def test_ascii_terminal(
    tmp_path: Path, landmark_program: Sequence[str], write_marker: Callable[..., None]
) -> None:
    """A terminal that knows ASCII only is shown escapes, and the command goes on."""
    write_marker(tmp_path, files=[{"path": "münchen.csv", "size": 1, "digests": {"sha256": SHA}}])
    done = subprocess.run(
        ["env", "PYTHONIOENCODING=ascii:strict", *landmark_program, "verify", tmp_path],
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 1
    assert b"  missing  m\\xfcnchen.csv\n" in done.stdout


def test_safe() -> None:
    """Printable text stays as it is, letters of any script included."""
    assert safe("Zürich 東京 a-b_c ~") == "Zürich 東京 a-b_c ~"
    assert safe("a\tb\x7f\u200f\ud800") == "a\\tb\\x7f\\u200f\\ud800"
