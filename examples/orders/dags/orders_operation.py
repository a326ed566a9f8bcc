"""The identity of one piece of work: the same for every attempt of the same delivery and code."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime, time, timedelta, timezone
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
    :param sha256: of the marker: tells the same version with other bytes.
    """

    name: str
    day: str
    start: datetime
    end: datetime
    version: int
    code: int
    sha256: str

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
            sha256=delivery.stamp.sha256,
        )

    @property
    def fence(self) -> tuple[int, int]:
        """What a guarded write compares: the input's version first, then the code's."""
        return self.version, self.code

    def __str__(self) -> str:
        return f"{self.day} version {self.version} (code {self.code}, {self.name})"


def _day(interval: Interval) -> str:
    """The local day that an interval is; it is 23 or 25 hours long when a clock changes."""
    day, following = _begun(interval.start), _begun(interval.end)
    if day is None or following != day + timedelta(days=1):
        raise InvalidOrders(f"expected one day in {orders_settings.TIMEZONE}, found {interval}", [])
    return day.isoformat()


def _begun(instant: datetime) -> date | None:
    """The local day that begins at an instant; ``None`` when none does.

    Where clocks are put forward at midnight a day begins at one. Where they are put back midnight comes
    twice, and either is taken: ``landmark deliver`` writes the first, Airflow's cron schedule the second.
    """
    zone = ZoneInfo(orders_settings.TIMEZONE)
    local = instant.astimezone(zone)
    first = datetime.combine(local.date(), time(), zone).astimezone(timezone.utc)
    return local.date() if local.time() == time() or first == instant else None


def _plain(instant: datetime) -> datetime:
    return instant.astimezone(timezone.utc).replace(tzinfo=None)
