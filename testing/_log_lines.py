"""The lines of a task's log as text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

__all__ = ["log_line"]


def log_line(entry: str | Mapping[str, Any]) -> str:
    """Return an entry of the REST API's log as text: time, level, message, and the errors under it."""
    if isinstance(entry, str):
        return entry
    parts = [entry.get(name) for name in ("timestamp", "level", "event")]
    first = " ".join(str(part) for part in parts if part is not None)
    return "\n".join([first, *_errors(entry.get("error_detail"))])


def _errors(details: Any) -> Iterator[str]:
    for error in details or ():
        yield f"{error.get('exc_type')}: {error.get('exc_value')}"
        for frame in error.get("frames") or ():
            yield f'  File "{frame.get("filename")}", line {frame.get("lineno")}, in {frame.get("name")}'
