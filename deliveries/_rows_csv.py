r"""Counting CSV records by the rules of Python's csv module, at the speed of searching bytes.

The rules are those of ``csv.reader`` (dialects ``excel`` and ``excel-tab``, not strict) over text whose
line ends were left alone, minus blank lines:

* a record ends at ``\r``, ``\n`` or ``\r\n`` outside quotes (RFC 4180 section 2 knows only ``\r\n``);
* quotes open only at a field's start; within them ``""`` is a quote; what follows the closing quote
  up to the next delimiter belongs to the field, further quotes included;
* a line without any character is no record, a line with only spaces or only ``""`` is one;
* the last record needs no line end.

Three cases are not counted where Python goes on: text that ends within quotes (which is how a cut file
may end), NUL bytes (Python 3.10 refuses them, 3.11 and later take them), and a record beyond the limit.
Python's own limit of 131,072 characters a field does not apply.
"""

from __future__ import annotations

import re

from ._rows_base import BLOCK_BYTES, RECORD_LIMIT_BYTES, NotCounted, TextCounter

__all__ = ["CsvCounter"]


class CsvCounter(TextCounter):
    """Counts the data records of a CSV text.

    What is open at a block's end is carried over as the shortest text that leads ``csv.reader`` into
    the same state: nothing at a record's start, the delimiter at a field's start, ``x`` in a plain
    field, one quote within quotes, two after a quote that closes or is the first of a pair.

    :param delimiter: one ASCII byte between fields.
    :param header_rows: records before the data.
    :param trailer_rows: records after the data.
    :param block_bytes: bytes that are looked at together, at least 4.
    """

    def __init__(
        self,
        *,
        delimiter: bytes = b",",
        header_rows: int = 0,
        trailer_rows: int = 0,
        block_bytes: int = BLOCK_BYTES,
    ) -> None:
        super().__init__(block_bytes=block_bytes)
        self._delimiter = delimiter
        self._header_rows = header_rows
        self._trailer_rows = trailer_rows
        self._records = 0
        self._state = b""
        self._open_bytes = 0
        start = re.escape(delimiter) + rb"\r\n"
        # After a quote inside a plain field, quotes no longer open and close in turn. Both patterns begin
        # with the quote since the regex engine finds a leading literal five times faster than a set.
        self._odd_quote = re.compile(rb'"(?<=[^' + start + rb'"]")')
        self._quoted = re.compile(rb'"(?<![^' + start + rb']")[^"]*(?:""[^"]*)*"?')
        self._after_quotes = re.compile(rb"[" + start + rb']?""')

    def _take_text(self, block: bytes) -> NotCounted | None:
        data = self._state + block
        if b'"' in data:
            data = self._fold(data)
        else:
            self._state = self._plain_state(data)
        self._records += _ended_lines(data)
        self._open_bytes = 0 if b"\n" in data or b"\r" in data else self._open_bytes + len(block)
        if self._open_bytes > RECORD_LIMIT_BYTES:
            return NotCounted(
                f"record {self._records + 1} is longer than {RECORD_LIMIT_BYTES} bytes: a quote may be open"
            )
        return None

    def _end(self) -> int | NotCounted:
        if self._state == b'"':
            return NotCounted(f"the text ends within quotes, in record {self._records + 1}")
        records = self._records + bool(self._state)
        if records < self._header_rows:
            return NotCounted(f"{records} records are fewer than the {self._header_rows} header rows")
        rows = records - self._header_rows - self._trailer_rows
        if rows < 0:
            return NotCounted(
                f"{records} records are too few for {self._trailer_rows} trailer rows among them"
            )
        return rows

    def _fold(self, data: bytes) -> bytes:
        """The text with each quoted part shortened to quotes; notes the state at its end."""
        parts = data.split(b'"')
        folded = b'"'.join(parts[::2])
        is_open = len(parts) % 2 == 0
        if is_open:
            folded += b'"'
        if self._odd_quote.search(folded):
            return self._fold_odd(data)
        if is_open:
            self._state = b'"'
        else:
            self._state = b'""' if folded.endswith(b'"') else self._plain_state(folded)
        return folded

    def _fold_odd(self, data: bytes) -> bytes:
        """The same for text with quotes inside plain fields, which stand for themselves."""
        folded = self._quoted.sub(b'""', data + b"\n")
        if not folded.endswith(b"\n"):
            self._state = b'"'
            return folded
        folded = folded[:-1]
        if self._after_quotes.fullmatch(folded[-3:]):
            self._state = b'""'
        else:
            self._state = self._plain_state(folded)
        return folded

    def _plain_state(self, text: bytes) -> bytes:
        last = text[-1:]
        if last in (b"", b"\n", b"\r"):
            return b""
        return last if last == self._delimiter else b"x"


def _ended_lines(text: bytes) -> int:
    r"""How many lines with at least one character are ended by ``\r``, ``\n`` or ``\r\n``."""
    lines = text.splitlines()
    is_last_open = bool(text) and not text.endswith((b"\n", b"\r"))
    return len(lines) - lines.count(b"") - is_last_open
