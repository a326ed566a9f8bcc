"""Progress of long work, on stderr: a bar for a terminal, a line now and then for a log."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

from ._print import err

if TYPE_CHECKING:
    from airflow_landmark.deliveries import Progress

__all__ = ["showing"]

_BAR_AFTER_SECONDS = 0.5
_LINE_EVERY_SECONDS = 10.0


@contextmanager
def showing(doing: str) -> Iterator[Callable[[Progress], None]]:
    """What to call with the progress.

    :param doing: a word, such as ``Hashing``.
    """
    if sys.stderr is None or not sys.stderr.isatty() or os.environ.get("TERM") == "dumb":
        yield _Lines(doing)
        return
    with ExitStack() as stack:
        yield _Bar(doing, stack)


class _Lines:
    def __init__(self, doing: str) -> None:
        self._doing = doing
        self._last = time.monotonic()

    def __call__(self, progress: Progress) -> None:
        now = time.monotonic()
        if now - self._last < _LINE_EVERY_SECONDS:
            return
        self._last = now
        err(
            f"{self._doing}: {progress.files_done:,} of {progress.files:,} files, "
            f"{progress.bytes_done:,} of {progress.size_bytes:,} bytes"
        )


class _Bar:
    """Comes only when the work takes long, and leaves nothing behind."""

    def __init__(self, doing: str, stack: ExitStack) -> None:
        self._doing = doing
        self._stack = stack
        self._began = time.monotonic()
        self._bar: Any = None
        self._task: Any = None

    def __call__(self, progress: Progress) -> None:
        if self._bar is None:
            if time.monotonic() - self._began < _BAR_AFTER_SECONDS:
                return
            self._bar = self._stack.enter_context(_new_bar())
            self._task = self._bar.add_task(self._doing, files="")
        files = f"{progress.files_done:,}/{progress.files:,} files"
        self._bar.update(
            self._task, completed=progress.bytes_done, total=progress.size_bytes or None, files=files
        )


def _new_bar() -> Any:
    from rich import progress  # noqa: PLC0415
    from rich.console import Console  # noqa: PLC0415

    return progress.Progress(
        progress.TextColumn("{task.description}"),
        progress.BarColumn(bar_width=None),
        progress.TextColumn("{task.fields[files]}"),
        progress.DownloadColumn(binary_units=True),
        progress.TimeRemainingColumn(compact=True),
        console=Console(stderr=True),
        transient=True,
    )
