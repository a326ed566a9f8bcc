"""When Dags start: asked from their own timetables, each distinct timetable once."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ._errors import MissingSoftware

if TYPE_CHECKING:
    from airflow.timetables.base import DagRunInfo, TimeRestriction, Timetable

__all__ = ["MOST_FIRES", "Fires", "decoded_timetable", "restriction_between"]

MOST_FIRES = 100_000
"""How many starts of one timetable are looked at: every minute for ten weeks."""
# Timetables without starts of their own: by hand, once, always, or when assets change.
_NO_STARTS = ("NullTimetable", "OnceTimetable", "ContinuousTimetable", "AssetTriggeredTimetable")
_CRON = (
    "airflow.timetables.trigger.CronTriggerTimetable",
    "airflow.timetables.interval.CronDataIntervalTimetable",
)
# These count from the Dag's start date, the others from the calendar.
_FROM_START = ("DeltaDataIntervalTimetable", "DeltaTriggerTimetable")


class Fires:
    """The starts between two moments, for timetables as Airflow serializes them.

    :param since: seconds since 1970; starts at this moment count.
    :param until: seconds since 1970; starts at this moment do not count.
    """

    def __init__(self, *, since: float, until: float) -> None:
        self._since = since
        self._until = until
        self._known: dict[str, tuple[float, ...]] = {}

    def of(
        self, timetable: Mapping[str, Any], *, start: float | None, end: float | None
    ) -> tuple[float, ...]:
        """When runs of a Dag start, in order; empty for one without a timetable of its own.

        :param start: the Dag's start date, seconds since 1970; None: none.
        :param end: its end date.
        :raises MissingSoftware: when Airflow is not installed.
        :raises Exception: whatever a timetable of the user raises.
        """
        name = str(timetable.get("__type", "")).rpartition(".")[2]
        if name in _NO_STARTS or "Asset" in name:
            return ()
        timetable = _same_starts(timetable)
        phase = start if name in _FROM_START else None
        key = json.dumps([timetable, phase], sort_keys=True, default=str)
        if key not in self._known:
            self._known[key] = self._between(timetable, phase)
        first, last = start or self._since, self._until if end is None else end
        found = self._known[key]
        if first <= self._since and last >= self._until:
            return found  # the same tuple for all Dags of one schedule
        return tuple(one for one in found if first <= one <= last)

    def _between(self, serialized: Mapping[str, Any], phase: float | None) -> tuple[float, ...]:
        timetable = decoded_timetable(serialized)
        if not timetable.can_be_scheduled:
            return ()
        first = _first(timetable, self._aligned(serialized, phase))
        if first is None:
            return ()
        # a run starts after its interval: the first one looked at lies an interval before the asked time
        lead = (first.run_after.timestamp() - _anchor(first)) * 1.2
        begin = self._since - lead - (7_200.0 if lead else 0.0)
        return self._walk(timetable, self._aligned(serialized, phase, begin))

    def _walk(self, timetable: Timetable, begin: float) -> tuple[float, ...]:
        found: list[float] = []
        info = _first(timetable, begin)
        while info is not None and len(found) < MOST_FIRES:
            at = info.run_after.timestamp()
            if at >= self._until:
                break
            if at >= self._since:
                found.append(at)
            info = _next(timetable, info, begin)
        return tuple(found)

    def _aligned(
        self, serialized: Mapping[str, Any], phase: float | None, moment: float | None = None
    ) -> float:
        """The moment to begin at: whole steps after the Dag's start, for timetables that count from it."""
        wanted = self._since if moment is None else moment
        step = _delta_seconds(serialized)
        if phase is None or not step:
            return wanted
        return phase + (wanted - phase) // step * step


def _same_starts(serialized: Mapping[str, Any]) -> Mapping[str, Any]:
    """A timetable with the same starts that is faster, and the same for all that have them.

    Cron intervals start their runs when they end, at the ticks of the same expression
    (``airflow/timetables/interval.py``, ``_cron.py``); asking for the interval costs four times as much.
    """
    if serialized.get("__type") not in _CRON:
        return serialized
    var = {name: serialized["__var"][name] for name in ("expression", "timezone")}
    return {"__type": _CRON[0], "__var": {**var, "interval": 0.0}}


def _delta_seconds(serialized: Mapping[str, Any]) -> float | None:
    """The step of a timetable of equal steps; None when its steps are months or not equal."""
    delta = serialized.get("__var", {}).get("delta")
    return float(delta) if isinstance(delta, (int, float)) else None


def decoded_timetable(serialized: Mapping[str, Any]) -> Timetable:
    """The timetable that Airflow has serialized.

    :raises MissingSoftware: when Airflow is not installed.
    :raises Exception: whatever a timetable of the user raises.
    """
    try:
        from airflow.serialization.decoders import decode_timetable  # noqa: PLC0415
    except ModuleNotFoundError:
        text = "asking them needs Airflow: pip install 'airflow-landmark[airflow]'"
        raise MissingSoftware("the Dags' timetables", text) from None
    return decode_timetable(dict(serialized))


def _first(timetable: Timetable, begin: float) -> DagRunInfo | None:
    return _next(timetable, None, begin)


def _next(timetable: Timetable, last: DagRunInfo | None, begin: float) -> DagRunInfo | None:
    return timetable.next_dagrun_info_v2(last_dagrun_info=last, restriction=restriction_between(begin, None))


def restriction_between(earliest: float, latest: float | None) -> TimeRestriction:
    """What a timetable is asked with: all dates from ``earliest`` to ``latest``, both inclusive."""
    from airflow.sdk import timezone  # noqa: PLC0415
    from airflow.timetables.base import TimeRestriction  # noqa: PLC0415

    last = None if latest is None else timezone.from_timestamp(latest)
    return TimeRestriction(timezone.from_timestamp(earliest), last, catchup=True)


def _anchor(info: DagRunInfo) -> float:
    """From where the timetable counts: its interval's start, or the run's own moment."""
    start = info.data_interval.start if info.data_interval else info.run_after
    return min(start.timestamp(), info.run_after.timestamp())
