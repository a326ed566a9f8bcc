"""What partners drop, right and wrong, for the end-to-end tests."""

from __future__ import annotations

import json
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


def hostile_documents() -> list[bytes]:
    """Markers that would end a triggerer or a database write if their values went into an event."""
    start_, end = instants(DAY)
    good = {
        "spec": "landmark/1",
        "dataset": "shop/orders",
        "interval": {"start": start_, "end": end},
        "version": 1,
        "files": [],
        "totals": {"files": 0},
    }
    texts = {
        "producer": '"\\ud800"',
        "created_at": '"\\u0000"',
        "status": '{"__type": "datetime", "__var": 0.0}',
    }
    document = json.dumps(good)
    return [
        document.replace('"version": 1', f'"version": {"9" * 30}').encode(),
        document.replace('"version": 1', '"version": NaN').encode(),
        document.replace('"version": 1', '"version": 1e400').encode(),
        *(document.replace("{", f'{{"{key}": {value}, ', 1).encode() for key, value in texts.items()),
        document.replace('"shop/orders"', '{"__classname__": "builtins.eval", "__id__": 1}').encode(),
        document.replace('"files": []', '"files": ' + "[" * 5000 + "]" * 5000).encode(),
        b"\xff\xfe" + document.encode("utf-16-le"),
    ]
