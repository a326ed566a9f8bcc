r"""What a Dag declares of a foreign format, since its documents do not tell it.

A declaration is a flat mapping of texts. ``dataset``, ``interval`` and ``version`` say where each comes
from: constant text, with placeholders in braces. ``{name}`` is a named group of the regular expression
``path`` over the marker's address, or of ``line`` over a line of the document; ``{/a/b}`` is a field of
the document, by JSON pointer (RFC 6901)::

    {"path": r"/dt=(?P<day>[0-9-]+)/_SUCCESS$", "timezone": "UTC",
     "dataset": "orders", "interval": "{day}", "version": "1"}
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from ._errors import InvalidDeclaration, InvalidInterval
from ._interval import Interval, parse_instant
from ._judge import DATASET_PATTERN
from ._marker import MAX_VERSION
from ._placeholders import PLACEHOLDER, fill_text, groups_of, is_open, values_of
from ._problems import show
from ._report import Report

__all__ = ["SUBJECT", "Subject", "check_declared", "subject_of"]

SUBJECT = ("dataset", "interval", "version")
"""What judging needs of every marker."""

_SOURCES = frozenset({*SUBJECT, "path", "line", "timezone"})
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
_LENGTH = re.compile(r"\+([0-9]{1,6})([smh])", re.ASCII)
_UNITS = {"s": "seconds", "m": "minutes", "h": "hours"}
_WHOLE = re.compile(r"0{0,15}[0-9]{1,16}", re.ASCII)


@dataclass(frozen=True, slots=True)
class Subject:
    """What a delivery is about."""

    dataset: str
    interval: Interval
    version: int


def check_declared(
    declared: Mapping[str, str],
    *,
    example: str,
    required: Sequence[str] = SUBJECT,
    options: Iterable[str] = (),
    templates: Iterable[str] = (),
    has_fields: bool = True,
    has_lines: bool = True,
) -> None:
    """Refuse a declaration that could never be read with; templates are checked once they are rendered.

    :param example: of a right declaration, for the message.
    :param required: what has to be declared.
    :param options: further keys that the format knows.
    :param templates: those of them whose text may hold placeholders too.
    :param has_fields: whether the documents have fields, for ``{/pointer}``.
    :param has_lines: whether they have lines, for ``line``.
    :raises InvalidDeclaration: naming the key, with the example.
    """
    known = _SOURCES.union(options) - (set() if has_lines else {"line"})
    for key, text in declared.items():
        if key not in known:
            raise InvalidDeclaration(f"{show(key)} is not known (known: {', '.join(sorted(known))})")
        if not isinstance(text, str) or not text:
            raise InvalidDeclaration(f"{key} must be text, not {show(text)}; for example {example}")
    missing = [key for key in required if key not in declared]
    if missing:
        raise InvalidDeclaration(
            f"declare {' and '.join(missing)} too: nothing is guessed; such as {example}"
        )
    groups = {name for key in ("path", "line") if key in declared for name in groups_of(key, declared[key])}
    try:
        _check_zone(declared.get("timezone"))
        for key in (*SUBJECT, *templates):
            _check_text(key, declared, groups=groups, has_fields=has_fields)
    except InvalidDeclaration as error:
        raise InvalidDeclaration(f"{error}; for example {example}") from None


def _check_text(key: str, declared: Mapping[str, str], *, groups: set[str], has_fields: bool) -> None:
    text = declared.get(key, "")
    if is_open(text):
        return
    _check_placeholders(key, text, groups, has_fields=has_fields)
    if text and key in SUBJECT and not PLACEHOLDER.search(text):
        _check_constant(key, text, declared.get("timezone"))


def subject_of(
    declared: Mapping[str, str], *, report: Report, fields: Any = None, text: str | None = None
) -> Subject | None:
    """Dataset, interval and version, as the declaration says.

    :param declared: checked; ``uri`` holds the marker's address.
    :param report: takes what is wrong.
    :param fields: the document as parsed JSON, for ``{/pointer}``.
    :param text: the document as text, for ``line``.
    :returns: ``None`` when something is wrong.
    """
    before = report.total
    values = values_of(declared, report=report, text=text)
    filled = {key: fill_text(key, declared[key], values, fields, report) for key in SUBJECT}
    if report.total > before:
        return None
    dataset = _dataset(filled["dataset"], report)
    interval = _interval(filled["interval"], declared.get("timezone"), report)
    version = _version(filled["version"], report)
    if dataset is None or interval is None or version is None:
        return None
    return Subject(dataset, interval, version)


def _check_zone(zone: str | None) -> None:
    """An interval that is told by the marker would show a wrong zone only when it arrives."""
    if zone is None or is_open(zone):
        return
    try:
        Interval.parse("2024-10-01", timezone_name=zone)
    except InvalidInterval:
        raise InvalidDeclaration(
            f"timezone must be an IANA name such as Europe/Berlin, not {show(zone)}"
        ) from None


def _check_placeholders(key: str, text: str, groups: set[str], *, has_fields: bool) -> None:
    for name in PLACEHOLDER.findall(text):
        if name in groups or (has_fields and name.startswith("/")):
            continue
        kind = "a group of path or line" if _NAME.fullmatch(name) else "a name or a /pointer"
        if name.startswith("/"):
            kind = "possible: the documents of this format have no fields"
        raise InvalidDeclaration(f"{key}: {{{show(name)[1:-1]}}} is not {kind}")
    if "{" in (rest := PLACEHOLDER.sub("", text)) or "}" in rest:
        raise InvalidDeclaration(f"{key}: a brace in {show(text)} belongs to no placeholder")


def _check_constant(key: str, text: str, zone: str | None) -> None:
    report = Report()
    if key == "dataset":
        _dataset(text, report)
    elif key == "version":
        _version(text, report)
    elif zone is None or not is_open(zone):
        _interval(text, zone, report)
    if report.total:
        raise InvalidDeclaration(report.problems[0].text)


def _dataset(text: str, report: Report) -> str | None:
    if re.fullmatch(DATASET_PATTERN, text):
        return text
    report.add("invalid text", place="dataset", expected="1 to 200 of A-Z a-z 0-9 . _ / -", found=show(text))
    return None


def _version(text: str, report: Report) -> int | None:
    if _WHOLE.fullmatch(text) and 1 <= int(text) <= MAX_VERSION:
        return int(text)
    report.add("out of range", place="version", expected="a whole number from 1 to 2**53-1", found=show(text))
    return None


def _interval(text: str, zone: str | None, report: Report) -> Interval | None:
    """``START/END``, a bare day in ``timezone``, or ``START/+15m``: a fixed length in s, m or h."""
    start, _, end = text.partition("/")
    length = _LENGTH.fullmatch(end)
    try:
        if length is None:
            return Interval.parse(text, timezone_name=zone)
        first = parse_instant(start)
        return Interval(first, first + timedelta(**{_UNITS[length[2]]: int(length[1])}))
    except (InvalidInterval, OverflowError) as error:
        expected = "START/END, START/+1h, or a day together with timezone"
        report.add("invalid interval", place="interval", expected=expected, found=show(str(error), limit=150))
        return None
