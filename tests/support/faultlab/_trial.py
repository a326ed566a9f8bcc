"""One trial: open waits, mislead some, inject a fault, release, and count what became of them."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Sequence

from airflow_landmark.testing import NotInTime, wait_until

from ._faults import Fault
from ._lab import Lab
from ._parcels import Place
from ._record import Record

__all__ = ["RELEASED", "WAITS", "top_up", "trial"]

_LOG = logging.getLogger(__name__)

WAITS = int(os.environ.get("FAULTS_WAITS", "100"))
"""How many mapped waits are open at each fault, beside a single one."""
RELEASED = int(os.environ.get("FAULTS_RELEASED", "") or min(WAITS, 16))
"""How many of them get their delivery under the fault; the others go on waiting, for the next fault."""


def top_up(lab: Lab, place: Place) -> list[str]:
    """Start a single wait, and mapped ones until enough are open; the new ones, the single first."""
    days = lab.waits.start_one(place)
    missing = WAITS + 1 - len(lab.waits.open)
    return days + (lab.waits.start(missing, place) if missing > 0 else [])


def trial(
    lab: Lab,
    *,
    fault: str,
    inject: Fault,
    before: float = 0.0,
    during: float = 0.0,
    chosen: Sequence[str] | None = None,
    skew: float = 0.0,
) -> Record:
    """Try a fault once, and return what it has shown.

    :param fault: in words.
    :param before: share of the released waits whose delivery comes right before the fault.
    :param during: share of those whose delivery comes while it lasts; the others' comes once all run again.
    :param chosen: open waits that get their delivery; ``None`` draws them from all that are open, a single
        one among them.
    :param skew: seconds by which the clocks of the sources are wrong, ahead and behind by turns.
    """
    with lab.explained():
        lab.ready()
        days = list(chosen) if chosen else _choose(lab, top_up(lab, lab.folder))
        lab.waits.wait_deferred(lab.waits.open)
        lab.until_running(lab.waits.open)
        lab.waits.mislead(days[::2])
        used, ended, count = lab.usage(), len(lab.supervisor.exits), len(lab.waits.open)
        began = time.time()
        first, second, third = _split(days, before, during)
        lab.waits.release(first, skew=skew)
        _await_events(lab, len(first) // 3, began)
        with inject(lab):
            lab.waits.release(second, skew=skew)
        stuck, running = _until_running(lab, began)
        lab.waits.release(third, skew=skew)
        unfinished = _until_written(lab, days)
        lab.ready()
    found, now = lab.count(days), lab.usage()
    last = lab.destination.last_write(days)
    record = Record(
        fault=fault,
        way="workers",
        waits=count,
        released=len(days),
        lost=max(found.lost, unfinished) + stuck,
        wrong=found.wrong,
        doubled=found.doubled,
        unsettled=lab.unsettled(days),
        again=found.again,
        fired_again=lab.told.again(since=began),
        running=running,
        written=None if last is None else round(last - began, 1),
        memory=(used.memory, now.memory),
        descriptors=(used.descriptors, now.descriptors),
        exits=tuple(lab.supervisor.exits[ended:]),
    )
    lab.add(record)
    return record


def _choose(lab: Lab, days: Sequence[str]) -> list[str]:
    """Choose the single wait, and others among all that are open: many of them have seen faults before."""
    single, *_ = days
    others = [day for day in lab.waits.open if day != single]
    return [single, *lab.waits.dice.sample(others, min(RELEASED, len(others)))]


def _split(days: list[str], before: float, during: float) -> tuple[list[str], list[str], list[str]]:
    first, second = round(len(days) * before), round(len(days) * (before + during))
    return days[:first], days[first:second], days[second:]


def _await_events(lab: Lab, number: int, since: float) -> None:
    def fired() -> bool:
        return len(lab.told.count("fire", since=since)) >= number

    wait_until(check=fired, what=f"{number} events", seconds=120)


def _until_running(lab: Lab, began: float) -> tuple[int, float | None]:
    """How many open waits do not run again in time, and the seconds since the fault until all did."""
    days = list(lab.waits.open)
    if not days:
        return 0, None
    try:
        lab.until_running(days)
    except NotInTime:
        return len(set(days) - (set(lab.told.running()) & lab.waits.owned())), None
    return 0, round(time.time() - began, 1)


def _until_written(lab: Lab, days: list[str]) -> int:
    """How many of these are not written in time, or written by a task that did not end well."""
    try:
        lab.until_written(days)
    except NotInTime:
        _LOG.warning("%s", lab.where())
    return len(lab.unfinished(days))
