"""Real child processes, and how they end."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from airflow_landmark.testing import ComponentFailed, NotInTime, wait_until
from airflow_landmark.testing._processes import Processes, run_command

PYTHON = sys.executable
# a process with a child in a session of its own, as the executor's tasks have them
FAMILY = """
import subprocess, time
subprocess.Popen(["sleep", "300"], start_new_session=True)
time.sleep(300)
"""
OWNER = f"""
import os, time
from pathlib import Path
from airflow_landmark.testing._processes import Processes
processes = Processes(folder=Path.cwd())
processes.start(name="family", command=[{PYTHON!r}, "-c", {FAMILY!r}], environment=os.environ)
while len(processes.tree(name="family")) < 2:
    time.sleep(0.05)
print(*[process.pid for process in processes.tree(name="family")], flush=True)
time.sleep(300)
"""


@pytest.fixture
def processes(tmp_path: Path) -> Iterator[Processes]:
    """Return a set of processes that is closed after the test."""
    made = Processes(folder=tmp_path)
    yield made
    made.close()


def start_family(processes: Processes) -> list[psutil.Process]:
    """Start a process with a child, and return both."""
    processes.start(name="family", command=[PYTHON, "-c", FAMILY], environment=os.environ)
    return wait_until(check=lambda: _pair(processes), what="the child", seconds=10)


def _pair(processes: Processes) -> list[psutil.Process]:
    found = processes.tree(name="family")
    return found if len(found) == 2 else []


def gone(process: psutil.Process) -> bool:
    """Tell whether a process has ended, whether or not somebody has asked for its exit code."""
    try:
        return process.status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def wait_gone(family: list[psutil.Process]) -> None:
    """Wait until all have ended."""
    wait_until(check=lambda: all(gone(process) for process in family), what="all ended", seconds=10)


@pytest.mark.parametrize("grace", [0, 5])
def test_end_reaches_descendants(processes: Processes, grace: float) -> None:
    """Ending a component ends its descendants in other sessions too, whether it obeys or is killed."""
    family = start_family(processes)
    processes.end(name="family", grace=grace)
    assert processes.names == ()
    wait_gone(family)


def test_close_twice(processes: Processes) -> None:
    """Closing ends everything, and closing again does nothing."""
    family = start_family(processes)
    processes.close()
    processes.close()
    wait_gone(family)


def test_stopped_process_is_ended(processes: Processes) -> None:
    """A process under SIGSTOP is ended without waiting for it to obey."""
    family = start_family(processes)
    processes.signal(name="family", number=signal.SIGSTOP)
    wait_until(
        check=lambda: all(process.status() == psutil.STATUS_STOPPED for process in family),
        what="all stopped",
        seconds=5,
    )
    processes.end(name="family", grace=0)
    wait_gone(family)


def test_ended_by_themselves(processes: Processes) -> None:
    """What ended without being asked to is told with its exit code: a signal's number is negative."""
    start_family(processes)
    processes.start(name="three", command=[PYTHON, "-c", "raise SystemExit(3)"], environment=os.environ)
    processes.start(name="killed", command=[PYTHON, "-c", FAMILY], environment=os.environ)
    processes.signal(name="killed", number=signal.SIGKILL)
    wait_until(check=lambda: len(processes.ended()) == 2, what="both ended", seconds=30)
    assert processes.ended() == {"three": 3, "killed": -9}


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_owner_dies(tmp_path: Path, number: signal.Signals) -> None:
    """Nothing is left when the owner ends without closing, even by SIGKILL."""
    owner = subprocess.Popen(
        [PYTHON, "-c", OWNER], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    with owner:
        assert owner.stdout is not None
        family = [psutil.Process(int(pid)) for pid in owner.stdout.readline().split()]
        assert len(family) == 2
        owner.send_signal(number)
    wait_gone(family)


def test_check_quotes_last_lines(processes: Processes) -> None:
    """A component that ended by itself is reported with its exit code and its last lines."""
    code = "print('\\n'.join(f'line {n}' for n in range(100))); raise SystemExit(7)"
    processes.start(name="broken", command=[PYTHON, "-c", code], environment=os.environ)
    with pytest.raises(ComponentFailed) as caught:
        wait_until(check=lambda: bool(processes.check()), what="it ends", seconds=10)
    assert (caught.value.name, caught.value.exit_code) == ("broken", 7)
    assert caught.value.output.splitlines()[-1] == "line 99"
    assert "line 10\n" not in caught.value.output


def test_name_is_taken(processes: Processes) -> None:
    """Two running components can't have the same name."""
    start_family(processes)
    with pytest.raises(ValueError, match="running already"):
        processes.start(name="family", command=["true"], environment=os.environ)


def test_command_fails(tmp_path: Path) -> None:
    """A failing command is reported by name, exit code and output."""
    with pytest.raises(ComponentFailed, match=r"exit code 3.*\n.*sorry"):
        run_command(
            command=["sh", "-c", "echo sorry; exit 3"], environment=os.environ, folder=tmp_path, seconds=10
        )


def test_command_takes_too_long(tmp_path: Path) -> None:
    """A command that takes too long is ended and reported."""
    begin = time.monotonic()
    with pytest.raises(NotInTime, match="sleep 60"):
        run_command(command=["sleep", "60"], environment=os.environ, folder=tmp_path, seconds=0.2)
    assert time.monotonic() - begin < 10
