"""The interval: a half-open span between two UTC instants."""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta, timezone
from zoneinfo import ZoneInfo

from ._errors import InvalidInterval

__all__ = ["Interval", "format_instant", "parse_instant"]

_INSTANT = re.compile(
    r"(\d{4}-\d{2}-\d{2})T(\d{2}:\d{2}:\d{2})(?:\.(\d{1,6})0*)?(Z|[+-]\d{2}:[0-5]\d)?", re.ASCII
)
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)


def parse_instant(text: str) -> datetime:
    """The UTC instant that an RFC 3339 text names.

    The offset is required, and fractions end at microseconds, since a finer one could not be kept.

    :raises InvalidInterval: for dates, naive times, durations and impossible instants.
    """
    match = _INSTANT.fullmatch(text) if len(text) <= 64 else None
    if match is None:
        raise InvalidInterval(f"{_quote(text)} is not an RFC 3339 instant such as 2024-10-01T00:00:00Z")
    day, clock, fraction, offset = match.groups()
    if offset is None:
        raise InvalidInterval(f"{_quote(text)} has no offset: append Z or, say, +02:00")
    digits = (fraction or "").ljust(6, "0")
    shown = "+00:00" if offset == "Z" else offset
    try:
        return datetime.fromisoformat(f"{day}T{clock}.{digits}{shown}").astimezone(timezone.utc)
    except (ValueError, OverflowError):
        raise InvalidInterval(f"{_quote(text)} names no instant between the years 1 and 9999") from None


def format_instant(instant: datetime) -> str:
    """RFC 3339 in UTC with Z, with a fraction only when there is one."""
    text = instant.astimezone(timezone.utc).replace(tzinfo=None).isoformat()
    return f"{text}Z"


@dataclass(frozen=True, slots=True, order=True)
class Interval:
    """Half-open ``[start, end)``: two aware instants, kept in UTC, ``end`` after ``start``.

    Equality is equality of instants: ``T02:00:00+02:00`` equals ``T00:00:00Z``.

    :raises InvalidInterval: for naive instants, and when ``end`` is not after ``start``.
    """

    start: datetime
    end: datetime

    def __post_init__(self) -> None:
        for name in ("start", "end"):
            object.__setattr__(self, name, _to_utc(name, getattr(self, name)))
        if self.end <= self.start:
            raise InvalidInterval(
                f"end must be after start: {format_instant(self.start)} to {format_instant(self.end)}"
            )

    @classmethod
    def parse(cls, text: str, *, timezone_name: str | None = None) -> Interval:
        """Two RFC 3339 instants with a slash; with a zone, ``2024-10-01`` is that local day.

        A day is 23, 24 or 25 hours long, by the zone's clock changes.

        :param timezone_name: IANA name for a bare day; ``None`` refuses bare days.
        :raises InvalidInterval: when the text is neither.
        """
        if _DAY.fullmatch(text):
            return cls._local_day(text, timezone_name)
        start, slash, end = text.partition("/")
        if not slash:
            raise InvalidInterval(
                f"{_quote(text)} is not an interval: write START/END, "
                "such as 2024-10-01T00:00:00Z/2024-10-02T00:00:00Z"
            )
        return cls(parse_instant(start), parse_instant(end))

    @classmethod
    def _local_day(cls, text: str, zone_name: str | None) -> Interval:
        if zone_name is None:
            raise InvalidInterval(
                f"{_quote(text)} is a day without a time zone: name one, such as Europe/Berlin"
            )
        try:
            zone, day = _zone(zone_name), date.fromisoformat(text)
        except (ValueError, OSError, KeyError):
            raise InvalidInterval(f"no day {_quote(text)} in a time zone {_quote(zone_name)}") from None
        if day == date.max:
            raise InvalidInterval(f"{_quote(text)} has no following day")
        first, last = (datetime.combine(d, time(), zone) for d in (day, day + timedelta(days=1)))
        return cls(first, last)

    def to_json(self) -> dict[str, str]:
        """``{"start", "end"}`` as RFC 3339 text in UTC."""
        return {"start": format_instant(self.start), "end": format_instant(self.end)}

    def __str__(self) -> str:
        return f"{format_instant(self.start)}/{format_instant(self.end)}"


@functools.lru_cache(maxsize=1024)
def _zone(name: str) -> ZoneInfo:
    # ZoneInfo itself keeps the last eight: a zone that was checked before must not be read from disk again
    # by whoever must not block.
    return ZoneInfo(name)


def _to_utc(name: str, value: datetime) -> datetime:
    if not isinstance(value, datetime) or value.utcoffset() is None:
        raise InvalidInterval(f"{name} must be a datetime with an offset, not {_quote(str(value))}")
    try:
        # A plain datetime, whatever subclass came in, so that equal intervals also serialize alike.
        moved = value.astimezone(timezone.utc)
    except OverflowError:
        raise InvalidInterval(f"{name} lies outside the years 1 to 9999") from None
    return datetime(
        moved.year, moved.month, moved.day, moved.hour, moved.minute, moved.second, moved.microsecond,
        tzinfo=timezone.utc,
    )  # fmt: skip


def _quote(text: str) -> str:
    return ascii(text[:80])
