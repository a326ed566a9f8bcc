"""Right and wrong deliveries, byte by byte: one day for each wait."""

from __future__ import annotations

import hashlib
import json
import os
from datetime import date, datetime, timedelta, timezone
from pathlib import Path
from typing import Protocol

from httpserver import HttpServer, Page

__all__ = ["FolderPlace", "Place", "Truth", "WebPlace", "day_of", "interval_of", "parcel"]

Truth = dict[str, tuple[int, int]]
"""Version and amount of each day's delivery."""

_FIRST = date(2000, 1, 1)
MARKER, FILE = "_delivery.json", "orders.csv"


def day_of(number: int) -> str:
    """The day that a wait waits for."""
    return str(_FIRST + timedelta(days=number))


def interval_of(day: str) -> tuple[str, str]:
    """A day in UTC as two instants."""
    return f"{day}T00:00:00Z", f"{date.fromisoformat(day) + timedelta(days=1)}T00:00:00Z"


def parcel(*, day: str, version: int, amount: int, skew: float = 0.0) -> dict[str, bytes]:
    """The documents of a delivery by name, the marker last.

    :param amount: what its data sum up to.
    :param skew: seconds by which the clock of its producer is wrong.
    """
    data = f"amount\n{amount - 1}\n1\n".encode()
    start, end = interval_of(day)
    digests = {"sha256": hashlib.sha256(data).hexdigest()}
    marker = {
        "spec": "landmark/1",
        "dataset": "shop/orders",
        "interval": {"start": start, "end": end},
        "version": version,
        "created_at": (datetime.now(tz=timezone.utc) + timedelta(seconds=skew)).isoformat(),
        "files": [{"path": FILE, "size": len(data), "rows": 2, "digests": digests}],
    }
    return {FILE: data, MARKER: json.dumps(marker).encode()}


class Place(Protocol):
    """Where a partner puts deliveries."""

    def uri(self, day: str) -> str:
        """The marker's address."""

    def put(self, day: str, documents: dict[str, bytes], *, skew: float = 0.0) -> None:
        """Put each document in place of the old one, at once, in the given order."""


class FolderPlace:
    """A local folder, with one folder for each wait.

    :param root: of all.
    """

    def __init__(self, root: Path) -> None:
        self._root = root

    def uri(self, day: str) -> str:
        """The marker's path."""
        return str(self._root / day / MARKER)

    def put(self, day: str, documents: dict[str, bytes], *, skew: float = 0.0) -> None:
        """Rename each document into place; ``skew`` moves its time stamps."""
        folder = self._root / day
        folder.mkdir(parents=True, exist_ok=True)
        for name, data in documents.items():
            half = folder / f".{name}.half"
            half.write_bytes(data)
            if skew:
                stat = half.stat()
                os.utime(half, (stat.st_atime + skew, stat.st_mtime + skew))
            half.replace(folder / name)


class WebPlace:
    """Pages of a web server.

    :param server: that serves them.
    :param origin: by which the waits reach it.
    """

    def __init__(self, server: HttpServer, origin: str) -> None:
        self._server = server
        self._origin = origin

    def uri(self, day: str) -> str:
        """The marker's address."""
        return f"{self._origin}/{day}/{MARKER}"

    def put(self, day: str, documents: dict[str, bytes], *, skew: float = 0.0) -> None:
        """Serve the documents; ``skew`` moves what the server says of time."""
        then = datetime.now(tz=timezone.utc) + timedelta(seconds=skew)
        stamp = then.strftime("%a, %d %b %Y %H:%M:%S GMT")
        for name, data in documents.items():
            self._server.pages[f"/{day}/{name}"] = Page.of(data, modified=stamp, headers={"Date": stamp})
