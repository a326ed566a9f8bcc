"""The child processes of one owner: started by name, signalled by tree, ended with the owner."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import psutil

from . import _guardian
from ._errors import ComponentFailed, NotInTime
from ._guardian import kill_tree

__all__ = ["Processes", "last_lines", "run_command"]

OUTPUT_LINES = 40
"""How many of a failed process's last lines an error quotes."""


def last_lines(text: str, count: int = OUTPUT_LINES) -> str:
    """Return the last lines of a text."""
    return "\n".join(text.splitlines()[-count:])


def run_command(
    *,
    command: Sequence[str],
    environment: Mapping[str, str],
    folder: Path,
    seconds: float,
    user: str | None = None,
) -> str:
    """Run a command to its end and return what it printed.

    :param folder: its working folder.
    :param user: the account it runs as; None: the caller's.
    :raises ComponentFailed: when it exits with anything but 0.
    :raises NotInTime: when it takes longer than ``seconds``.
    """
    name = " ".join([Path(command[0]).name, *command[1:]])
    try:
        done = subprocess.run(  # noqa: S603 - the command is ours
            command,
            env=dict(environment),
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            timeout=seconds,
            check=False,
            user=user,
            group=user,
            extra_groups=None if user is None else [],
        )
    except subprocess.TimeoutExpired:
        raise NotInTime(what=f"{name} at its end", seconds=seconds) from None
    if done.returncode:
        raise ComponentFailed(name=name, exit_code=done.returncode, output=last_lines(done.stdout))
    return done.stdout


class Processes:
    """Named child processes; their output goes to ``FOLDER/NAME.out``.

    They end with their owner, even if it is killed: a guardian process watches over a pipe to it.
    """

    def __init__(self, *, folder: Path) -> None:
        self._folder = folder
        self._running: dict[str, subprocess.Popen[bytes]] = {}
        self._guardian: subprocess.Popen[bytes] | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """The processes that were started and neither killed nor ended, in the order of their start."""
        return tuple(self._running)

    def start(
        self,
        *,
        name: str,
        command: Sequence[str],
        environment: Mapping[str, str],
        user: str | None = None,
    ) -> None:
        """Start a process in a session of its own.

        :param user: the account it runs as; None: the caller's.
        :raises ValueError: when a process of this name is running.
        """
        if name in self._running:
            raise ValueError(f"{name} is running already")
        with (self._folder / f"{name}.out").open("ab") as output:
            process = subprocess.Popen(  # noqa: S603 - the command is ours
                command,
                env=dict(environment),
                cwd=self._folder,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                user=user,
                group=user,
                extra_groups=None if user is None else [],
            )
        self._running[name] = process
        self._tell_guardian(f"+{process.pid}")

    def pid(self, *, name: str) -> int:
        """Return the id of a component's first process."""
        return self._running[name].pid

    def tree(self, *, name: str) -> list[psutil.Process]:
        """Return a component's first process and all its descendants; empty when it has ended."""
        with suppress(psutil.NoSuchProcess):
            first = psutil.Process(self.pid(name=name))
            return [first, *first.children(recursive=True)]
        return []

    def signal(self, *, name: str, number: int, whole: bool = True) -> None:
        """Send a signal to a component.

        :param whole: to all its processes; False: to the first one only.
        """
        for process in self.tree(name=name)[: None if whole else 1]:
            with suppress(psutil.NoSuchProcess):
                process.send_signal(number)

    def end(self, *, name: str, grace: float) -> None:
        """End a component and forget it.

        :param grace: seconds it has to end by itself after SIGTERM, before it is killed; 0: kill at once.
        """
        family = self.tree(name=name)
        process = self._running.pop(name)
        if grace > 0 and process.poll() is None:
            process.send_signal(signal.SIGCONT)  # a stopped process would not see the next one
            process.terminate()
            with suppress(subprocess.TimeoutExpired):
                process.wait(grace)
        for member in family:
            kill_tree(member)
        with suppress(ProcessLookupError, PermissionError):  # members whose parent had died before
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        self._tell_guardian(f"-{process.pid}")

    def ended(self) -> dict[str, int]:
        """Return the exit codes of those that have ended by themselves, by name; negative: of a signal."""
        codes = {name: process.poll() for name, process in self._running.items()}
        return {name: code for name, code in codes.items() if code is not None}

    def check(self) -> None:
        """Look whether all are running.

        :raises ComponentFailed: when one has ended by itself.
        """
        for name, exit_code in self.ended().items():
            output = last_lines(self.output(name=name))
            raise ComponentFailed(name=name, exit_code=exit_code, output=output)

    def output(self, *, name: str) -> str:
        """Return all that a component has printed."""
        return (self._folder / f"{name}.out").read_text(errors="replace")

    def close(self) -> None:
        """Kill everything that is left; may be called again."""
        for name in reversed(self.names):
            self.end(name=name, grace=0)
        if self._guardian is not None:
            self._guardian.communicate()
            self._guardian = None

    def _tell_guardian(self, line: str) -> None:
        if self._guardian is None:
            self._guardian = subprocess.Popen(  # noqa: S603 - our own program
                [sys.executable, "-I", str(_guardian.__file__)],
                stdin=subprocess.PIPE,
                start_new_session=True,  # a Ctrl-C at the terminal is for the owner
            )
        stdin = self._guardian.stdin
        if stdin is not None:
            with suppress(BrokenPipeError):  # somebody has ended it: what is left is ended by close()
                stdin.write(f"{line}\n".encode())
                stdin.flush()
