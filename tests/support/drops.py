"""What partners drop, right and wrong, for the end-to-end tests."""

from __future__ import annotations

from datetime import date, timedelta
from pathlib import Path

from airflow_landmark.deliveries import Announced, Announcement, announce, run
from airflow_landmark.markers import Expectation, Interval

DAY = date(2026, 5, 1)


def instants(day: date) -> tuple[str, str]:
    """A day in UTC as two instants."""
    return f"{day}T00:00:00Z", f"{day + timedelta(days=1)}T00:00:00Z"


def conf(folder: Path, *, day: date = DAY) -> dict[str, str]:
    """The run's conf for a wait on the marker of a folder."""
    start, end = instants(day)
    return {"uri": f"{folder}/_delivery.json", "start": start, "end": end}


def deliver(folder: Path, *, day: date = DAY, version: int = 1, text: str = "id\n1\n2\n") -> Announced:
    """Write a data file and announce it."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "orders.csv").write_text(text)
    expectation = Expectation("shop/orders", Interval.parse("/".join(instants(day))), version)
    return run(lambda: announce(str(folder), Announcement(expectation)))


def drop(folder: Path, document: bytes) -> None:
    """Put any bytes in place of a marker, at once."""
    folder.mkdir(parents=True, exist_ok=True)
    temporary = folder / ".drop"
    temporary.write_bytes(document)
    temporary.replace(folder / "_delivery.json")
