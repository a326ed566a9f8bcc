"""A trigger's arguments as plain JSON. Airflow stores them readably: what may be secret is not kept."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime, timedelta
from pathlib import PurePath
from typing import Any

from airflow_landmark.markers import MAX_VERSION, Interval, format_instant
from airflow_landmark.stores import InvalidAccess, InvalidAddress, options_of, parse_uri

__all__ = ["plain", "plain_options", "plain_uri"]

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):")


def plain_uri(value: Any) -> Any:
    """The URI as plain JSON, without what looks like user, password and query: such a one is refused later.

    What is left is not a valid URI either, so that no other place is waited for instead. Never raises.
    """
    uri = plain(value)
    if not isinstance(uri, str) or not _SCHEME.match(uri):
        return uri
    try:
        parse_uri(uri, folder=True)
    except InvalidAddress:
        place, *query = re.split(r"[?#]", uri, maxsplit=1)
        if "@" in "".join(query):  # then the mark may belong to a password
            return f"{place.partition(':')[0]}://***@"
        place = re.sub(r":.*@", "://***@", place, count=1, flags=re.DOTALL)
        return f"{place}?***" if query else place
    except Exception:  # noqa: BLE001 - any exception of the constructor would end the triggerer
        return "<uri: cannot be read>"
    return uri


def plain_options(uri: Any, options: Any) -> Any:
    """The options as plain JSON; ``None`` in place of every value that is not one of an option.

    Such a value may be a secret, and is refused later. Never raises.
    """
    kept = plain(options)
    scheme = _SCHEME.match(uri) if isinstance(uri, str) else None
    if not isinstance(kept, dict):
        return kept if kept is None else "<no options>"
    return {
        name: value if _is_option(scheme[1].lower() if scheme else "file", name, value) else None
        for name, value in kept.items()
    }


def _is_option(scheme: str, name: str, value: Any) -> bool:
    try:
        options_of(scheme, {name: value})
    except InvalidAccess:
        return False
    return True


def plain(value: Any) -> Any:
    """The argument as plain JSON; never raises."""
    try:
        return _converted(value)
    except Exception:  # noqa: BLE001 - any exception of the constructor would end the triggerer
        return f"<{type(value).__name__}: cannot be read>"


def _converted(value: Any) -> Any:
    if value is None or isinstance(value, bool):
        return value
    # Subclasses, such as members of enumerations, become what they are made of.
    if isinstance(value, int) and abs(int.__index__(value)) <= MAX_VERSION:
        return int.__index__(value)
    if isinstance(value, float) and abs(float.__float__(value)) <= MAX_VERSION:  # NaN compares as false
        return float.__float__(value)
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, PurePath):
        return str(value)
    if isinstance(value, timedelta):
        return value.total_seconds()
    if isinstance(value, datetime) and value.utcoffset() is not None:
        return format_instant(value)
    if isinstance(value, Interval):
        return str(value)
    if isinstance(value, Mapping):
        return {str(name): _converted(entry) for name, entry in value.items()}
    return f"<{type(value).__name__}: not a plain value>"
