"""The identity of one piece of work: the same for every attempt of the same delivery and code."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import orders_settings
from orders_errors import InvalidOrders

from airflow_landmark.deliveries import Delivery
from airflow_landmark.markers import Interval

__all__ = ["Operation"]


@dataclass(frozen=True, kw_only=True)
class Operation:
    """What is being done: this version of that day, by this version of the code.

    :param name: the delivery's ``operation_id``; every attempt has the same, and nothing else has it.
    :param day: ``YYYY-MM-DD``: the partition that is replaced.
    :param start: the day's first instant, in UTC, without an offset: as the destination keeps times.
    :param end: the next day's first instant.
    :param version: the input's version: a correction has a higher one.
    :param code: the transformation's version: a mended one is higher.
    """

    name: str
    day: str
    start: datetime
    end: datetime
    version: int
    code: int

    @classmethod
    def of(cls, delivery: Delivery) -> Operation:
        """The operation on a delivery.

        :raises InvalidOrders: when the delivery is about anything but one day.
        """
        code = orders_settings.CODE_VERSION
        return cls(
            name=delivery.operation_id(str(code)),
            day=_day(delivery.interval),
            start=_plain(delivery.interval.start),
            end=_plain(delivery.interval.end),
            version=delivery.version,
            code=code,
        )

    @property
    def fence(self) -> tuple[int, int]:
        """What a guarded write compares: the input's version first, then the code's."""
        return self.version, self.code

    def __str__(self) -> str:
        return f"{self.day} version {self.version} (code {self.code}, {self.name})"


def _day(interval: Interval) -> str:
    """The local day that an interval is; it is 23 or 25 hours long when a clock changes."""
    zone = ZoneInfo(orders_settings.TIMEZONE)
    start, end = interval.start.astimezone(zone), interval.end.astimezone(zone)
    following = start.date() + timedelta(days=1)
    if (start.time(), end.time(), end.date()) != (datetime.min.time(), datetime.min.time(), following):
        raise InvalidOrders(f"expected one day in {zone}, found {interval}", [])
    return start.date().isoformat()


def _plain(instant: datetime) -> datetime:
    return instant.astimezone(timezone.utc).replace(tzinfo=None)
