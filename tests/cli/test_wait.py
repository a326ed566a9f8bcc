"""``landmark wait``: the wait of the sensor, without Airflow."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from click.testing import Result

from airflow_landmark.deliveries import Delivery

Landmark = Callable[..., Result]


def test_document(delivery: Path, landmark: Landmark, wanted: list[str]) -> None:
    """What lies there already is taken, and stdout is the document that downstream tasks open."""
    done = landmark("wait", delivery, *wanted, "--level", "rows")
    assert done.exit_code == 0
    taken = Delivery.from_xcom(json.loads(done.stdout))
    assert (taken.dataset, taken.version, taken.level) == ("orders", 2, "rows")
    with taken.open("notes.txt") as file:
        assert file.read() == b"hello\n"
    assert landmark("wait", delivery, *wanted, "--level", "rows", "--json").stdout == done.stdout


def test_tells_on_stderr(delivery: Path, landmark: Landmark, wanted: list[str]) -> None:
    """What is seen goes to stderr, each line with its instant."""
    lines = landmark("wait", delivery, *wanted).stderr.splitlines()
    assert [line.split(" ", 1)[1] for line in lines] == [
        f"waiting at {delivery}/_delivery.json for orders, 2024-10-01T00:00:00Z/2024-10-02T00:00:00Z",
        f"{delivery}/_delivery.json: arrived: version 2",
        "accepted version 2, verified: digests",
    ]


def test_arrives(
    folder: Path, landmark: Landmark, wanted: list[str], landmark_program: Sequence[str]
) -> None:
    """A delivery that is announced during the wait is taken."""
    program = [*landmark_program, "wait", str(folder), *wanted, "--poll", "0.1", "--timeout", "60"]
    with subprocess.Popen(program, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as waiting:
        assert waiting.stderr is not None
        while "no such file" not in waiting.stderr.readline():
            pass
        landmark("deliver", folder, *wanted, "--version", 1)
        answer, _ = waiting.communicate(timeout=60)
    assert (waiting.returncode, json.loads(answer)["version"]) == (0, 1)


def test_not_in_time(folder: Path, landmark: Landmark, wanted: list[str]) -> None:
    """A delivery that does not come in time is a no, and says what was seen last."""
    done = landmark("wait", folder, *wanted, "--poll", 0.1, "--timeout", 0.3)
    assert (done.exit_code, done.stdout) == (1, "")
    assert done.stderr.endswith(
        f"landmark wait: not in time; last seen: {folder}/_delivery.json: no such file\n"
    )
    done = landmark("wait", folder, *wanted, "--poll", 0.1, "--timeout", 0, "--json")
    assert json.loads(done.stdout)["error"]["kind"] == "not in time"


def test_trouble_to_the_end(folder: Path, landmark: Landmark, wanted: list[str]) -> None:
    """A store that could not be read at the end leaves the answer open."""
    place = folder / "notes.txt" / "_delivery.json"
    assert landmark("wait", place, *wanted, "--poll", 0.1, "--timeout", 0).exit_code == 3
    assert landmark("wait", place, *wanted, "--poll", 0.1).exit_code == 3


def test_mismatch(delivery: Path, landmark: Landmark, wanted: list[str]) -> None:
    """Another dataset is waited out, or ends the wait at once where that is asked for."""
    other = ["--dataset", "refunds", *wanted[2:]]
    done = landmark("wait", delivery, *other, "--on-mismatch", "fail", "--json")
    assert (done.exit_code, json.loads(done.stdout)["error"]["kind"]) == (1, "other dataset")
    done = landmark("wait", delivery, *other, "--timeout", 0, "--json")
    assert (done.exit_code, json.loads(done.stdout)["error"]["kind"]) == (1, "not in time")


def test_corrupt(delivery: Path, landmark: Landmark, wanted: list[str]) -> None:
    """Bad data ends the wait with a no and its problems, without a document."""
    (delivery / "notes.txt").write_text("hullo\n")
    done = landmark("wait", delivery, *wanted)
    assert (done.exit_code, done.stdout) == (1, "")
    assert "  corrupt  notes.txt\n" in done.stderr
    document = json.loads(landmark("wait", delivery, *wanted, "--json").stdout)
    assert (document["ok"], document["error"]["kind"]) == (False, "corrupt")
    assert document["problems"][0]["place"] == "notes.txt"


def test_uncountable_rows(delivery: Path, landmark: Landmark, wanted: list[str]) -> None:
    """Rows that cannot be counted leave the answer open, as with verify."""
    marker = delivery / "_delivery.json"
    marker.write_text(marker.read_text().replace('"header_rows": 1', '"content_encoding": "br"'))
    assert landmark("wait", delivery, *wanted, "--level", "rows").exit_code == 3


def test_incomplete_is_waited_out(delivery: Path, landmark: Landmark, wanted: list[str]) -> None:
    """While a listed file is short the wait goes on."""
    text = (delivery / "part-1.csv").read_bytes()
    os.truncate(delivery / "part-1.csv", 5)
    late = threading.Timer(0.5, (delivery / "part-1.csv").write_bytes, [text])
    late.start()
    done = landmark("wait", delivery, *wanted, "--poll", 0.1, "--timeout", 60)
    late.join()
    assert done.exit_code == 0
    assert "1 of 3 files not complete: part-1.csv" in done.stderr


def test_pattern(delivery: Path, landmark: Landmark, wanted: list[str]) -> None:
    """With a pattern the highest version in the folder is taken."""
    landmark("deliver", delivery, *wanted, "--version", 5, "--name", "five.json", "--rows", "none")
    done = landmark("wait", delivery, *wanted, "--pattern", "*.json", "--timeout", 0)
    assert (done.exit_code, json.loads(done.stdout)["version"]) == (0, 5)


def test_folder_to_come(tmp_path: Path, landmark: Landmark, wanted: list[str]) -> None:
    """A name that may be a folder's must say so while it does not exist: the wait would miss its marker."""
    done = landmark("wait", tmp_path / "tomorrow", *wanted, "--timeout", 0)
    assert (done.exit_code, done.stderr.count("\n")) == (2, 1)
    assert "slash" in done.stderr
    done = landmark("wait", f"{tmp_path}/tomorrow/", *wanted, "--timeout", 0)
    assert done.exit_code == 1
    assert f"{tmp_path}/tomorrow/_delivery.json: the folder does not exist" in done.stderr
    done = landmark("wait", tmp_path / "tomorrow", *wanted, "--timeout", 0, "--pattern", "*.json")
    assert done.exit_code == 1


@pytest.mark.parametrize(
    ("options", "word"),
    [
        (["--timeout", "-1"], "--timeout"),
        (["--timeout", "nan"], "--timeout"),
        (["--timeout", "inf"], "--timeout"),
        (["--timeout", "10m"], "--timeout"),
        (["--poll", "0"], "--poll"),
        (["--pattern", "a/*"], "--pattern"),
        (["--min-version", "0"], "--min-version"),
    ],
)
def test_wrong_usage(
    folder: Path, landmark: Landmark, wanted: list[str], options: list[str], word: str
) -> None:
    """Wrong usage ends with 2 before any look."""
    done = landmark("wait", folder, *wanted, *options)
    assert (done.exit_code, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert word in done.stderr


def test_interrupted(folder: Path, wanted: list[str], landmark_program: Sequence[str]) -> None:
    """Ctrl-C ends the wait at once with 130 and one line."""
    program = [*landmark_program, "wait", str(folder), *wanted]
    with subprocess.Popen(program, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as waiting:
        assert waiting.stderr is not None
        while "no such file" not in waiting.stderr.readline():
            pass
        began = time.monotonic()
        waiting.send_signal(signal.SIGINT)
        answer, told = waiting.communicate(timeout=60)
    assert (waiting.returncode, answer, told) == (130, "", "landmark wait: interrupted\n")
    assert time.monotonic() - began < 5
