"""Which mount point a path lies on, told from the kernel's table: asking the path itself may hang."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

__all__ = ["MountTable"]

_TABLE = Path("/proc/self/mountinfo")


class MountTable:
    """The mount points of this machine at one moment.

    :param points: absolute paths of mount points.
    """

    def __init__(self, points: Iterable[str]) -> None:
        self._points = frozenset(points) | {"/"}

    @classmethod
    def read(cls) -> MountTable:
        """The table now. Blocking, but never on a mount itself; without one, ``/`` is the only mount."""
        try:
            lines = _TABLE.read_text(encoding="utf-8", errors="surrogateescape").splitlines()
        except OSError:
            return cls(())
        # proc(5): the fifth field is the mount point, with blanks and backslashes as octal escapes
        return cls(_unescape(fields[4]) for line in lines if len(fields := line.split(" ")) > 4)

    def mount_of(self, path: str) -> str:
        """The longest mount point that the path lies on or below, links not followed."""
        while path not in self._points:
            parent = os.path.dirname(path)  # noqa: PTH120 - text only, no file is touched
            if parent == path:
                return "/"
            path = parent
        return path


def _unescape(text: str) -> str:
    for code, char in (("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")):
        text = text.replace(code, char)
    return text
