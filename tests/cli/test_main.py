"""What all commands share: help, version, defects, closed outputs, colours."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from click.testing import Result

from airflow_landmark.cli._exits import Exit
from airflow_landmark.markers import marker_schema

Landmark = Callable[..., Result]
DELIVER_AT_A_TERMINAL = """
import sys
from airflow_landmark.cli import _progress, main
_progress._BAR_AFTER_SECONDS = 0.0
main(sys.argv[1:], prog_name="landmark")
"""


def test_help_has_the_exit_statuses(landmark: Landmark) -> None:
    """The group's help shows what every exit status means."""
    text = landmark("--help").stdout
    statuses = [line.split()[0] for line in text.split("Exit status")[1].splitlines()[1:] if line.strip()]
    assert statuses == [str(status.value) for status in Exit]


@pytest.mark.parametrize("command", ["deliver", "verify", "wait", "schema"])
def test_every_command_has_help(landmark: Landmark, command: str) -> None:
    """Every command explains itself within 80 columns."""
    done = landmark(command, "--help")
    assert done.exit_code == 0
    assert max(len(line) for line in done.stdout.splitlines()) <= 80


def test_version(landmark: Landmark) -> None:
    """``--version`` is one line."""
    done = landmark("--version")
    assert (done.exit_code, done.stdout.count("\n")) == (0, 1)
    assert done.stdout.startswith("landmark")


def test_schema(landmark: Landmark) -> None:
    """``schema`` prints the schema of the marker."""
    done = landmark("schema")
    assert (done.exit_code, json.loads(done.stdout)) == (0, marker_schema())


@pytest.mark.parametrize("arguments", [["fly"], ["verify"], ["verify", ".", "--fly"], ["--fly"]])
def test_wrong_usage(landmark: Landmark, arguments: list[str]) -> None:
    """What is not known ends with 2 and says where help is."""
    done = landmark(*arguments)
    assert (done.exit_code, done.stdout) == (2, "")
    assert "help" in done.stderr


@pytest.mark.parametrize("debug", ["", "1"])
def test_defect(landmark: Landmark, monkeypatch: pytest.MonkeyPatch, debug: str) -> None:
    """A defect of our own is one line and a 3; its traceback is shown on request only."""

    def broken(*_arguments: object, **_options: object) -> None:
        raise KeyError("\x1b[31moops")

    monkeypatch.setattr("airflow_landmark.deliveries.check", broken)
    monkeypatch.setenv("LANDMARK_DEBUG", debug)
    done = landmark("verify", ".", "--json")
    document = json.loads(done.stdout)
    assert (done.exit_code, document["error"]["kind"]) == (3, "defect")
    assert ("Traceback" in done.stderr) is bool(debug)
    assert (done.stderr.count("\n") == 1) is not bool(debug)
    assert "\x1b" not in done.output


def test_closed_pipe(landmark_program: Sequence[str]) -> None:
    """A reader that goes away early is no reason to complain."""
    command = f"{' '.join(landmark_program)} schema | head -n 1; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", command], capture_output=True, timeout=60, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"{\n", b"")


def test_closed_stdout(landmark_program: Sequence[str]) -> None:
    """Without a stdout the exit status is still the answer."""
    command = f"{' '.join(landmark_program)} schema >&-"
    done = subprocess.run(["bash", "-c", command], capture_output=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")  # noqa: PTH110
def test_full_disk(landmark_program: Sequence[str]) -> None:
    """An answer that could not be written is not a yes."""
    command = f"{' '.join(landmark_program)} schema > /dev/full"
    done = subprocess.run(["bash", "-c", command], capture_output=True, timeout=60, check=False, text=True)
    assert (done.returncode, done.stderr.count("\n")) == (3, 1)
    assert "No space left on device" in done.stderr


def _at_a_terminal(program: Sequence[object], **environment: str) -> tuple[str, str]:
    """Return stdout, a pipe, and what a terminal at stderr was sent."""
    ours, theirs = pty.openpty()
    env = {**os.environ, "TERM": "xterm-256color", **environment}
    with subprocess.Popen(
        [str(word) for word in program], stdout=subprocess.PIPE, stderr=theirs, env=env, text=True
    ) as running:
        os.close(theirs)
        shown = b""
        while True:
            try:
                chunk = os.read(ours, 4096)
            except OSError:  # how Linux tells that the other end is closed
                break
            if not chunk:
                break
            shown += chunk
        os.close(ours)
        answer, _ = running.communicate(timeout=60)
    return answer, shown.decode()


def test_bar_at_a_terminal(folder: Path, wanted: list[str]) -> None:
    """A terminal at stderr is shown a bar; the answer on stdout stays plain."""
    program = [sys.executable, "-c", DELIVER_AT_A_TERMINAL, "deliver", folder, *wanted, "--version", 1]
    answer, shown = _at_a_terminal([*program, "--json"])
    assert json.loads(answer)["ok"] is True
    assert "Hashing" in shown
    assert "3/3 files" in shown


def test_dumb_terminal(folder: Path, wanted: list[str]) -> None:
    """A terminal that can only print gets no bar."""
    program = [sys.executable, "-c", DELIVER_AT_A_TERMINAL, "deliver", folder, *wanted, "--version", 1]
    answer, shown = _at_a_terminal(program, TERM="dumb")
    assert answer.startswith("ANNOUNCED: ")
    assert shown == ""


def test_help_is_light() -> None:
    """``--help`` imports neither the bars nor what the commands do."""
    code = (
        "import sys\nfrom airflow_landmark.cli import main\n"
        "main(['--help'], standalone_mode=False)\n"
        "print([n for n in sys.modules if n in ('rich', 'anyio', 'airflow_landmark.deliveries')])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout.splitlines()[-1] == "[]"
