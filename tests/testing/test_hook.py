"""What happens in a task's process: real processes, with a stand-in for Airflow's task."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import entry_points
from pathlib import Path

import pytest

from airflow_landmark.testing import Hold, Injection, Injections, Instead, Kill, NotExercised, Raise

WORK = '''
import asyncio, contextlib

def write(path, *, text):
    """Append a line, as a commit would."""
    with open(path, "a") as stream:
        stream.write(text + "\\n")
    return "written"

def lines():
    yield 1

async def write_soon(path, *, text):
    await asyncio.sleep(0)
    return write(path, text=text)

class Writer:
    def write(self, path, text): return write(path, text=text)
    @staticmethod
    def plain(path, text): return write(path, text=text)
    @classmethod
    def made(cls, path, text): return cls().write(path, text)

class Passing(Exception):
    pass
'''
OTHER = """
from work import write

def shout(path, *, text):
    return write(path, text=text.upper())
"""
TASK = """
import asyncio, json, sys
from types import SimpleNamespace
import work
from work import write, write_soon  # names that were imported before anything is wrapped
from airflow_landmark.testing._hook import apply_plan

path, told = sys.argv[1], json.loads(sys.argv[2])

class Operator:
    def execute(self, context):
        return eval(told["do"])

    def resume_execution(self, next_method, next_kwargs, context):
        return self.execute(context)

task = Operator()
server = SimpleNamespace(next_method="resume" if told["resumed"] else None)
apply_plan(SimpleNamespace(
    dag_id="orders", run_id="manual", task_id=told["task"], map_index=-1, try_number=told["try"],
    task=task, _ti_context_from_server=server,
))
work_of = task.resume_execution if told["resumed"] else task.execute
try:
    print(work_of(*(["resume", {}] if told["resumed"] else []), context={}))
except Exception as error:
    print(type(error).__module__, type(error).__name__, error)
"""


@dataclass(frozen=True)
class Tasks:
    """Runs a task's work in a process of its own."""

    folder: Path
    injections: Injections

    @property
    def path(self) -> Path:
        """The file that is written."""
        return self.folder / "written"

    @property
    def lines(self) -> list[str]:
        """What was written."""
        return self.path.read_text().splitlines() if self.path.exists() else []

    def start(
        self, do: str = "write(path, text='a')", *, task: str = "load", number: int = 1, resumed: bool = False
    ) -> subprocess.Popen[str]:
        """Start a try of a task."""
        told = json.dumps({"do": do, "task": task, "try": number, "resumed": resumed})
        environment = {**os.environ, "PYTHONPATH": str(self.folder)}
        return subprocess.Popen(
            [sys.executable, "-c", TASK, str(self.path), told],
            env=environment | self.injections.environment(environment),
            stdout=subprocess.PIPE,
            text=True,
        )

    def run(self, *args: str, **kwargs: object) -> tuple[int, str]:
        """Run a try to its end: its exit code and what it printed."""
        with self.start(*args, **kwargs) as process:  # type: ignore[arg-type]
            output, _ = process.communicate(timeout=60)
        return process.returncode, output.strip()


@pytest.fixture
def tasks(tmp_path: Path) -> Iterator[Tasks]:
    """Return what runs tasks."""
    (tmp_path / "work.py").write_text(WORK)
    (tmp_path / "other.py").write_text(OTHER)
    return Tasks(tmp_path, Injections(folder=tmp_path / "injections"))


def test_kill_after_leaves_the_write(tasks: Tasks) -> None:
    """Killed after the call: what was written is there, the process is gone, the next try is left alone."""
    with tasks.injections.planned(Injection(action=Kill(), target="work:write", when="after")) as killed:
        assert tasks.run() == (-signal.SIGKILL, "")
        assert tasks.run(number=2) == (0, "written")
    killed.check_reached(times=1)
    assert [one.word for one in killed.events()] == ["armed", "returned", "reached"]
    assert tasks.lines == ["a", "a"]


def test_kill_before_leaves_nothing(tasks: Tasks) -> None:
    """Killed before the call: nothing was written."""
    with tasks.injections.planned(Injection(action=Kill(), target="work:write")):
        assert tasks.run()[0] == -signal.SIGKILL
    assert tasks.lines == []


@pytest.mark.parametrize(
    ("do", "target"),
    [
        ("work.write(path, text='a')", "work:write"),
        ("asyncio.run(write_soon(path, text='a'))", "work:write_soon"),
        ("work.Writer().write(path, 'a')", "work:Writer.write"),
        ("work.Writer.plain(path, 'a')", "work:Writer.plain"),
        ("work.Writer.made(path, 'a')", "work:Writer.made"),
    ],
)
def test_every_kind_of_function_can_be_named(tasks: Tasks, do: str, target: str) -> None:
    """Functions, coroutines, methods, static and class methods are wrapped wherever they were imported."""
    with tasks.injections.planned(Injection(action=Raise("work:Passing", "no"), target=target)) as raised:
        assert tasks.run(do) == (0, "work Passing no")
    raised.check_reached(times=1)
    assert tasks.lines == []


def test_hold_goes_on_when_it_is_released(tasks: Tasks) -> None:
    """A held call waits, goes on when it is let go, and tells how it ended."""
    with tasks.injections.planned(Injection(action=Hold(), target="work:write")) as held:
        with tasks.start() as process:
            assert held.wait(seconds=60).pid == process.pid
            time.sleep(0.3)
            assert tasks.lines == []
            held.release()
            assert held.wait_end(seconds=60).word == "returned"
        assert process.returncode == 0
    assert tasks.lines == ["a"]


@pytest.mark.parametrize("how", ["released", "block ends", "too long"])
def test_hold_ends_by_a_kill(tasks: Tasks, how: str) -> None:
    """A held call is killed when the test says so, when its block ends, and when it was held too long."""
    action = Hold(0.2 if how == "too long" else 300)
    process = None
    with tasks.injections.planned(Injection(action=action, target="work:write")) as held:
        process = tasks.start()
        held.wait(seconds=60)
        if how == "released":
            held.release("kill")
        elif how == "too long":
            process.wait(60)
    with process:
        assert process.wait(60) == -signal.SIGKILL
    assert tasks.lines == []


def test_instead_and_what_happens_around_it(tasks: Tasks) -> None:
    """A replacement may call what it replaces; another injection at the same point happens around it."""
    instead = Injection(action=Instead("other:shout"), target="work:write", tries=())
    after = Injection(action=Kill(), target="work:write", when="after")
    with tasks.injections.planned(after) as killed, tasks.injections.planned(instead) as replaced:
        assert tasks.run()[0] == -signal.SIGKILL
    assert replaced.events("reached")
    assert killed.events("reached")
    assert tasks.lines == ["A"]


@pytest.mark.parametrize("resumed", [False, True])
def test_whole_work_without_a_target(tasks: Tasks, resumed: bool) -> None:
    """Without a target it is the task's whole work, and ``resumed`` tells before a deferral from after it."""
    with tasks.injections.planned(Injection(action=Kill(), when="after", resumed=resumed)):
        assert tasks.run(resumed=not resumed)[0] == 0
        assert tasks.run(resumed=resumed)[0] == -signal.SIGKILL
    assert tasks.lines == ["a", "a"]


@pytest.mark.parametrize(
    ("chosen", "meant"),
    [
        ({"task_id": "load"}, True),
        ({"task_id": "lo*", "dag_id": "ord*", "run_id": "man*"}, True),
        ({"task_id": "wait"}, False),
        ({"dag_id": "other"}, False),
        ({"run_id": "scheduled__*"}, False),
        ({"tries": (2, 3)}, False),
        ({"tries": ()}, True),
    ],
)
def test_only_what_is_meant(tasks: Tasks, chosen: dict[str, str], meant: bool) -> None:
    """Dag, task, run and try choose the tasks in which it happens."""
    injection = Injection(action=Kill(), target="work:write", **chosen)  # type: ignore[arg-type]
    with tasks.injections.planned(injection):
        assert (tasks.run()[0] != 0) is meant


@pytest.mark.parametrize(
    ("target", "text"),
    [
        ("work:nothing", "work:nothing: work has no such name"),
        ("nowhere:write", "No module named 'nowhere'"),
        ("work:lines", "is a generator: its work is done after the call"),
        ("sqlite3:Connection.commit", "must be a Python function or method"),
    ],
)
def test_what_cannot_be_wrapped_is_told(tasks: Tasks, target: str, text: str) -> None:
    """A target that cannot be wrapped leaves the task alone, and fails the test that named it."""
    with tasks.injections.planned(Injection(action=Kill(), target=target)) as planned:
        assert tasks.run() == (0, "written")
        with pytest.raises(NotExercised, match=text):
            planned.check_reached()


def test_nothing_happens_without_the_variable(tasks: Tasks, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the environment variable no plan is read, whatever lies in the folder."""
    with tasks.injections.planned(Injection(action=Kill(), target="work:write")) as planned:
        monkeypatch.setattr(Injections, "environment", lambda *_: {})
        assert tasks.run() == (0, "written")
    assert planned.events() == []


def test_plugin_is_found_by_its_entry_point(tasks: Tasks) -> None:
    """Airflow finds the plugin in the environment of the injections, and nowhere else."""
    group, name = "airflow.plugins", "landmark_injections"
    assert list(entry_points(group=group, name=name)) == []
    code = (
        "from importlib.metadata import entry_points\n"
        f"(one,) = entry_points(group={group!r}, name={name!r})\n"
        "print(one.load().name, len(one.load().listeners))"
    )
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code],
        env={**os.environ, **tasks.injections.environment({})},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == [name, "1"]


def test_folder_of_others_is_refused(tasks: Tasks) -> None:
    """Where others may write to the plan's folder, nothing of it is done."""
    with tasks.injections.planned(Injection(action=Kill(), target="work:write")):
        tasks.injections.folder.chmod(0o777)
        process = tasks.start()
        with process:
            output, _ = process.communicate(timeout=60)
    assert process.returncode == 1
    assert output == ""
