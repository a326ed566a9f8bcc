r"""What the values of a control file or a trailer mean: declared one by one, nothing is guessed.

``field.records: RECCOUNT`` says that the value named ``RECCOUNT`` counts the data file's records:

===================  ==============================================================================
``field.file``       the data file's path, in the folder
``field.records``    how many data records it has; with ``records_include: all`` how many records
``field.bytes``      its size
``field.md5`` ...    a digest in hex: any algorithm of the manifest
``field.sum``        the sum of the numbers in ``sum_column``: a name in the header, or its number
``field.sequence``   a whole number, then also ``{/sequence}`` without leading zeros
``field.date``       a day written as ``date_format`` says, then also ``{/date}``: ``2024-10-01``
===================  ==============================================================================

``date_format`` holds ``%Y``, ``%m`` and ``%d``, each once. Counts may have leading zeros.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import date

from ._control_grammar import Record
from ._data_shape import SHAPE_OPTIONS, DataShape
from ._decimal import exact_decimal
from ._errors import InvalidDeclaration
from ._hex import LENGTHS, read_hex
from ._manifest import FileEntry
from ._marker import MAX_VERSION
from ._options import check_choice
from ._problems import show
from ._report import Report

__all__ = ["VALUE_OPTIONS", "Meaning", "check_values"]

_MEANINGS = ("file", "records", "bytes", *LENGTHS, "sum", "sequence", "date")
VALUE_OPTIONS = (
    *(f"field.{meaning}" for meaning in _MEANINGS),
    "sum_column",
    "date_format",
    "records_include",
    *SHAPE_OPTIONS,
)
_WHOLE = re.compile(r"[0-9]{1,32}", re.ASCII)
_DIRECTIVE = re.compile(r"%(.?)", re.DOTALL)
_DIGITS = {"Y": "(?P<year>[0-9]{4})", "m": "(?P<month>[0-9]{2})", "d": "(?P<day>[0-9]{2})"}


def check_values(declared: Mapping[str, str], *, names: Collection[str] | None) -> None:
    """Refuse meanings that no record could fill.

    :param names: that records will have; ``None`` when only the document tells.
    :raises InvalidDeclaration: naming the option.
    """
    DataShape.of(declared)
    check_choice(declared, "records_include", ("data", "all"))
    for option, other in (("field.sum", "sum_column"), ("field.date", "date_format")):
        if (option in declared) != (other in declared):
            raise InvalidDeclaration(f"{option} and {other} go together: declare both")
    if "date_format" in declared:
        _date_pattern(declared["date_format"])
    for key, name in declared.items():
        if key.startswith("field.") and names is not None and name not in names:
            known = ", ".join(sorted(names)) or "none"
            raise InvalidDeclaration(f"{key}: no value is named {show(name)} (named are {known})")


@dataclass(frozen=True, slots=True)
class Meaning:
    """Reads the values of one record after another.

    :param declared: checked.
    :param report: takes what is wrong.
    """

    declared: Mapping[str, str]
    report: Report

    def entry(self, record: Record, path: str, shape: DataShape) -> FileEntry:
        """The data file that a record describes."""
        digests = {algorithm: self._digest(record, algorithm) for algorithm in LENGTHS}
        return FileEntry(
            path,
            size=self._whole(record, "bytes"),
            digests={algorithm: digest for algorithm, digest in digests.items() if digest is not None},
            rows=self._rows(record, shape),
            header_rows=shape.header_rows,
            trailer_rows=shape.trailer_rows,
            media_type=shape.media_type,
            delimiter=shape.delimiter,
            decimal=shape.decimal,
            column_sums=self._sums(record),
        )

    def derived(self, record: Record) -> dict[str, str]:
        """``date`` and ``sequence`` in one spelling, where they are declared."""
        sequence, day = self._whole(record, "sequence"), self._date(record)
        derived = {"sequence": None if sequence is None else str(sequence), "date": day}
        return {name: value for name, value in derived.items() if value is not None}

    def text(self, record: Record, meaning: str) -> str | None:
        """The value with this meaning; ``None`` when none is declared, or it is missing and reported."""
        name = self.declared.get(f"field.{meaning}")
        if name is None:
            return None
        if name not in record.values:
            self.report.add("missing key", place=record.place(name), expected=f"a {meaning}", found="none")
        return record.values.get(name)

    def _rows(self, record: Record, shape: DataShape) -> int | None:
        count = self._whole(record, "records")
        if count is None or self.declared.get("records_include") != "all":
            return count
        rows = count - shape.header_rows - shape.trailer_rows
        if rows < 0:
            self._refuse(record, "records", "header, trailer and data records", str(count))
        return rows

    def _whole(self, record: Record, meaning: str) -> int | None:
        text = self.text(record, meaning)
        if text is None:
            return None
        if _WHOLE.fullmatch(text.strip()) and int(text) <= MAX_VERSION:
            return int(text)
        self._refuse(record, meaning, "a whole number up to 2**53-1", text)
        return None

    def _digest(self, record: Record, algorithm: str) -> str | None:
        text = self.text(record, algorithm)
        if text is None:
            return None
        place = record.place(self.declared[f"field.{algorithm}"])
        return read_hex(text.strip(), algorithm, place=place, report=self.report)

    def _sums(self, record: Record) -> dict[str, str]:
        text = self.text(record, "sum")
        if text is None:
            return {}
        mark = self.declared.get("decimal", ".")
        number = exact_decimal(text.strip(), mark=mark)
        if number is None:
            self._refuse(record, "sum", f"a plain decimal number with {mark} before its decimals", text)
            return {}
        return {self.declared["sum_column"]: format(number, "f")}

    def _date(self, record: Record) -> str | None:
        text = self.text(record, "date")
        if text is None:
            return None
        match = _date_pattern(self.declared["date_format"]).fullmatch(text.strip())
        try:
            if match is not None:
                return date(int(match["year"]), int(match["month"]), int(match["day"])).isoformat()
        except ValueError:
            pass  # no such day
        self._refuse(record, "date", f"a day as {show(self.declared['date_format'])}", text)
        return None

    def _refuse(self, record: Record, meaning: str, expected: str, found: str) -> None:
        place = record.place(self.declared[f"field.{meaning}"])
        self.report.add("invalid text", place=place, expected=expected, found=show(found))


def _date_pattern(text: str) -> re.Pattern[str]:
    """What a day in this format looks like.

    :raises InvalidDeclaration: when it is no date format.
    """
    if sorted(_DIRECTIVE.findall(text)) != sorted(_DIGITS):
        raise InvalidDeclaration(f"date_format must hold %Y, %m and %d, each once, not {show(text)}")
    literal = [re.escape(part) for part in _DIRECTIVE.split(text)[::2]]
    directives = [_DIGITS[name] for name in _DIRECTIVE.findall(text)]
    return re.compile("".join(a + b for a, b in zip(literal, [*directives, ""], strict=True)))
