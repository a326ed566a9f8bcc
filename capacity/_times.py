"""How long things take at the peak: starting, failing over, resuming."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ._calibrations import Calibrations
from ._curves import Profile
from ._kinds import Kind
from ._origin import Estimate, weakest
from ._results import Times
from ._values import Deployment, Platform

__all__ = ["statements", "times"]

_SYNC_SECONDS = 0.5
"""The runner hands events to the supervisor once a second: half of that on average."""


def times(
    profile: Profile,
    *,
    peak: float,
    burst: float,
    replicas: int,
    deployments: Sequence[Deployment],
    calibrations: Calibrations,
    platform: Platform,
) -> Times:
    """Start lag, fail-over gap and resume burst.

    A start of ``n`` triggers takes ``n / (50 N)`` loops of a second, and the start cost of ``n / N`` of them;
    a triggerer that dies is noticed when its heartbeat is 30 s old, then its triggers are claimed like new
    ones (``airflow/models/trigger.py``, ``assign_unassigned``).

    :param peak: waits at the peak.
    :param burst: waits that one source ends together.
    :param replicas: triggerers that are there.
    """
    budget = calibrations.budget
    here, left = max(1, replicas), max(1, replicas - 1)
    claims = min(one.select_per_loop for one in deployments) * budget.loops
    start_cpu = _average(profile, calibrations, lambda kind, _: kind.start_cpu)
    start_cpu /= min(1.0, *(one.cpu for one in deployments))
    asks = _average(profile, calibrations, lambda kind, _: kind.requests) > 0
    step = max(profile.starts, default=0.0)
    dead_after = max(one.dead_after for one in deployments)
    moved = peak / here
    stall = budget.first_request if asks else 0.0
    taken = moved / (claims * left) + moved / left * start_cpu + stall
    resumes = burst * platform.resume_seconds
    return Times(
        step=step,
        start_lag=step / (claims * here) + step / here * start_cpu,
        gap=dead_after,
        moved=moved,
        # with one triggerer nobody takes over: its restart does, and nothing here says how long that takes
        recovered=dead_after + taken,
        burst=burst,
        events=burst / (budget.events * here),
        resume_seconds=resumes,
        resumed=resumes / platform.worker_slots if platform.worker_slots else None,
        noticed=_average(profile, calibrations, lambda _, poll: poll) / 2 + _SYNC_SECONDS,
        timed_out_late=budget.check_every,
    )


def statements(profile: Profile, *, replicas: int, calibrations: Calibrations) -> Estimate:
    """SQL statements a second of all triggerers at the peak.

    ``7 N min(75, 1 + lines + requests)``: the supervisor runs its loop once a second, and once more for every
    log line and request of any of its triggers (``airflow/sdk/execution_time/supervisor.py``,
    ``_service_subprocess``).
    """
    budget = calibrations.budget
    here = max(1, replicas)
    index = profile.peak_index()
    wakes = 0.0
    for (path, poll), curve in profile.classes.items():
        kind = calibrations.kind(path)
        wakes += curve.mean[index] * (kind.lines + kind.requests) / (poll or kind.poll_interval)
    loops = min(budget.most_loops, budget.loops + wakes / here)
    origin = weakest(calibrations.kind(path).origin for path, _ in profile.classes)
    return Estimate(budget.statements * here * loops, origin)


def _average(profile: Profile, calibrations: Calibrations, figure: Callable[[Kind, float], float]) -> float:
    """The average of a kind's figure over the waits, each class at its own peak.

    :param figure: of the kind and the poll interval.
    """
    whole = total = 0.0
    for (path, poll), curve in profile.classes.items():
        kind, number = calibrations.kind(path), curve.highest()
        whole += number
        total += number * figure(kind, poll or kind.poll_interval)
    return total / whole if whole > 0 else 0.0
