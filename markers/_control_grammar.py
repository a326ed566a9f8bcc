r"""The small grammars of control files: text in, records of named values out.

=============  ====================================================================================
``grammar``    ``key=value``: one record, a value a line, ``#`` comments; ``rows``: one record a line;
               ``regex``: one record for each line that ``line`` is found in, its named groups
``separator``  of ``key=value``, between key and value; ``=`` by default
``delimiter``  of ``rows``, between values; one ASCII character. Quotes are those of CSV
``columns``    of ``rows``: the names of the values, with spaces or commas between
``header``     of ``rows``: ``true``: the first line holds the names
=============  ====================================================================================

Blanks around keys and values of ``key=value`` are no part of them; in rows and groups every character is.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from ._data_shape import check_delimiter
from ._errors import InvalidDeclaration
from ._marker import MAX_FILES
from ._options import check_choice, wants
from ._placeholders import groups_of
from ._problems import show
from ._report import Report

__all__ = ["GRAMMAR_OPTIONS", "Record", "check_grammar", "names_of", "read_records"]

GRAMMAR_OPTIONS = ("grammar", "separator", "delimiter", "columns", "header")

_OPTIONS_OF: Mapping[str, tuple[str, ...]] = {
    "key=value": ("separator",),
    "rows": ("delimiter", "columns", "header"),
    "regex": (),
}
_MAX_LINES = 2 * MAX_FILES
_MAX_LINE_CHARS = 4096
_LINE_END = re.compile(r"\r\n|\r|\n")


@dataclass(frozen=True, slots=True)
class Record:
    """Values by name.

    :param line: where they stand, from 1; 0 for the end of a file whose lines are not counted.
    :param lines: the same for each name where they stand on several lines.
    """

    values: Mapping[str, str]
    line: int
    lines: Mapping[str, int] = field(default_factory=dict)

    def place(self, name: str) -> str:
        """Of one value, for people."""
        line = self.lines.get(name, self.line)
        return f"{f'line {line}' if line else 'last line'}, {show(name, limit=40)[1:-1]}"


def check_grammar(declared: Mapping[str, str]) -> None:
    """Refuse what no grammar is.

    :raises InvalidDeclaration: naming the option.
    """
    check_choice(declared, "grammar", _OPTIONS_OF)
    grammar = declared["grammar"]
    for option in GRAMMAR_OPTIONS[1:]:
        if option in declared and option not in _OPTIONS_OF[grammar]:
            raise InvalidDeclaration(f"{option} means nothing in the grammar {grammar}")
    check_choice(declared, "header")
    check_delimiter(declared, "delimiter")
    if grammar == "regex" and "line" not in declared:
        raise InvalidDeclaration(r"the grammar regex needs line, such as (?P<FILE>\S+) (?P<RECORDS>\d+)")
    if grammar == "rows" and "delimiter" not in declared:
        raise InvalidDeclaration("the grammar rows needs delimiter, such as |")
    if grammar == "rows" and ("columns" in declared) == wants(declared, "header"):
        raise InvalidDeclaration('the grammar rows needs either columns or "header": "true"')
    columns = _columns(declared)
    if len(set(columns)) < len(columns):
        raise InvalidDeclaration("columns must name each column once")


def names_of(declared: Mapping[str, str]) -> frozenset[str] | None:
    """The names that records will have; ``None`` when only the document tells."""
    if declared["grammar"] == "regex":
        return frozenset(groups_of("line", declared["line"]))
    return frozenset(_columns(declared)) or None


def read_records(text: str, declared: Mapping[str, str], *, report: Report) -> list[Record]:
    """The records of a control file; what is wrong with a line is reported with its number."""
    if text.count("\n") + text.count("\r") > _MAX_LINES:
        report.add("too large", place="document", expected=f"at most {_MAX_LINES} lines", found="more")
        return []
    lines = list(_lines(text, report))
    before = report.total
    if declared["grammar"] == "key=value":
        records = _key_value(lines, declared.get("separator", "="), report)
    elif declared["grammar"] == "rows":
        records = _rows(lines, declared, report)
    else:
        pattern = re.compile(declared["line"])
        found = ((number, pattern.search(line)) for number, line in lines)
        records = [Record(_groups(match), number) for number, match in found if match is not None]
    if not records and report.total == before:
        report.add("empty", place="document", expected="a record", found="none")
    return records


def _lines(text: str, report: Report) -> Iterator[tuple[int, str]]:
    """Numbered lines that hold something."""
    for number, line in enumerate(_LINE_END.split(text), start=1):
        if len(line) > _MAX_LINE_CHARS:
            expected = f"at most {_MAX_LINE_CHARS} characters"
            report.add("too large", place=f"line {number}", expected=expected, found=str(len(line)))
        elif line.strip():
            yield number, line


def _key_value(lines: Sequence[tuple[int, str]], separator: str, report: Report) -> list[Record]:
    values: dict[str, str] = {}
    places: dict[str, int] = {}
    for number, line in lines:
        if line.lstrip().startswith("#"):
            continue
        key, found, value = line.partition(separator)
        key = key.strip()
        if not found or not key:
            expected = f"a key, {show(separator)} and a value"
            report.add("syntax", place=f"line {number}", expected=expected, found="none")
        elif key in values:
            report.add("repeated key", place=f"line {number}", expected="each key once", found=show(key))
        else:
            values[key], places[key] = value.strip(), number
    return [Record(values, lines[-1][0], places)] if values else []


def _rows(lines: Sequence[tuple[int, str]], declared: Mapping[str, str], report: Report) -> list[Record]:
    names: Sequence[str] = _columns(declared)
    records = []
    for number, line in lines:
        row = _row(line, declared["delimiter"])
        if row is None:
            report.add("syntax", place=f"line {number}", expected="values", found="quotes that do not fit")
        elif not names:
            names = [name.strip() for name in row]
            if len(set(names)) < len(names):
                report.add(
                    "repeated key", place=f"line {number}", expected="each name once", found="one again"
                )
        elif len(row) == len(names):
            records.append(Record(dict(zip(names, row, strict=True)), number))
        else:
            expected = f"{len(names)} values: {', '.join(map(show, names))[:120]}"
            report.add("syntax", place=f"line {number}", expected=expected, found=f"{len(row)}")
    return records


def _row(line: str, delimiter: str) -> list[str] | None:
    try:
        return next(csv.reader([line], delimiter=delimiter, strict=True))
    except csv.Error:
        return None


def _columns(declared: Mapping[str, str]) -> list[str]:
    return declared.get("columns", "").replace(",", " ").split()


def _groups(match: re.Match[str]) -> dict[str, str]:
    return {name: value for name, value in match.groupdict().items() if value is not None}
