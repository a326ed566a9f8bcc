"""Progress of work that goes on in steps, on stderr: a bar for a terminal, a line now and then for a log."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, Protocol

from ._print import err

__all__ = ["TellStep", "telling"]

_BAR_AFTER_SECONDS = 0.5
_LINE_EVERY_SECONDS = 10.0


class TellStep(Protocol):
    """Takes what is done, how much of it, and how much there is."""

    def __call__(self, what: str, done: int, whole: int, /) -> None:
        """Show it, when it is time to."""


@contextmanager
def telling() -> Iterator[TellStep]:
    """What to call with the progress; may be called very often."""
    if sys.stderr is None or not sys.stderr.isatty() or os.environ.get("TERM") == "dumb":
        yield _Lines()
        return
    with ExitStack() as stack:
        yield _Bar(stack)


class _Lines:
    def __init__(self) -> None:
        self._last = time.monotonic()

    def __call__(self, what: str, done: int, whole: int, /) -> None:
        now = time.monotonic()
        if now - self._last >= _LINE_EVERY_SECONDS:
            self._last = now
            err(f"{what}: {done:,} of {whole:,}")


class _Bar:
    """Comes only when the work takes long, and leaves nothing behind."""

    def __init__(self, stack: ExitStack) -> None:
        self._stack = stack
        self._began = time.monotonic()
        self._bar: Any = None
        self._tasks: dict[str, Any] = {}

    def __call__(self, what: str, done: int, whole: int, /) -> None:
        if self._bar is None:
            if time.monotonic() - self._began < _BAR_AFTER_SECONDS:
                return
            self._bar = self._stack.enter_context(_new_bar())
        if what not in self._tasks:
            self._tasks[what] = self._bar.add_task(what)
        self._bar.update(self._tasks[what], completed=min(done, whole), total=whole or None)


def _new_bar() -> Any:
    from rich import progress  # noqa: PLC0415
    from rich.console import Console  # noqa: PLC0415

    return progress.Progress(
        progress.TextColumn("{task.description}"),
        progress.BarColumn(bar_width=None),
        progress.MofNCompleteColumn(),
        progress.TimeRemainingColumn(compact=True),
        console=Console(stderr=True),
        transient=True,
    )
