"""The time a task has: one absolute deadline over all its tries."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from typing import Any, Literal

from airflow_landmark.markers import Interval, InvalidInterval, format_instant, parse_instant

__all__ = ["Budget", "Memory", "budget_of"]

_log = logging.getLogger(__name__)

_KEEP = timedelta(days=7)
"""How much longer than the wait may last its memory is kept."""


@dataclass(frozen=True, slots=True)
class Budget:
    """When a wait ends, and what ends it.

    :param deadline: the earliest of the bounds.
    :param bound: the argument that set it: ``"timeout"``, ``"deadline"`` or ``"execution_timeout"``.
    :param try_ends: when this try has to be over; ``None`` without ``execution_timeout``.
    """

    deadline: datetime
    bound: Literal["timeout", "deadline", "execution_timeout"]
    try_ends: datetime | None

    def seconds_of_try(self) -> float | None:
        """Seconds left of this try, at least one; ``None`` without a bound."""
        if self.try_ends is None:
            return None
        return max(1.0, (self.try_ends - datetime.now(tz=timezone.utc)).total_seconds())

    @property
    def text(self) -> str:
        """For people."""
        return f"{format_instant(self.deadline)} (by {self.bound})"


class Memory:
    """What a task remembers over its tries, in Airflow's task state store.

    The store survives a clear, after which a wait starts anew: ``max_tries`` rises on a clear and never
    on a retry, so it is a part of every key. A store that fails is a memory without entries.

    :param context: the task's context.
    :param keep: how long entries are needed.
    """

    def __init__(self, context: Mapping[str, Any], *, keep: timedelta) -> None:
        self._store = context.get("task_state_store")
        self._suffix = getattr(context["ti"], "max_tries", 0)
        self._keep = keep + _KEEP

    def get(self, name: str) -> Any:
        """What was remembered; ``None`` when nothing was."""
        if self._store is None:
            return None
        try:
            return self._store.get(self._key(name))
        except Exception as error:  # noqa: BLE001 - backends are pluggable; the wait can do without
            _log.warning("The task state store cannot be read, the wait starts anew: %s", error)
            return None

    def put(self, name: str, value: Any) -> None:
        """Remember plain JSON."""
        if self._store is None:
            return
        try:
            self._store.set(self._key(name), value, retention=self._keep)
        except Exception as error:  # noqa: BLE001 - as above
            _log.warning("The task state store cannot be written, a retry will start anew: %s", error)

    def _key(self, name: str) -> str:
        return f"landmark_{name}_{self._suffix}"


def budget_of(
    context: Mapping[str, Any],
    memory: Memory,
    *,
    interval: Interval,
    timeout: float,
    deadline: float | None,
    execution_timeout: timedelta | None,
    rescheduled: bool,
) -> Budget:
    """The earliest of the three bounds.

    :param memory: keeps the instant of the first look, from which ``timeout`` counts over all tries.
    :param timeout: seconds from the first look of the first try.
    :param deadline: seconds after the interval's end; ``None`` for no such bound.
    :param execution_timeout: from this try's first start; ``None`` for no such bound.
    :param rescheduled: the try starts again and again: its first start has to be remembered.
    """
    bounds: list[tuple[datetime, Literal["timeout", "deadline", "execution_timeout"]]] = [
        (_later(_first("look", memory), timeout), "timeout")
    ]
    if deadline is not None:
        bounds.append((_later(interval.end, deadline), "deadline"))
    try_ends = None
    if execution_timeout is not None:
        # A little before Airflow's own alarm, which tells neither what was seen nor where time went.
        seconds = execution_timeout.total_seconds()
        try_ends = _later(_try_start(context, memory, rescheduled), seconds - min(2.0, seconds / 10))
        bounds.append((try_ends, "execution_timeout"))
    end, bound = min(bounds, key=lambda pair: pair[0])
    return Budget(end, bound, try_ends)


def _first(what: str, memory: Memory) -> datetime:
    """The instant that was remembered, or now, which is then remembered."""
    kept = memory.get(f"first_{what}")
    if isinstance(kept, str):
        try:
            return parse_instant(kept)
        except InvalidInterval:
            _log.warning("The task state store holds no instant for the first %s, it counts from now", what)
    now = datetime.now(tz=timezone.utc)
    memory.put(f"first_{what}", format_instant(now))
    return now


def _try_start(context: Mapping[str, Any], memory: Memory, rescheduled: bool) -> datetime:
    ti = context["ti"]
    if rescheduled:
        return _first(f"start_of_try_{ti.try_number}", memory)
    start = getattr(ti, "start_date", None)
    return start if isinstance(start, datetime) else datetime.now(tz=timezone.utc)


def _later(start: datetime, seconds: float) -> datetime:
    try:
        return start + timedelta(seconds=seconds)
    except OverflowError:
        return datetime.max.replace(tzinfo=timezone.utc)
