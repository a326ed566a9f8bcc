"""The ledger: what remembers the highest version taken."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from airflow_landmark.markers import Interval, Taken

from ._stamp import Stamp

__all__ = ["Ledger"]


@runtime_checkable
class Ledger(Protocol):
    """Remembers per (dataset, interval) the highest version taken, in two steps.

    Methods block; they are called on a worker, never in an event loop. An owner is any text that is
    the same for every attempt of the same task: it may claim again what it has claimed.
    """

    def taken(self, dataset: str, interval: Interval) -> Taken | None:
        """What was taken last; ``None`` when nothing was."""

    def claim(self, stamp: Stamp, owner: str) -> None:
        """Mark a version as being worked on.

        :raises BadDelivery: kind ``older version`` when a higher one was taken, ``reused version``
            when this one was taken with other bytes, ``already taken`` when another owner holds it.
        """

    def commit(self, stamp: Stamp, owner: str) -> None:
        """Mark a claimed version as taken, after the load succeeded."""

    def release(self, stamp: Stamp, owner: str) -> None:
        """Give a claim back without having taken the version."""
