"""Shell patterns over relative paths, and which names are hidden from them."""

from __future__ import annotations

import fnmatch
import re

__all__ = ["Glob", "is_hidden"]

_COPYING = "._COPYING_"  # Hadoop's shell writes to this name first and renames at the end


class Glob:
    """One pattern: ``*``, ``?`` and ``[...]`` within a part of the path, ``**`` for any number of folders.

    As in a shell, a hidden name is only matched by a part that begins with the same character.

    :param pattern: relative, ``/`` between parts.
    :raises ValueError: when it could match no relative path.
    """

    def __init__(self, pattern: str) -> None:
        parts = pattern.split("/")
        if not {"", ".", ".."}.isdisjoint(parts):
            raise ValueError("a pattern is a relative path without empty parts, . and ..")
        if parts[-1] == "**":
            parts.append("*")
        self.pattern = pattern
        self._parts = [(part[0], _compiled(part)) for part in parts]

    def matches(self, path: str) -> bool:
        """Whether the whole path matches."""
        reached = {0}  # numbers of pattern parts that the path so far can stand before
        for part in path.split("/"):
            reached = {after for before in self._spread(reached) for after in self._step(before, part)}
        return len(self._parts) in self._spread(reached)

    def _spread(self, reached: set[int]) -> set[int]:
        """With those that are reached because ``**`` may also stand for no folder."""
        spread = set(reached)
        for number, (_, pattern) in enumerate(self._parts):
            if pattern is None and number in spread:
                spread.add(number + 1)
        return spread

    def _step(self, before: int, part: str) -> tuple[int, ...]:
        if before == len(self._parts):
            return ()
        first, pattern = self._parts[before]
        if pattern is None:
            return () if is_hidden(part) else (before,)
        allowed = not is_hidden(part) or (first == part[0] and not part.endswith(_COPYING))
        return (before + 1,) if allowed and pattern.match(part) else ()


def is_hidden(part: str) -> bool:
    """Whether a part of a path is one that Spark and Hadoop pass over.

    These begin with ``.`` or ``_``, as do temporary folders and job metadata, but not with the ``_`` of a
    partition such as ``_date=2024-10-01``; copies that are being written end with ``._COPYING_``. The rule
    is that of Spark's ``InMemoryFileIndex``.
    """
    return part.startswith(".") or (part.startswith("_") and "=" not in part) or part.endswith(_COPYING)


def _compiled(part: str) -> re.Pattern[str] | None:
    return None if part == "**" else re.compile(fnmatch.translate(part))
