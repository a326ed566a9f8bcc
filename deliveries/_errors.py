"""The errors of this room: what goes wrong with a delivery, whatever waits for it.

::

    DeliveryError
    +-- BadDelivery      the partner has to act: wrong, corrupt, withdrawn, unreadable
    +-- NotInTime        the deadline came first
    +-- Unavailable      passing trouble: the same again may well succeed
    +-- AccessTrouble    lasting trouble of the store: a person has to mend it
    +-- CannotDeliver    a folder that must not be announced as it is
"""

from __future__ import annotations

from collections.abc import Sequence

from airflow_landmark.markers import Problem

__all__ = ["AccessTrouble", "BadDelivery", "CannotDeliver", "DeliveryError", "NotInTime", "Unavailable"]

_NAMED = 5


class DeliveryError(Exception):
    """Base of all errors of this room.

    :ivar kind: a stable word: a verdict, or the kind of the first problem.
    :ivar uri: the marker's address.
    :ivar text: what is wrong, in one sentence.
    :ivar problems: what is wrong, capped.
    """

    def __init__(self, uri: str, kind: str, text: str, *, problems: Sequence[Problem] = ()) -> None:
        self.uri = uri
        self.kind = kind
        self.text = text
        self.problems = tuple(problems)
        named = "".join(f"\n  {problem.kind}: {problem.text}" for problem in self.problems[:_NAMED])
        more = len(self.problems) - _NAMED
        super().__init__(f"{uri}: {text}{named}" + (f"\n  and {more} more" if more > 0 else ""))


class BadDelivery(DeliveryError):
    """Raised when what lies there is not the delivery that was promised; trying again cannot help."""


class NotInTime(DeliveryError):
    """Raised when the deadline came before the delivery."""


class Unavailable(DeliveryError):
    """Raised when the store was in passing trouble, or the files changed while they were verified."""


class AccessTrouble(DeliveryError):
    """Raised when the store refuses for good: missing rights, a wrong place.

    Its kind is ``"configuration"`` when connection or options cannot reach a store, whatever lies there.
    """


class CannotDeliver(DeliveryError):
    """Raised when a folder cannot be announced as it is; nothing was written."""
