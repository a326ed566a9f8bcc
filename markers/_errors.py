"""The errors of this room.

::

    MarkerError (ValueError)
    +-- UnreadableMarker     bytes that are not a valid marker
    +-- InvalidInterval      text or instants that are not an interval
    +-- InvalidExpectation   a wait that could never be met
    +-- InvalidDeclaration   what a Dag declares of a foreign format is missing or cannot be
    +-- UnsafePath           a path that leaves, or could leave, the delivery's folder
"""

from __future__ import annotations

from collections.abc import Sequence

from ._problems import Problem

__all__ = [
    "InvalidDeclaration",
    "InvalidExpectation",
    "InvalidInterval",
    "MarkerError",
    "UnreadableMarker",
    "UnsafePath",
]


class MarkerError(ValueError):
    """Base of all errors of this room."""


class UnreadableMarker(MarkerError):
    """Raised when bytes are not a valid marker; holds every problem that was found, capped.

    :ivar problems: the first problems, at most ``MAX_PROBLEMS``.
    :ivar total: how many problems there are in all.
    :ivar identity: sha256 of the bytes in hex.
    :ivar size: how many bytes were read.
    """

    def __init__(self, problems: Sequence[Problem], *, total: int, identity: str, size: int) -> None:
        self.problems = tuple(problems)
        self.total = total
        self.identity = identity
        self.size = size
        more = f" (and {total - 1} more)" if total > 1 else ""
        super().__init__(f"not a valid marker ({size} bytes): {self.problems[0].text}{more}")

    @property
    def incomplete(self) -> bool:
        """Whether it only lacks what may still come, such as a second document."""
        kinds = {problem.kind for problem in self.problems}
        return kinds == {"incomplete"} and self.total == len(self.problems)


class InvalidInterval(MarkerError):
    """Raised when a text or a pair of instants is not an interval."""


class InvalidExpectation(MarkerError):
    """Raised when a dataset, interval or least version could never be met by a valid marker."""


class InvalidDeclaration(MarkerError):
    """Raised when a foreign format's declaration lacks something, or holds what cannot be meant."""


class UnsafePath(MarkerError):
    """Raised when a path is refused: it is never repaired.

    :ivar path: the path as given.
    :ivar reason: the rule that it breaks.
    """

    def __init__(self, path: str, reason: str) -> None:
        self.path = path
        self.reason = reason
        super().__init__(f"path {path[:200]!a} refused: {reason}")
