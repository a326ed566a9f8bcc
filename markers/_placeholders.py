"""Placeholders of declarations, and what fills them: groups of patterns, and fields of documents.

The patterns are the Dag author's own, what they search is not: an address of at most 4,096 characters, and
of a document the first and last 1,000 lines, none longer than 1,024 characters. Within these bounds a
pattern whose cost grows with the square of a line takes seconds at worst. No bound helps against one whose
repeats nest, such as ``(a+)+$``: it can take for ever on forty characters, in Python as elsewhere.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from ._errors import InvalidDeclaration
from ._marker import MAX_VERSION
from ._problems import show
from ._report import Report

__all__ = ["PLACEHOLDER", "field_of", "fill_text", "groups_of", "is_open", "values_of"]

PLACEHOLDER = re.compile(r"\{([^{}]*)\}")
"""``{name}`` or ``{/pointer}``."""

_INDEX = re.compile(r"0|[1-9][0-9]{0,6}", re.ASCII)
_MAX_ADDRESS = 4096
_MAX_LINE = 1024
_MAX_LINES = 1000
"""So many lines are searched at the start of a document, and at its end."""
_MAX_VALUE = 1000


def is_open(text: str) -> bool:
    """Whether the text is a template that is rendered only when the task runs."""
    return "{{" in text or "{%" in text


def groups_of(key: str, pattern: str) -> Iterable[str]:
    """The names of the groups of a regular expression.

    :raises InvalidDeclaration: when it is none, or a template.
    """
    if is_open(pattern):
        raise InvalidDeclaration(f"{key} must be a regular expression without a template")
    try:
        return re.compile(pattern).groupindex
    except (re.error, OverflowError, RecursionError) as error:
        raise InvalidDeclaration(f"{key} is not a regular expression: {show(str(error))}") from None


def _named(key: str, declared: Mapping[str, str], lines: Iterable[str], report: Report) -> dict[str, str]:
    """The named groups of the first line that the pattern is found in."""
    pattern = re.compile(declared[key])
    for line in lines:
        match = pattern.search(line)
        if match is not None:
            return {name: value for name, value in match.groupdict().items() if value is not None}
    what = "the address" if key == "path" else "a line of the document"
    report.add("undeclared", place=key, expected=f"{what} that matches {show(declared[key])}", found="none")
    return {}


def values_of(declared: Mapping[str, str], *, report: Report, text: str | None = None) -> dict[str, str]:
    """The named groups of ``path`` in the marker's address and of ``line`` in the document's text."""
    values: dict[str, str] = {}
    if "path" in declared:
        values |= _named("path", declared, [declared.get("uri", "")[:_MAX_ADDRESS]], report)
    if "line" in declared:
        values |= _named("line", declared, _searched_lines(text or ""), report)
    return values


def _searched_lines(text: str) -> Iterable[str]:
    lines = text.splitlines()
    if len(lines) > 2 * _MAX_LINES:
        lines = lines[:_MAX_LINES] + lines[-_MAX_LINES:]
    return (line for line in lines if len(line) <= _MAX_LINE)


def fill_text(key: str, text: str, values: Mapping[str, str], fields: Any, report: Report) -> str:
    """The text of a key with its placeholders replaced by named groups and fields."""

    def value_of(match: re.Match[str]) -> str:
        name = match[1]
        value = field_of(fields, name) if name.startswith("/") else values.get(name)
        if value is None:
            report.add("undeclared", place=key, expected=f"a value for {{{show(name)[1:-1]}}}", found="none")
            return ""
        return value[:_MAX_VALUE]

    return PLACEHOLDER.sub(value_of, text)


def field_of(document: Any, pointer: str) -> str | None:
    """Text or whole number that the JSON pointer leads to; ``None`` when it leads to none."""
    for part in pointer[1:].split("/"):
        key = part.replace("~1", "/").replace("~0", "~")
        if isinstance(document, Mapping):
            document = document.get(key)
        elif isinstance(document, list) and _INDEX.fullmatch(key) and int(key) < len(document):
            document = document[int(key)]
        else:
            return None
    if isinstance(document, str):
        return document
    return str(document) if type(document) is int and abs(document) <= MAX_VERSION else None
