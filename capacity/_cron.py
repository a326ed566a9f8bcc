"""Cron expressions, read and expanded as Airflow's timetables do it."""

from __future__ import annotations

import calendar
import re
from dataclasses import dataclass
from datetime import date, datetime, timedelta, timezone
from functools import lru_cache
from zoneinfo import ZoneInfo

__all__ = ["CronFields", "cron_fires"]

_PRESETS = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@quarterly": "0 0 1 */3 *",
    "@yearly": "0 0 1 1 *",
}
_FIELDS = (
    ("minute", 0, 59),
    ("hour", 0, 23),
    ("day of month", 1, 31),
    ("month", 1, 12),
    ("day of week", 0, 6),
)
_MONTHS = {name.lower(): number for number, name in enumerate(calendar.month_abbr) if name}
_WEEKDAYS = {name.lower(): (number + 1) % 7 for number, name in enumerate(calendar.day_abbr)}
_ITEM = re.compile(r"(?:(\*)|([0-9a-z]{1,3})(?:-([0-9a-z]{1,3}))?)(?:/([0-9]{1,3}))?", re.ASCII)
_NTH = re.compile(r"([0-9a-z]{1,3})#([1-5])", re.ASCII)


@dataclass(frozen=True)
class CronFields:
    """What an expression of five fields matches.

    :ivar weekdays: 0 is Sunday.
    :ivar nth: (weekday, n): the n-th of its kind in a month.
    :ivar last_day: whether the last day of a month matches.
    :ivar any_day: whether the field of days of the month is ``*``.
    :ivar any_weekday: whether the field of days of the week is ``*``.
    :ivar every_hour: whether the field of hours is ``*``.
    """

    minutes: tuple[int, ...]
    hours: tuple[int, ...]
    days: frozenset[int]
    months: frozenset[int]
    weekdays: frozenset[int]
    nth: frozenset[tuple[int, int]]
    last_day: bool
    any_day: bool
    any_weekday: bool
    every_hour: bool

    @classmethod
    def parse(cls, expression: str) -> CronFields:
        """Five fields with lists, ranges, steps and names; ``L`` and ``5#2``; or a preset such as ``@daily``.

        :raises ValueError: when it is something else; the text says what.
        """
        text = _PRESETS.get(expression.strip().lower(), expression).lower()
        parts = text.replace("?", "*").split()
        if len(parts) != len(_FIELDS):
            presets = ", ".join(_PRESETS)
            raise ValueError(f"{expression!r} is not a cron expression of five fields, nor one of {presets}")
        days = [item for item in parts[2].split(",") if item != "l"]
        weekdays = [item for item in parts[4].split(",") if not _NTH.fullmatch(item)]
        nth = [match.groups() for item in parts[4].split(",") if (match := _NTH.fullmatch(item))]
        minutes, hours = _values(0, parts[0].split(",")), _values(1, parts[1].split(","))
        found_days, found_weekdays = _values(2, days), _values(4, weekdays)
        return cls(
            minutes=tuple(sorted(minutes)),
            hours=tuple(sorted(hours)),
            days=frozenset(found_days),
            months=frozenset(_values(3, parts[3].split(","))),
            weekdays=frozenset(found_weekdays),
            nth=frozenset((_number(4, day), int(n)) for day, n in nth),
            last_day="l" in parts[2].split(","),
            any_day=len(found_days) == 31,
            any_weekday=len(found_weekdays) == 7,
            every_hour=len(hours) == 24,
        )

    def matches(self, day: date) -> bool:
        """Whether the expression has times on this day. Two restricted day fields mean either of them."""
        if day.month not in self.months:
            return False
        by_month = day.day in self.days or (self.last_day and _is_last(day))
        weekday = day.isoweekday() % 7
        by_week = weekday in self.weekdays or (weekday, (day.day + 6) // 7) in self.nth
        if self.any_day or self.any_weekday:
            return by_month and by_week
        return by_month or by_week


def cron_fires(fields: CronFields, zone: ZoneInfo, *, begin: float, end: float) -> list[float]:
    """The instants in [begin, end), in order.

    As Airflow does it (``airflow/timetables/_cron.py``, ``_get_next``): an expression for every hour goes
    by elapsed time, so that a day of 25 hours has 25 of them; others go by the clock on the wall, where a
    time that does not exist moves forward and one that comes twice counts once, the second time.
    """
    found: list[float] = []
    day = _day_of(begin, zone) - timedelta(days=1)
    last = _day_of(end, zone)
    while day <= last:
        if fields.matches(day):
            found += _of_day(fields, zone, day)
        day += timedelta(days=1)
    return sorted({at for at in found if begin <= at < end})


@lru_cache(maxsize=4096)
def _midnights(zone: ZoneInfo, day: date) -> tuple[float, float]:
    first = datetime(day.year, day.month, day.day, tzinfo=zone)
    following = day + timedelta(days=1)
    second = datetime(following.year, following.month, following.day, tzinfo=zone)
    return first.timestamp(), second.timestamp()


def _of_day(fields: CronFields, zone: ZoneInfo, day: date) -> list[float]:
    first, second = _midnights(zone, day)
    plain = second - first == 86_400.0
    if plain or fields.every_hour:
        hours = range(round((second - first) / 3600)) if fields.every_hour else fields.hours
        return [first + 3600.0 * hour + 60.0 * minute for hour in hours for minute in fields.minutes]
    walls = (
        datetime(day.year, day.month, day.day, hour, minute, tzinfo=zone)
        for hour in fields.hours
        for minute in fields.minutes
    )
    # the later one is the second of two equal times, and lies behind the gap for a time that does not exist
    return [max(wall.timestamp(), wall.replace(fold=1).timestamp()) for wall in walls]


def _day_of(instant: float, zone: ZoneInfo) -> date:
    return datetime.fromtimestamp(instant, tz=timezone.utc).astimezone(zone).date()


def _is_last(day: date) -> bool:
    return (day + timedelta(days=1)).month != day.month


def _values(field: int, items: list[str]) -> set[int]:
    found: set[int] = set()
    for item in items:
        found |= _range(field, item)
    return found


def _range(field: int, item: str) -> set[int]:
    name, least, most = _FIELDS[field]
    match = _ITEM.fullmatch(item)
    if match is None:
        raise ValueError(f"{item!r} is not a {name}")
    everything, first, last, step = match.groups()
    low = least if everything else _number(field, first)
    high = most if everything or (step and not last) else _number(field, last or first, upper=bool(last))
    if high < low or step == "0":
        raise ValueError(f"{item!r} is an empty range of {name}s")
    values = range(low, high + 1, int(step or 1))
    return {value % 7 for value in values} if field == 4 else set(values)


def _number(field: int, text: str, *, upper: bool = False) -> int:
    name, least, most = _FIELDS[field]
    names = {3: _MONTHS, 4: _WEEKDAYS}.get(field, {})
    value = names.get(text, int(text) if text.isdigit() else -1)
    if field == 4 and (value == 7 or (upper and value == 0)):
        return 7 if upper else 0
    if not least <= value <= most:
        raise ValueError(f"{text!r} is not a {name} from {least} to {most}")
    return value
