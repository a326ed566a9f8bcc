"""The URL of a database that holds a ledger: how it is shown, and its driver."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sqlalchemy import URL

__all__ = ["place_of_url", "with_driver"]

_DRIVERS = ("psycopg2", "psycopg")
_FILE = re.compile(r"(sqlite(?:\+\w+)?://[^?]*)(?:\?.*)?", re.DOTALL)
_SERVER = re.compile(
    r"(?P<scheme>[A-Za-z][\w.+-]*://)(?:.*@)?"
    r"(?P<rest>(?:[\w.,-]*|\[[0-9A-Fa-f:.%]+\])(?::\d+)?(?:/[^?#]*)?)(?:[?#].*)?",
    re.ASCII | re.DOTALL,
)


def place_of_url(url: object) -> str:
    """The URL as errors show it: without user, password and query; one that is no URL is not shown."""
    text = str(url)
    if file := _FILE.fullmatch(text):
        return file[1][:200]
    server = _SERVER.fullmatch(text)
    return (server["scheme"] + server["rest"])[:200] if server else "the ledger's URL"


def with_driver(url: URL) -> URL:
    """A URL that names no driver gets one that is installed: which one is the default has changed."""
    from importlib.util import find_spec  # noqa: PLC0415 - where it is used

    driver = next((one for one in _DRIVERS if find_spec(one)), None)
    bare = url.drivername in ("postgresql", "postgres") and driver is not None
    return url.set(drivername=f"postgresql+{driver}") if bare else url
