"""The errors of this room, sorted once for all stores.

::

    StoreError
    +-- Absent               not yet: nothing lies there
    +-- PassingTrouble       may well be gone at the next try
    |   +-- Changed          it changed while it was read, or since it was pinned
    +-- LastingTrouble       a person has to mend it
        +-- Refused          a name or a kind of file that is never opened
        +-- Archived         an object that has to be restored before it can be read
        +-- InvalidAddress   a URI that names no place (ValueError)
        +-- InvalidAccess    an option or a connection that no store can be reached with (ValueError)

What to do follows from the class alone: wait, back off, or give up after a bounded number of times.
"""

from __future__ import annotations

__all__ = [
    "Absent",
    "Archived",
    "Changed",
    "InvalidAccess",
    "InvalidAddress",
    "LastingTrouble",
    "PassingTrouble",
    "Refused",
    "StoreError",
]


class StoreError(Exception):
    """Base of all errors of this room.

    :ivar place: where, for people: a path or a URI without secrets.
    :ivar reason: what happened, for people.
    """

    def __init__(self, place: str, reason: str) -> None:
        self.place = place
        self.reason = reason
        super().__init__(f"{place}: {reason}")


class Absent(StoreError):
    """Raised when nothing lies at the address: the ordinary state of a wait."""


class PassingTrouble(StoreError):
    """Raised when the store failed in a way that the next try may not meet.

    :ivar retry_after: seconds that the store asked to be left alone; ``None`` when it did not say.
    """

    def __init__(self, place: str, reason: str, *, retry_after: float | None = None) -> None:
        super().__init__(place, reason)
        self.retry_after = retry_after


class Changed(PassingTrouble):
    """Raised when what was read is not what was seen, or changed while it was read."""


class LastingTrouble(StoreError):
    """Raised when the store refuses in a way that waiting does not mend, such as missing rights."""


class Refused(LastingTrouble):
    """Raised when a name is never opened: a link, a pipe, a path out of the folder."""


class InvalidAddress(LastingTrouble, ValueError):
    """Raised when a URI names no place that this release can wait for."""


class Archived(LastingTrouble):
    """Raised when an object lies in an archive and has to be restored before it can be read."""


class InvalidAccess(LastingTrouble, ValueError):
    """Raised when an option or a connection is not one that a store can be reached with."""
