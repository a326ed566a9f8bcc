"""What a test injects into the tasks of a running Airflow, and what it hears of it."""

from __future__ import annotations

import os
import secrets
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from ._errors import NotExercised, NotInTime
from ._injection import Injection
from ._plan_folder import VARIABLE, Event, PlanFolder, Release
from ._waiting import wait_until

__all__ = ["Injections", "Planned"]

_ENTRY = "[airflow.plugins]\nlandmark_injections = airflow_landmark.testing._hook:InjectionPlugin\n"
_METADATA = "Metadata-Version: 2.1\nName: landmark-injections\nVersion: 1\n"


@dataclass(frozen=True, kw_only=True)
class Planned:
    """An injection that is in force."""

    key: str
    injection: Injection
    folder: PlanFolder

    def events(self, word: str | None = None) -> list[Event]:
        """Return what has happened to it so far.

        :param word: only events of this word; None: all.
        """
        return [one for one in self.folder.events() if one.key == self.key and word in (None, one.word)]

    def wait_end(self, *, seconds: float = 90.0) -> Event:
        """Wait until a call of the target has ended, well or not, and return how.

        :raises NotExercised: when none has.
        """
        return self._wait(("returned", "raised"), 1, seconds)

    def wait(self, word: str = "reached", *, count: int = 1, seconds: float = 90.0) -> Event:
        """Wait for the ``count``-th event of a word, and return it.

        :raises NotExercised: when it has not come, or the injection cannot be made; tells what came.
        """
        return self._wait((word,), count, seconds)

    def release(self, word: Release = "go") -> None:
        """Let a held call go on, or kill it (``"kill"``)."""
        self.folder.release(self.key, word)

    def check_reached(self, *, times: int | None = None) -> None:
        """Look whether it happened at all: a test whose injection did not happen has shown nothing.

        :param times: exactly so often; None: at least once.
        :raises NotExercised: when it did not.
        """
        self._check_trouble()
        found = len(self.events("reached"))
        if (times is None and not found) or times not in (None, found):
            raise NotExercised(
                f"{self.injection} happened {found} times, expected {times or 'at least 1'}; "
                f"the tasks tell: {self._told()}"
            )

    def _wait(self, words: Collection[str], count: int, seconds: float) -> Event:
        def look() -> list[Event]:
            self._check_trouble()
            return [one for one in self.events() if one.word in words][count - 1 :]

        try:
            return wait_until(check=look, what=f"{self.injection} {'/'.join(words)}", seconds=seconds)[0]
        except NotInTime as error:
            raise NotExercised(f"{error}; the tasks tell: {self._told()}") from None

    def _check_trouble(self) -> None:
        for event in self.events("trouble"):
            raise NotExercised(f"{self.injection} cannot be made in {event.task_id}: {event.text}")

    def _told(self) -> str:
        told = [f"{event.task_id} try {event.try_number} {event.word}" for event in self.events()]
        return ", ".join(told[-10:]) or "nothing: no such task has run, or the Airflow was started without it"


class Injections:
    """Injections into the tasks of one Airflow, which is started with ``LocalAirflow(injections=...)``.

    :param folder: its own folder, made when it is not there.
    """

    def __init__(self, *, folder: Path) -> None:
        self.folder = folder.absolute()
        self._plan: dict[str, Injection] = {}
        plugin = self.folder / "plugin" / "landmark_injections-1.dist-info"
        plugin.mkdir(parents=True, exist_ok=True, mode=0o700)
        (plugin / "entry_points.txt").write_text(_ENTRY)
        (plugin / "METADATA").write_text(_METADATA)
        self.folder.chmod(0o700)
        self._place = PlanFolder(self.folder)
        self._place.write_plan({})

    def environment(self, base: Mapping[str, str]) -> dict[str, str]:
        """Return the variables that a component needs for injections to happen in its tasks.

        :param base: the component's other variables: its ``PYTHONPATH`` is kept and added to.
        """
        paths = [base.get("PYTHONPATH", ""), str(self.folder / "plugin")]
        return {VARIABLE: str(self.folder), "PYTHONPATH": os.pathsep.join(path for path in paths if path)}

    @contextmanager
    def planned(self, injection: Injection) -> Iterator[Planned]:
        """Have an injection in force for tasks that start within the block.

        What is held at the end of the block is killed.
        """
        key = secrets.token_hex(4)  # never that of an earlier test: its releases lie here still
        self._plan[key] = injection
        self._place.write_plan(self._plan)
        planned = Planned(key=key, injection=injection, folder=self._place)
        try:
            yield planned
        finally:
            del self._plan[key]
            self._place.write_plan(self._plan)
            if self._place.released(key) is None:
                self._place.release(key, "kill")
