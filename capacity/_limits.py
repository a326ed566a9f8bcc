"""What a triggerer has, what its triggers ask for, and which of the two ends first.

Triggers are the wrong unit: memory, loop time and requests differ by two orders of magnitude between kinds.
So the load of a partition is added up limit by limit, each class of waits with its own weight.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import get_args

from ._calibrations import Calibrations
from ._curves import LoadClass, Profile, highest_load
from ._kinds import Kind
from ._origin import Estimate, Origin, rounded_up, weakest
from ._results import KindRow, LimitName, LimitRow
from ._values import Deployment

__all__ = [
    "CLAIM_SECONDS",
    "LIMITS",
    "UNITS",
    "Demand",
    "Supply",
    "demand_of",
    "kind_rows",
    "limit_rows",
    "supply_of",
    "triggerers_for",
    "weights_of",
]

LIMITS: tuple[LimitName, ...] = get_args(LimitName)
UNITS: Mapping[LimitName, str] = {
    "capacity": "triggers",
    "descriptors": "open files",
    "memory": "bytes",
    "loop": "CPU seconds a second",
    "requests": "requests a second",
    "claims": "new triggers a second",
}
CLAIM_SECONDS = 60.0
"""Waits that start together should all run within this time."""

Supply = Mapping[LimitName, float | None]
"""What one triggerer has for its triggers; None: not known."""


@dataclass(frozen=True)
class Demand:
    """What the waits of a scenario ask for at most, all triggerers together.

    :ivar loads: by limit.
    :ivar origins: by limit.
    """

    loads: Mapping[LimitName, float]
    origins: Mapping[LimitName, Origin] = field(default_factory=dict)


def supply_of(deployments: Sequence[Deployment], calibrations: Calibrations, *, requests: bool) -> Supply:
    """What one triggerer has for triggers; of different deployments the least.

    Airflow gives an unowned trigger to whoever asks first, whatever the size of who asks
    (``airflow/models/trigger.py``, ``assign_unassigned``).

    :param requests: whether some trigger asks Airflow for something, for which the supervisor loads the API.
    """
    budget = calibrations.budget
    base = budget.memory_bytes + (budget.requests_memory_bytes if requests else 0.0)
    files = [one.nofile for one in deployments]
    sizes = [one.memory_bytes for one in deployments]
    cores = [min(1.0, one.cpu) for one in deployments]  # supervisor and runner use one core each at most
    return {
        "capacity": min(float(one.capacity) for one in deployments),
        "descriptors": _least(files, budget.descriptors),
        "memory": _least(sizes, base),
        "loop": min(cores) * budget.load,
        "requests": min(cores) * budget.requests,
        "claims": min(one.select_per_loop for one in deployments) * budget.loops,
    }


def _least(values: Iterable[float | None], base: float) -> float | None:
    known = [value - base for value in values if value is not None]
    return min(known, default=None)


def weights_of(kind: Kind, poll_interval: float | None) -> Mapping[LimitName, float]:
    """What one trigger of a class asks for, limit by limit.

    Descriptors: one in the supervisor, its log; its sockets are in the runner, which has as many again.
    """
    poll = poll_interval or kind.poll_interval
    return {
        "capacity": 1.0,
        "descriptors": max(1.0, kind.descriptors),
        "memory": kind.memory_bytes,
        "loop": kind.check_cpu / poll,
        "requests": kind.requests / poll,
    }


def demand_of(
    profile: Profile,
    calibrations: Calibrations,
    *,
    extra: Mapping[LoadClass, float],
    extra_total: float,
    origin: Origin,
) -> Demand:
    """The highest loads of a profile, with waits that come on top at the worst moment.

    :param extra: these waits by class.
    :param extra_total: all of them; less than the sum when the classes share a cap.
    :param origin: of the numbers of waits.
    """
    weights = {name: weights_of(calibrations.kind(name[0]), name[1]) for name in {**profile.classes, **extra}}
    calibrated = weakest(calibrations.kind(name[0]).origin for name in weights)
    loads: dict[LimitName, float] = {}
    for limit in LIMITS[:-1]:
        factors = {name: weight[limit] for name, weight in weights.items()}
        loads[limit] = _highest(profile, factors) + _extra_load(factors, extra, extra_total)
    # the worst moment of a late source is not one at which all its waits start: they have come one by one
    loads["claims"] = max(profile.starts, default=0.0) / max(CLAIM_SECONDS, profile.grid.step)
    origins = {
        limit: origin if limit in ("capacity", "claims") else weakest([origin, calibrated])
        for limit in LIMITS
    }
    return Demand(loads, origins)


def _extra_load(factors: Mapping[LoadClass, float], extra: Mapping[LoadClass, float], total: float) -> float:
    """At most the sum over the classes, and at most what the heaviest class makes of the total."""
    heaviest = max((factors[name] for name, count in extra.items() if count), default=0.0)
    return min(math.fsum(factors[name] * count for name, count in extra.items()), heaviest * total)


def _highest(profile: Profile, factors: Mapping[LoadClass, float]) -> float:
    """The highest weighted sum of the classes, and at most what the heaviest class makes of the total."""
    present = {factors[name] for name in profile.classes}
    heaviest = max(present, default=0.0)
    whole = heaviest * profile.total.highest_likely() if heaviest else 0.0
    if len(present) <= 1:
        return whole
    return min(whole, highest_load([(curve, factors[name]) for name, curve in profile.classes.items()]))


def triggerers_for(load: float, has: float | None) -> int | None:
    """``ceil(load / has)``; None when it is not known, or no number suffices."""
    if load <= 0:
        return 0
    if has is None or has <= 0 or math.isinf(load):
        return None
    return max(1, rounded_up(load / has))


def limit_rows(
    demand: Demand, supply: Supply, *, headroom: float, replicas: int, spare: int
) -> tuple[LimitRow, ...]:
    """Every limit against the load: how many triggerers it asks for, and whether it holds after a loss.

    ``N = ceil(P (1 + h) / C) + r``, and with r lost every limit must hold at ``P / (N - r)``.

    :param headroom: the part by which loads are raised.
    :param replicas: how many there are.
    :param spare: how many may be lost.
    """
    left = replicas - spare
    rows = []
    for limit in LIMITS:
        load, has = demand.loads[limit], supply[limit]
        after = load / left if left > 0 else None
        fits = has is None or load <= 0 or (after is not None and after <= has * (1 + 1e-9))
        rows.append(
            LimitRow(
                limit=limit,
                unit=UNITS[limit],
                has=has,
                load=load * (1 + headroom),
                needed=triggerers_for(load * (1 + headroom), has),
                after_loss=after,
                holds_after_loss=fits,
                origin=demand.origins.get(limit, "assumed"),
            )
        )
    return tuple(rows)


def kind_rows(profile: Profile, calibrations: Calibrations, supply: Supply) -> tuple[KindRow, ...]:
    """How many triggers of each class a triggerer holds, were it to hold no others; the largest first."""
    rows = []
    for (path, poll), curve in profile.classes.items():
        kind = calibrations.kind(path)
        weights = weights_of(kind, poll)
        fits = {
            limit: Estimate(max(0.0, math.floor(has / weights[limit] + 1e-6)), _fit_origin(limit, kind))
            for limit in LIMITS[:-1]
            if (has := supply[limit]) is not None and weights[limit] > 0
        }
        rows.append(
            KindRow(
                kind=path,
                poll_interval=poll or kind.poll_interval,
                peak=curve.highest(),
                fits=fits,
                binding=min(fits, key=lambda limit: fits[limit].value),
                origin=kind.origin,
            )
        )
    return tuple(sorted(rows, key=lambda row: -row.peak))


def _fit_origin(limit: LimitName, kind: Kind) -> Origin:
    return "bounded" if limit in ("capacity", "descriptors") else kind.origin
