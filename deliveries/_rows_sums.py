"""Adding up columns of delimited text: exact, in constant memory, by the records that csv.reader finds."""

from __future__ import annotations

import csv
import io
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Context, Decimal

from airflow_landmark.markers import exact_decimal, show

from ._rows_base import BLOCK_BYTES, RECORD_LIMIT_BYTES, NotCounted, TextCounter

__all__ = ["Columns", "CsvSums"]

_EXACT = Context(prec=200)
"""Numbers have at most 64 digits; 2**63 of them add up to 83 digits before and 63 after the mark."""

_END = "$"  # a record of its own after the text, unless that ends within quotes


@dataclass(frozen=True, slots=True)
class Columns:
    """What is added up.

    :param names: of the columns, as in the last header row, or their numbers from 1.
    :param decimal: mark before the decimals, ``.`` or ``,``.
    :param charset: of the header's names, as Python's codecs call it.
    """

    names: Sequence[str]
    decimal: str = "."
    charset: str = "utf-8"

    def positions(self, header: Sequence[str]) -> list[int] | NotCounted:
        """Where the columns are.

        :param header: cells as Latin-1, so that each character is a byte.
        """
        cells = [cell.strip().encode("latin-1") for cell in header]
        positions = []
        for name in self.names:
            position = self._position(name, cells)
            if isinstance(position, NotCounted):
                return position
            positions.append(position)
        return positions

    def _position(self, name: str, cells: Sequence[bytes]) -> int | NotCounted:
        try:
            found = cells.count(name.encode(self.charset))
            if found == 1:
                return cells.index(name.encode(self.charset))
        except (LookupError, UnicodeEncodeError):
            return NotCounted(
                f"column {show(name)} cannot be named in the character set {show(self.charset)}"
            )
        if found == 0 and name.isascii() and name.isdigit() and 1 <= int(name[:9]) <= 10_000:
            return int(name) - 1
        return NotCounted(f"column {show(name)} stands {found} times in the last of the header rows")


class CsvSums(TextCounter):
    """Counts data records as ``CsvCounter`` does, and adds up some of their columns on the way.

    An empty cell adds nothing, as in SQL; a cell that is no number ends the counting, and so does a record
    without the column. The records that turn out to be the trailer are neither counted nor added.

    :param columns: what is added up.
    :param delimiter: one ASCII byte between fields.
    :param header_rows: records before the data.
    :param trailer_rows: records after the data; so many are held back.
    :param block_bytes: bytes that are looked at together.
    """

    def __init__(
        self,
        columns: Columns,
        *,
        delimiter: bytes = b",",
        header_rows: int = 0,
        trailer_rows: int = 0,
        block_bytes: int = BLOCK_BYTES,
    ) -> None:
        super().__init__(block_bytes=block_bytes)
        self._columns = columns
        self._delimiter = delimiter.decode("ascii")
        self._header_rows = header_rows
        self._trailer_rows = trailer_rows
        self._records = 0
        self._positions = [] if header_rows else columns.positions([])
        self._held_back: deque[list[str]] = deque()
        self._totals = [Decimal(0)] * len(columns.names)
        self._rest = b""
        self._parse_from_bytes = 0

    @property
    def sums(self) -> Mapping[str, Decimal]:
        """Column to the sum of its numbers so far."""
        return dict(zip(self._columns.names, self._totals, strict=True))

    def _take_text(self, block: bytes) -> NotCounted | None:
        self._rest += block
        # Text within open quotes is parsed again only once it has doubled: in linear time on the whole.
        if len(self._rest) < self._parse_from_bytes:
            return None
        end = max(self._rest.rfind(b"\n"), self._rest.rfind(b"\r")) + 1
        whole, after = self._rest[:end], self._rest[end:]
        is_open = self._parse(whole) if whole else 0
        if isinstance(is_open, NotCounted):
            return is_open
        self._rest = whole[len(whole) - is_open :] + after
        self._parse_from_bytes = min(2 * len(self._rest), RECORD_LIMIT_BYTES + 1) if is_open else 0
        if len(self._rest) > RECORD_LIMIT_BYTES:
            text = f"is longer than {RECORD_LIMIT_BYTES} bytes: a quote may be open"
            return NotCounted(f"record {self._records + 1} {text}")
        return None

    def _end(self) -> int | NotCounted:
        is_open = self._parse(self._rest + b"\n") if self._rest else 0
        if isinstance(is_open, NotCounted):
            return is_open
        if is_open:
            return NotCounted(f"the text ends within quotes, in record {self._records + 1}")
        rows = self._records - self._header_rows - self._trailer_rows
        if rows < 0:
            text = f"the {self._header_rows} header and {self._trailer_rows} trailer rows"
            return NotCounted(f"{self._records} records are fewer than {text}")
        return rows

    def _parse(self, whole: bytes) -> int | NotCounted:
        """Take the records of text that ends with a line end.

        :returns: how many bytes at its end belong to a record within open quotes.
        """
        lines = io.StringIO(whole.decode("latin-1") + _END, newline="")
        reader = csv.reader(lines, delimiter=self._delimiter)
        row: list[str] = []
        start = end = 0
        try:
            for following in reader:
                problem = self._take_record(row) if row else None
                if problem is not None:
                    return problem
                row, start, end = following, end, reader.line_num
        except csv.Error as error:
            return NotCounted(f"record {self._records + bool(row) + 1} cannot be read: {error}")
        if row == [_END]:
            return 0
        lines.seek(0)
        return len(whole) - sum(len(next(lines)) for _ in range(start))

    def _take_record(self, row: list[str]) -> NotCounted | None:
        self._records += 1
        if self._records <= self._header_rows:
            if self._records == self._header_rows:
                self._positions = self._columns.positions(row)
            return self._positions if isinstance(self._positions, NotCounted) else None
        if not self._trailer_rows:
            return self._add(row)
        self._held_back.append(row)
        return self._add(self._held_back.popleft()) if len(self._held_back) > self._trailer_rows else None

    def _add(self, row: list[str]) -> NotCounted | None:
        if isinstance(self._positions, NotCounted):
            return self._positions
        for index, position in enumerate(self._positions):
            name = self._columns.names[index]
            record = self._records - len(self._held_back)
            if position >= len(row):
                return NotCounted(f"record {record} has no column {show(name)}")
            text = row[position].strip()
            if text:
                number = exact_decimal(text, mark=self._columns.decimal)
                if number is None:
                    # The cell itself may be personal data, which belongs in no log.
                    told = f"no plain number with {self._columns.decimal} before its decimals"
                    return NotCounted(f"record {record}, column {show(name)}: {told}")
                self._totals[index] = _EXACT.add(self._totals[index], number)
        return None
