"""Reading tables of a TOML file strictly: every problem with its line and its field, all of them at once."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from datetime import date, datetime, time
from pathlib import Path
from typing import Any, TypeVar
from zoneinfo import ZoneInfo

from ._errors import InvalidPlan, Unreachable
from ._toml import toml_of

__all__ = ["Document", "Table", "read_document", "seconds_of"]

_LONGEST = 4_000_000
_MOST_PROBLEMS = 20
_SHOWN = 60
_TEN_YEARS = 3660 * 86_400.0
_UNITS = {"s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0, "d": 86_400.0, "w": 604_800.0}
_PART = re.compile(r"(\d+(?:\.\d+)?)\s*(s|min|m|h|d|w)", re.ASCII)
_HEADER = re.compile(r"\s*\[(\[)?\s*([A-Za-z0-9_.-]+)\s*\]?\]")
_KEY = re.compile(r"""\s*["']?([A-Za-z0-9_-]+)["']?\s*(?:\.\s*[A-Za-z0-9_-]+\s*)*=""")
_EXPECTED_DURATION = 'a duration in seconds, or a text such as "20m", "4h" or "1d 12h"'

_Choice = TypeVar("_Choice", bound=str)


class Document:
    """A file's tables, and what is wrong with them.

    :ivar place: the file's name.
    """

    def __init__(self, place: str, text: str, data: Mapping[str, Any]) -> None:
        self.place = place
        self._data = data
        self._lines = _lines(text)
        self._problems: list[str] = []
        self._asked: set[str] = set()

    def table(self, name: str) -> Table:
        """The table of this name; an empty one when there is none."""
        self._asked.add(name)
        found = self._data.get(name, {})
        if not isinstance(found, dict):
            self.problem(self._line(name, 0, None), name, f"expected a table [{name}], found {_shown(found)}")
            found = {}
        return Table(self, name, 0, found)

    def tables(self, name: str) -> list[Table]:
        """All tables ``[[name]]``."""
        self._asked.add(name)
        found = self._data.get(name, [])
        if not isinstance(found, list) or not all(isinstance(one, dict) for one in found):
            self.problem(self._line("", 0, name), name, f"expected tables [[{name}]], found {_shown(found)}")
            return []
        return [Table(self, name, index, one) for index, one in enumerate(found)]

    def version(self, expected: int) -> None:
        """Check the format's version."""
        self._asked.add("version")
        found = self._data.get("version")
        if found != expected or isinstance(found, bool):
            line = self._line("", 0, "version")
            self.problem(line, "version", f"expected {expected}, found {_shown(found)}")

    def problem(self, line: int | None, where: str, text: str) -> None:
        """Note a problem."""
        place = f"line {line}, {where}" if line else where
        self._problems.append(f"{place}: {text}")

    def finish(self) -> None:
        """End the reading.

        :raises InvalidPlan: when there was a problem, or something that nobody asked for.
        """
        for name in self._data:
            if name not in self._asked:
                line = self._line("", 0, name) or self._line(name, 0, None)
                known = ", ".join(sorted(self._asked))
                self.problem(line, _shown(name), f"there is no such table or field; there are {known}")
        if self._problems:
            more = len(self._problems) - _MOST_PROBLEMS
            shown = self._problems[:_MOST_PROBLEMS] + ([f"and {more} more problems"] if more > 0 else [])
            raise InvalidPlan(self.place, shown)

    def line(self, table: str, index: int, field: str | None) -> int | None:
        """The line of a field, or of its table when it has none; None: not found."""
        return self._line(table, index, field) or self._line(table, index, None)

    def _line(self, table: str, index: int, field: str | None) -> int | None:
        return self._lines.get((table, index, field))


class Table:
    """One table; every reader takes a field, checks it, and notes what is wrong.

    After a problem a reader returns its default, so that the rest can be checked too.
    """

    def __init__(self, document: Document, name: str, index: int, data: Mapping[str, Any]) -> None:
        self._document = document
        self._name = name
        self._index = index
        self._data = data
        self._asked: set[str] = set()

    def __contains__(self, field: str) -> bool:
        return field in self._data

    def problem(self, field: str, text: str) -> None:
        """Note a problem with a field."""
        line = self._document.line(self._name, self._index, field)
        own = self._data.get("name")
        called = f" {_shown(own)}" if isinstance(own, str) else ""
        shown = f"[[{self._name}]]{called}" if called or self._index else f"[{self._name}]"
        self._document.problem(line, f"{shown}, {field}", text)

    def finish(self) -> None:
        """Note fields that nobody asked for."""
        for field in self._data:
            if field not in self._asked:
                self.problem(
                    field[:_SHOWN], f"there is no such field; there are {', '.join(sorted(self._asked))}"
                )

    def value(self, field: str) -> Any:
        """A field as it is; None when it is missing."""
        self._asked.add(field)
        return self._data.get(field)

    def text(self, field: str, default: str = "", *, required: bool = False) -> str:
        """A text of 1 to 200 printable characters."""
        found = self.value(field)
        if found is None:
            if required:
                self.problem(field, "is missing")
            return default
        if not isinstance(found, str) or not 1 <= len(found) <= 200 or not found.isprintable():
            self.problem(field, f"expected a text of 1 to 200 characters, found {_shown(found)}")
            return default
        return found

    def texts(self, field: str) -> tuple[str, ...]:
        """A list of texts, or one text."""
        found = self.value(field)
        if found is None:
            return ()
        listed = [found] if isinstance(found, str) else found
        if not isinstance(listed, list) or not all(
            isinstance(one, str) and one.isprintable() for one in listed
        ):
            self.problem(field, f"expected a list of texts, found {_shown(found)}")
            return ()
        return tuple(listed)

    def choice(self, field: str, choices: tuple[_Choice, ...], default: _Choice) -> _Choice:
        """One of some words."""
        found = self.value(field)
        for one in choices:
            if found == one:
                return one
        if found is not None:
            self.problem(field, f"expected one of {', '.join(choices)}, found {_shown(found)}")
        return default

    def flag(self, field: str, default: bool = False) -> bool:
        """True or false."""
        found = self.value(field)
        if found is None or isinstance(found, bool):
            return default if found is None else found
        self.problem(field, f"expected true or false, found {_shown(found)}")
        return default

    def whole(self, field: str, default: int, *, least: int = 0, most: int = 10_000_000) -> int:
        """A whole number."""
        found = self.value(field)
        if found is None:
            return default
        if isinstance(found, bool) or not isinstance(found, int) or not least <= found <= most:
            self.problem(field, f"expected a whole number from {least} to {most}, found {_shown(found)}")
            return default
        return found

    def optional_whole(self, field: str, *, least: int = 1) -> int | None:
        """A whole number, or None when it is missing."""
        return self.whole(field, least, least=least) if field in self._data else self.value(field)

    def number(self, field: str, default: float, *, least: float = 0.0, most: float = 1e9) -> float:
        """A number."""
        found = self.value(field)
        if found is None:
            return default
        if not _is_number(found) or not least <= found <= most:
            self.problem(field, f"expected a number from {least:g} to {most:g}, found {_shown(found)}")
            return default
        return float(found)

    def seconds(self, field: str, default: float | None = None) -> float | None:
        """A duration, in seconds."""
        found = self.value(field)
        if found is None:
            return default
        seconds = seconds_of(found)
        if seconds is None:
            self.problem(field, f"expected {_EXPECTED_DURATION}, found {_shown(found)}")
            return default
        return seconds

    def instant(self, field: str, zone: str) -> float | None:
        """A date or a date and time, local to ``zone`` unless it has an offset; seconds since 1970."""
        found = self.value(field)
        if found is None:
            return None
        if isinstance(found, date) and not isinstance(found, datetime):
            found = datetime.combine(found, time())
        if not isinstance(found, datetime):
            self.problem(field, f"expected a date such as 2026-03-01, found {_shown(found)}")
            return None
        return (found if found.tzinfo else found.replace(tzinfo=ZoneInfo(zone))).timestamp()

    def zone(self, field: str, default: str) -> str:
        """The name of a time zone that this machine knows."""
        found = self.text(field, default)
        try:
            ZoneInfo(found)
        except (OSError, KeyError, ValueError):
            self.problem(field, f"expected a time zone such as Europe/Berlin, found {_shown(found)}")
            return default
        return found


def read_document(path: Path) -> Document:
    """A TOML file.

    :raises Unreachable: when it cannot be read.
    :raises InvalidPlan: when it is not TOML.
    """
    try:
        with path.open("rb") as file:
            data = file.read(_LONGEST + 1)
    except OSError as error:
        raise Unreachable(str(path), f"cannot be read: {error.strerror}") from None
    if len(data) > _LONGEST:
        raise InvalidPlan(str(path), [f"the file has more than {_LONGEST:,} bytes"])
    try:
        text = data.decode("utf-8-sig")
        return Document(str(path), text, toml_of(text))
    except UnicodeDecodeError:
        raise InvalidPlan(str(path), ["the file is not UTF-8"]) from None
    except ValueError as error:
        raise InvalidPlan(str(path), [f"this is not TOML: {error}"]) from None
    except RecursionError:
        raise InvalidPlan(str(path), ["this is nested too deeply"]) from None


def seconds_of(value: Any) -> float | None:
    """A duration in seconds: a number from 0 to ten years, or numbers with units; None: neither."""
    if _is_number(value):
        return float(value) if 0 <= value <= _TEN_YEARS else None
    if not isinstance(value, str) or len(value) > _SHOWN:
        return None
    parts = _PART.findall(value)
    if not parts or _PART.sub("", value).strip():
        return None
    total = math.fsum(float(number) * _UNITS[unit] for number, unit in parts)
    return total if total <= _TEN_YEARS else None


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def _shown(value: Any) -> str:
    """What was found, short and without anything that a terminal would obey."""
    text = "nothing" if value is None else ascii(value)
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 3]}..."


def _lines(text: str) -> dict[tuple[str, int, str | None], int]:
    """(table, number of this name, field) to line; field None: the header. tomllib does not tell.

    Lines within texts and lists of several lines are taken for what they look like: a hint, not a proof.
    """
    found: dict[tuple[str, int, str | None], int] = {}
    counts: dict[str, int] = {}
    table, index = "", 0
    for number, line in enumerate(text.splitlines(), 1):
        if header := _HEADER.match(line):
            table = header[2]
            index = counts.get(table, 0)
            counts[table] = index + 1
            found[table, index, None] = number
        elif key := _KEY.match(line):
            found.setdefault((table, index, key[1]), number)
    return found
