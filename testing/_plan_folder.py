"""The folder through which a test and the tasks' processes speak: a plan, a log of events, releases."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

from ._injection import Injection

__all__ = ["VARIABLE", "Event", "PlanFolder", "Release", "Word"]

VARIABLE = "LANDMARK_INJECTIONS"
"""The environment variable that names the folder. Without it nothing is ever injected."""

Word = Literal["armed", "reached", "returned", "raised", "trouble"]
Release = Literal["go", "kill"]


@dataclass(frozen=True, kw_only=True)
class Event:
    """Something that happened to an injection in a task's process.

    :ivar key: which injection.
    :ivar word: ``"armed"``: the task runs, the point is prepared; ``"reached"``: the point was reached, and
        the action begins; ``"returned"``, ``"raised"``: how the target's call ended; ``"trouble"``: the
        injection cannot be made there.
    :ivar pid: the task's process.
    :ivar text: what was raised, or what the trouble is.
    """

    key: str
    word: Word
    pid: int
    dag_id: str
    run_id: str
    task_id: str
    map_index: int
    try_number: int
    text: str = ""


class PlanFolder:
    """A folder of its owner's, and of no other's: what it says is done in tasks.

    :raises PermissionError: when others may write to it, or it is another's.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        facts = path.stat()
        if facts.st_uid != os.geteuid() or facts.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            raise PermissionError(
                f"{path} is named by {VARIABLE} and must be this user's, and writable by no other"
            )

    def write_plan(self, plan: dict[str, Injection]) -> None:
        """Replace the plan, at once."""
        document = {key: injection.to_json() for key, injection in plan.items()}
        temporary = self.path / "plan.json.new"
        temporary.write_text(json.dumps(document), encoding="utf-8")
        temporary.replace(self._plan)

    def plan(self) -> dict[str, Injection]:
        """Return the injections by key; empty when there is no plan."""
        if not self._plan.exists():
            return {}
        document = json.loads(self._plan.read_bytes())
        return {key: Injection.from_json(told) for key, told in document.items()}

    def note(self, event: Event) -> None:
        """Add an event; several processes may at the same time."""
        line = (json.dumps(asdict(event)) + "\n").encode()
        target = os.open(self._events, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            os.write(target, line)  # one write, so that lines of several processes do not mix
        finally:
            os.close(target)

    def events(self) -> Iterator[Event]:
        """Return the events so far, in their order."""
        if self._events.exists():
            # what a killed process wrote in part is not lost to the lines after it: a line is one write
            for line in self._events.read_text(encoding="utf-8").splitlines():
                yield Event(**json.loads(line))

    def release(self, key: str, word: Release) -> None:
        """Let calls that are held go on, or be killed, also those that come later."""
        temporary = self.path / f"release-{key}.new"
        temporary.write_text(word, encoding="ascii")
        temporary.replace(self.path / f"release-{key}")

    def released(self, key: str) -> Release | None:
        """Return how held calls end; None: they are held still. ``"kill"`` when the folder is gone."""
        path = self.path / f"release-{key}"
        if path.exists():
            return "go" if path.read_text(encoding="ascii") == "go" else "kill"
        return None if self.path.exists() else "kill"

    @property
    def _plan(self) -> Path:
        return self.path / "plan.json"

    @property
    def _events(self) -> Path:
        return self.path / "events.jsonl"
