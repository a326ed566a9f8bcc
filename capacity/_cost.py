"""What each way of waiting costs: worker slots, delay, checks of the source, database writes, money.

The interval sets the delay, the mode sets the slot cost; deferring does not make fewer checks.
"""

from __future__ import annotations

import math
import random
from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from ._durations import Duration

__all__ = ["MODES", "Cost", "CostMode", "Recommendation", "Terms", "cost", "recommend", "simulated_cost"]

CostMode = Literal["poke", "reschedule", "deferrable", "start_from_trigger"]
MODES: tuple[CostMode, ...] = ("poke", "reschedule", "deferrable", "start_from_trigger")

_NEGLIGIBLE = 1e-9
_MOST_CHECKS = 2_000_000
_BLINK = 2.0
_LONG_POLL = 600.0
_STEP = 1e-9


@dataclass(frozen=True, kw_only=True)
class Terms:
    """What a wait is.

    :ivar arrival: when what is waited for is there, counted from the first check.
    :ivar poll_interval: seconds between two checks.
    :ivar start: seconds of a worker slot that every start of a task takes before it does anything.
    :ivar check: seconds of one check.
    :ivar price: of one request to the source, in any currency.
    """

    arrival: Duration
    poll_interval: float
    start: float = 2.0
    check: float = 1.0
    price: float = 0.0


@dataclass(frozen=True, kw_only=True)
class Cost:
    """What one wait costs on average.

    :ivar slot_seconds: of a worker slot.
    :ivar delay: seconds from the arrival to the check that sees it.
    :ivar checks: of the source.
    :ivar rows: rows written to the database, audit log included.
    :ivar trigger_seconds: of a triggerer's place.
    :ivar requests_cost: checks times price.
    """

    mode: CostMode
    poll_interval: float
    slot_seconds: float
    delay: float
    checks: float
    rows: float
    trigger_seconds: float
    requests_cost: float


@dataclass(frozen=True)
class Recommendation:
    """The mode to choose, and why."""

    mode: CostMode
    reason: str


def cost(mode: CostMode, terms: Terms) -> Cost:
    """The average cost, by closed forms.

    With checks at 0, p, 2p, ... and an arrival X the check that sees it is number ``floor(X / p) + 1``, so
    ``E[checks] = sum over k >= 0 of P(X >= k p)``, and ``E[delay] = p E[checks] - E[X]``. For a uniform
    arrival in (0, n p) that is (n + 1) / 2 and p / 2.
    """
    interval = terms.poll_interval
    checks = _expected_checks(terms.arrival, interval)
    return _cost(mode, terms, checks=checks, delay=interval * checks - terms.arrival.mean)


def simulated_cost(mode: CostMode, terms: Terms, *, draws: int = 20_000, seed: int = 7) -> Cost:
    """The same by drawing arrivals: what the closed form is compared with."""
    arrivals = _draws(terms.arrival, draws, seed)
    seen = [math.floor(one / terms.poll_interval) + 1 for one in arrivals]
    delays = [count * terms.poll_interval - one for count, one in zip(seen, arrivals, strict=True)]
    return _cost(mode, terms, checks=sum(seen) / draws, delay=math.fsum(delays) / draws)


def recommend(terms: Terms, *, costs: dict[CostMode, Cost], defers: bool = True) -> Recommendation:
    """The mode to choose for a wait.

    :param costs: of each mode.
    :param defers: whether there is a trigger for it, and room in the triggerers.
    """
    mean, interval = terms.arrival.mean, terms.poll_interval
    if mean <= _BLINK or mean <= terms.start:
        return Recommendation("poke", f"it lasts {mean:.0f} s on average, less than a second start takes")
    reschedule, deferrable = costs["reschedule"], costs["deferrable"]
    if not defers:
        best: CostMode = "poke" if costs["poke"].slot_seconds <= reschedule.slot_seconds else "reschedule"
        return Recommendation(best, "there is no trigger for it, or no room: the fewest slot seconds")
    if interval >= _LONG_POLL and reschedule.slot_seconds <= 2 * deferrable.slot_seconds:
        reason = f"checks every {interval / 60:g} minutes cost little more worker time than deferring, "
        return Recommendation("reschedule", reason + "and no trigger")
    saved = costs["poke"].slot_seconds - deferrable.slot_seconds
    return Recommendation("deferrable", f"{saved:,.0f} worker-slot seconds a wait fewer than poking")


def _cost(mode: CostMode, terms: Terms, *, checks: float, delay: float) -> Cost:
    """The published table's terms: a rescheduled check is a start and a check, a deferral is two starts."""
    lasts = checks * terms.poll_interval
    slots: dict[CostMode, Callable[[], float]] = {
        "poke": lambda: lasts,
        "reschedule": lambda: checks * (terms.start + terms.check),
        "deferrable": lambda: 2 * terms.start + terms.check,
        "start_from_trigger": lambda: terms.start,
    }
    # audit rows: running and the end; a row of task_reschedule and two audit rows a rescheduled check;
    # running, deferred, running, the end, and a trigger that is written and deleted
    rows = {"poke": 2.0, "reschedule": 3.0 * checks, "deferrable": 6.0, "start_from_trigger": 4.0}
    waits = mode in ("deferrable", "start_from_trigger")
    return Cost(
        mode=mode,
        poll_interval=terms.poll_interval,
        slot_seconds=slots[mode](),
        delay=delay,
        checks=checks,
        rows=rows[mode],
        trigger_seconds=lasts if waits else 0.0,
        requests_cost=checks * terms.price,
    )


def _expected_checks(arrival: Duration, interval: float) -> float:
    """``1 + sum over k >= 1 of P(X >= k p)``; X may lie exactly on a check, hence the step to its left."""
    checks, number = 1.0, 1
    while number < _MOST_CHECKS:
        at = number * interval
        alive = arrival.survival(at - min(_STEP * at, interval / 2))
        checks += alive
        if alive < _NEGLIGIBLE:
            return checks
        number += 1
    return checks + arrival.mean / interval - arrival.area(number * interval) / interval


@lru_cache(maxsize=8)
def _draws(arrival: Duration, draws: int, seed: int) -> Sequence[float]:
    dice = random.Random(seed)  # noqa: S311 - a repeatable simulation
    return [_drawn(arrival, dice.random()) for _ in range(draws)]


def _drawn(arrival: Duration, chance: float) -> float:
    """The arrival at this quantile: the survival function turned round, by bisection."""
    high = arrival.longest if math.isfinite(arrival.longest) else max(arrival.mean, 1.0)
    while arrival.survival(high) > 1 - chance and high < math.inf:
        high *= 2
    steps = 1 << 40
    place = bisect_left(range(steps), chance, key=lambda step: 1 - arrival.survival(high * step / steps))
    return high * place / steps
