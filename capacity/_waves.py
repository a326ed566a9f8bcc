"""How long a backfill takes, and how many of its tasks run at once."""

from __future__ import annotations

import math
from dataclasses import dataclass

__all__ = ["Waves", "waves"]


@dataclass(frozen=True, kw_only=True)
class Waves:
    """A backfill's course.

    :ivar at_once: tasks that run together; 0: none ever does, the pool has too few open slots.
    :ivar waves: rounds of so many tasks.
    :ivar seconds: of all rounds; infinite when none ever runs.
    """

    at_once: int
    waves: int
    seconds: float

    @property
    def hours(self) -> float:
        """Of all rounds."""
        return self.seconds / 3600


def waves(*, runs: int, task_seconds: float, slots: int, open_slots: float, max_active_runs: int) -> Waves:
    """Tasks at once are ``min(runs allowed, open pool slots // slots a task)``; rounds follow each other.

    :param slots: pool slots of one task; 0 for tasks that take none, such as deferred ones in a pool that
        does not count them.
    :param open_slots: infinite for a pool without a limit.
    :param max_active_runs: of the backfill; it is independent of the Dag's.
    """
    fitting = open_slots // slots if slots and math.isfinite(open_slots) else math.inf
    at_once = int(max(0, min(max_active_runs, fitting, runs)))
    if not runs:
        return Waves(at_once=0, waves=0, seconds=0.0)
    if not at_once:
        return Waves(at_once=0, waves=0, seconds=math.inf)
    rounds = math.ceil(runs / at_once)
    return Waves(at_once=at_once, waves=rounds, seconds=rounds * task_seconds)
