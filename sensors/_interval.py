"""Which interval a run waits for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from airflow_landmark.markers import Interval, InvalidInterval, parse_instant, show

from ._errors import WaitMisconfigured

__all__ = ["interval_of"]

_HINT = (
    "give it to the sensor, such as interval=('{{ data_interval_start }}', '{{ data_interval_end }}'), "
    "or let the Dag have one: schedule=CronDataIntervalTimetable('0 0 * * *', timezone='UTC')"
)


def interval_of(given: Any, context: Mapping[str, Any]) -> Interval:
    """The interval that was given, or else the run's data interval.

    A cron string or a timedelta as schedule gives runs of Airflow 3 a data interval without a length,
    and runs by assets have none: neither is guessed from.

    :param given: two instants, each RFC 3339 text or an aware ``datetime``; or text with a slash between
        them; ``None`` takes the run's.
    :raises WaitMisconfigured: saying which line to add.
    """
    if given is None:
        return _of_run(context)
    if isinstance(given, str):
        given = given.split("/")
    if not isinstance(given, Sequence) or len(given) != 2:
        raise WaitMisconfigured(f"interval must be two instants, not {show(str(given))}: {_HINT}")
    try:
        return Interval(*(_instant(value) for value in given))
    except InvalidInterval as error:
        raise WaitMisconfigured(f"interval: {error}") from None


def _of_run(context: Mapping[str, Any]) -> Interval:
    start, end = context.get("data_interval_start"), context.get("data_interval_end")
    if start is None or end is None:
        raise WaitMisconfigured(f"this run has no data interval: {_HINT}")
    if start == end:
        raise WaitMisconfigured(f"this run's data interval has no length ({start}): {_HINT}")
    try:
        return Interval(start, end)
    except InvalidInterval as error:
        raise WaitMisconfigured(f"this run's data interval: {error}") from None


def _instant(value: Any) -> datetime:
    if isinstance(value, datetime):
        return value
    # A rendered {{ data_interval_start }} has a blank where RFC 3339 has a T.
    text = str(value).strip()
    return parse_instant(f"{text[:10]}T{text[11:]}" if text[10:11] == " " else text)
