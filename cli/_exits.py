"""The exit status of every command."""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from airflow_landmark.deliveries import DeliveryError

__all__ = ["TABLE", "Exit", "exit_of"]


class Exit(IntEnum):
    """What the exit status says."""

    YES = 0
    NO = 1
    USAGE = 2
    UNKNOWN = 3
    SPARE = 4
    INTERRUPTED = 130


TABLE = """\b
Exit status of every command:
  0    yes
  1    no: not there, not valid, not in time, does not hold
  2    wrong usage
  3    could not tell: unreachable, no rights, data missing
  4    holds, but without spare
  130  interrupted
"""


def exit_of(error: DeliveryError) -> Exit:
    """The exit status of an error of a delivery."""
    from airflow_landmark.deliveries import UNDECIDED, AccessTrouble, Unavailable  # noqa: PLC0415

    if isinstance(error, (AccessTrouble, Unavailable)):
        return Exit.UNKNOWN
    kinds = {problem.kind for problem in error.problems}
    return Exit.UNKNOWN if kinds and kinds <= UNDECIDED else Exit.NO
