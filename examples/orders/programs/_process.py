"""A function in a process of its own, which can be held at one place, and killed there."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any

__all__ = ["Pause", "Process"]

Pause = Callable[[], None]
"""Holds its caller until it is told to go on."""


class Process:
    """A started function.

    :param target: gets a ``Pause`` and the arguments; what it returns is its answer.
    """

    def __init__(self, target: Callable[..., Any], *arguments: Any) -> None:
        spawn = multiprocessing.get_context("spawn")
        self._here, there = spawn.Pipe()
        self._process = spawn.Process(target=_run, args=(target, there, arguments), daemon=True)
        self._process.start()
        there.close()

    def wait_until_held(self) -> None:
        """Wait until it has come to its pause."""
        self._said()

    def go_on(self) -> None:
        """Release it from its pause."""
        self._here.send("go on")

    def answer(self) -> Any:
        """What its function returned, once its process has ended."""
        returned = self._said()
        self._process.join()
        return returned

    def kill(self) -> None:
        """End it where it is: nothing of it runs any more, no rollback and no clean-up."""
        self._process.kill()
        self._process.join()

    def _said(self) -> Any:
        if not self._here.poll(120.0):
            self.kill()
            raise SystemExit("a process has said nothing for 120 s")
        return self._here.recv()


def _run(target: Callable[..., Any], told: Connection, arguments: tuple[Any, ...]) -> None:
    def pause() -> None:
        told.send("held")
        told.recv()

    told.send(target(pause, *arguments))
