"""The errors of this room.

::

    CapacityError
    +-- InvalidPlan        a plan file that says something wrong; what it should say
    +-- CannotTell         no answer, since something could not be read
        +-- Unreachable    no such server, file or table of names; or it does not answer
        +-- MissingRights  it answers, and refuses
        +-- OlderAirflow   it is not the Airflow that these readers know
        +-- MissingSoftware  a package that the reading needs is not installed
"""

from __future__ import annotations

from collections.abc import Sequence

__all__ = [
    "CannotTell",
    "CapacityError",
    "InvalidPlan",
    "MissingRights",
    "MissingSoftware",
    "OlderAirflow",
    "Unreachable",
]


class CapacityError(Exception):
    """Base of all errors of this room.

    :ivar place: what it is about: a file, a database or server without its credentials.
    :ivar text: what is wrong and what to do, in one sentence.
    :ivar kind: a stable word for machines.
    """

    kind = "capacity"

    def __init__(self, place: str, text: str) -> None:
        self.place = place
        self.text = text
        super().__init__(f"{place}: {text}")


class InvalidPlan(CapacityError):
    """Raised when a plan file cannot be understood.

    :ivar problems: all that is wrong, one sentence each, with line and field.
    """

    kind = "plan"

    def __init__(self, place: str, problems: Sequence[str]) -> None:
        self.problems = tuple(problems)
        super().__init__(place, "; ".join(self.problems))


class CannotTell(CapacityError):
    """Raised when there is no answer, since something could not be read."""

    kind = "unknown"


class Unreachable(CannotTell):
    """Raised when a database, a server or a file is not there or does not answer."""

    kind = "unreachable"


class MissingRights(CannotTell):
    """Raised when a database or server refuses what is only to be read."""

    kind = "rights"


class OlderAirflow(CannotTell):
    """Raised when a table, a column or an address is missing that Airflow 3.3 has."""

    kind = "schema"


class MissingSoftware(CannotTell):
    """Raised when a package is not installed that the reading needs; the text says what to install."""

    kind = "software"
