"""What kinds of triggers cost: the figures shipped with the package, and files of the user's own."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from ._errors import InvalidPlan, Unreachable
from ._kinds import Budget, Kind
from ._toml import toml_of

__all__ = ["Calibrations", "calibration_text", "load_calibrations"]

_VERSION = 1
_LONGEST = 1_000_000
_KIB = 1024.0
_UNITS = {
    "memory_kib": ("memory_bytes", _KIB),
    "check_ms": ("check_cpu", 1e-3),
    "start_ms": ("start_cpu", 1e-3),
}
_NUMBERS = (*_UNITS, "descriptors", "lines", "requests", "poll_interval")
_WORDS = ("origin", "version", "date", "machine")
_ORIGINS = ("measured", "bounded", "assumed")


@dataclass(frozen=True)
class Calibrations:
    """What is known of kinds.

    :ivar kinds: by class path.
    :ivar families: prefixes of class paths with the class path of a kind that is like them.
    :ivar unknown: what is assumed of all others.
    """

    kinds: Mapping[str, Kind]
    families: tuple[tuple[str, str], ...]
    unknown: Kind
    budget: Budget

    def kind(self, path: str) -> Kind:
        """What a trigger of this class costs; of one that nobody measured, an assumption."""
        if path in self.kinds:
            return self.kinds[path]
        like = next((like for prefix, like in self.families if path.startswith(prefix)), None)
        found = self.kinds[like] if like else self.unknown
        basis = f"assumed like {found.label}" if like else "assumed, not measured"
        return replace(found, path=path, origin="assumed", version=basis, date="", machine="")

    def full_path(self, name: str) -> str:
        """The class path of a kind that is given by its class name only; others as they are."""
        known = [path for path in self.kinds if path.rpartition(".")[2] == name]
        return known[0] if len(known) == 1 else name

    def with_kinds(self, kinds: Iterable[Kind]) -> Calibrations:
        """These, and for the same class path these instead."""
        return replace(self, kinds={**self.kinds, **{kind.path: kind for kind in kinds}})


def load_calibrations(*paths: Path) -> Calibrations:
    """The shipped figures, with those of files of the user's own before them, the last file first.

    :raises InvalidPlan: when a file is not as it must be.
    :raises Unreachable: when one cannot be read.
    """
    found = _shipped()
    for path in paths:
        found = found.with_kinds(_own(path))
    return found


def calibration_text(kinds: Iterable[Kind]) -> str:
    """A file that ``load_calibrations`` reads."""
    parts = [f"version = {_VERSION}\n"]
    for kind in kinds:
        lines = ["[[kind]]", f"path = {_quoted(kind.path)}"]
        for name in _NUMBERS:
            field, factor = _UNITS.get(name, (name, 1.0))
            lines.append(f"{name} = {round(getattr(kind, field) / factor, 6)}")
        lines += [f"{name} = {_quoted(getattr(kind, name))}" for name in _WORDS]
        parts.append("\n".join(lines) + "\n")
    return "\n".join(parts)


@cache
def _shipped() -> Calibrations:
    text = files(__package__).joinpath("_calibrations.toml").read_text(encoding="utf-8")
    document = toml_of(text)
    kinds = {table["path"]: _kind(table) for table in document["kind"]}
    families = tuple((one["prefix"], one["like"]) for one in document["family"])
    return Calibrations(
        kinds, families, _kind({"path": "", **document["unknown"]}), _budget(document["budget"])
    )


def _budget(table: Mapping[str, Any]) -> Budget:
    sizes = {f"{name}_bytes": table[f"{name}_mib"] * _KIB**2 for name in ("memory", "requests_memory")}
    names = {field.name for field in fields(Budget)} - set(sizes)
    return Budget(**sizes, **{name: table[name] for name in names})


def _kind(table: Mapping[str, Any]) -> Kind:
    values: dict[str, Any] = {name: table[name] for name in _WORDS if name in table}
    for name in _NUMBERS:
        field, factor = _UNITS.get(name, (name, 1.0))
        if name in table:
            values[field] = float(table[name]) * factor
    return Kind(path=table["path"], **values)


def _own(path: Path) -> list[Kind]:
    try:
        with path.open("rb") as file:
            data = file.read(_LONGEST + 1)
        text = data.decode()
    except (OSError, UnicodeDecodeError) as error:
        raise Unreachable(
            str(path), f"cannot be read: {getattr(error, 'strerror', 'it is no UTF-8')}"
        ) from None
    problems: list[str] = []
    if len(data) > _LONGEST:
        raise InvalidPlan(str(path), [f"the file has more than {_LONGEST:,} bytes"])
    try:
        document = toml_of(text)
    except (ValueError, RecursionError) as error:
        raise InvalidPlan(str(path), [f"this is not TOML: {error}"]) from None
    if document.get("version") != _VERSION:
        problems.append(f"version: expected {_VERSION}, found {document.get('version')!r}")
    tables = document.get("kind")
    if not isinstance(tables, list) or not tables:
        raise InvalidPlan(str(path), [*problems, "expected [[kind]] tables, found none"])
    for number, table in enumerate(tables, 1):
        problems += [f"[[kind]] number {number}, {text}" for text in _problems(table)]
    if problems:
        raise InvalidPlan(str(path), problems)
    return [_kind(table) for table in tables]


def _problems(table: Any) -> Iterable[str]:
    if not isinstance(table, dict) or not isinstance(table.get("path"), str) or not table["path"]:
        yield "path: expected the trigger's class path"
        return
    for name in sorted(set(table) - {"path", *_NUMBERS, *_WORDS}):
        yield f"{name[:40]!r}: there is no such field"
    for name in ("memory_kib", "check_ms"):
        if name not in table:
            yield f"{name}: missing"
    for name in _NUMBERS:
        value = table.get(name, 1.0)
        least_ok = isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value < 1e12
        if not least_ok or (name == "poll_interval" and value == 0):
            yield f"{name}: expected a number from 0, found {value!r}"
    if table.get("origin", "measured") not in _ORIGINS:
        yield f"origin: expected one of {', '.join(_ORIGINS)}, found {table['origin']!r}"
    for name in _WORDS[1:]:
        if not isinstance(table.get(name, ""), str):
            yield f"{name}: expected a text"


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + re.sub(r"[^ -~]", "?", escaped) + '"'
