"""The partner's files: CSV in UTF-8 with the columns ``order_id``, ``ordered_at`` and ``amount_cents``."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Sequence
from datetime import timezone
from typing import Any, BinaryIO

from orders_errors import InvalidOrders

from airflow_landmark.markers import parse_instant

__all__ = ["orders_in"]

COLUMNS = ("order_id", "ordered_at", "amount_cents")
LONGEST_LINE = 64 * 1024
MAX_PROBLEMS = 10
_KEY = re.compile(r"[\x21-\x7e]{1,64}")
_AMOUNT = re.compile(r"-?[0-9]{1,15}")


def orders_in(stream: BinaryIO, *, name: str) -> Iterator[dict[str, Any]]:
    """The orders of one file, one at a time: the file is never in memory as a whole.

    :param name: of the file, for the errors.
    :raises InvalidOrders: at the file's end, or after ten problems, which it then names by their lines.
    """
    problems: list[str] = []
    try:
        reader = csv.DictReader(_lines(stream), strict=True)
        _check_header(reader.fieldnames or ())
        for row in reader:
            try:
                yield _order(row)
            except ValueError as error:
                problems.append(f"line {reader.line_num}: {error}")
                if len(problems) == MAX_PROBLEMS:
                    break
    except (csv.Error, ValueError) as error:
        problems.append(str(error))
    if problems:
        raise InvalidOrders(f"{name} is no list of orders:", problems)


def _lines(stream: BinaryIO) -> Iterator[str]:
    """The lines, none longer than is sane: a file without line ends must not fill the memory."""
    with io.TextIOWrapper(stream, encoding="utf-8-sig", newline="") as text:
        while line := text.readline(LONGEST_LINE):
            if len(line) == LONGEST_LINE:
                raise ValueError(f"a line is longer than {LONGEST_LINE} characters")
            yield line


def _check_header(found: Sequence[str]) -> None:
    if tuple(found) != COLUMNS:
        raise ValueError(f"expected the columns {', '.join(COLUMNS)}, found {', '.join(found)!r:.200}")


def _order(row: dict[str, Any]) -> dict[str, Any]:
    key, ordered_at, amount = (row[column] for column in COLUMNS)
    if None in row or amount is None:
        raise ValueError(f"expected {len(COLUMNS)} fields")
    if not _KEY.fullmatch(key):
        raise ValueError(f"order_id must be 1 to 64 printable characters without a space, not {key!r:.80}")
    if not _AMOUNT.fullmatch(amount):
        raise ValueError(f"amount_cents must be a whole number of at most 15 digits, not {amount!r:.80}")
    instant = parse_instant(ordered_at).astimezone(timezone.utc)
    return {"order_id": key, "ordered_at": instant.replace(tzinfo=None), "amount_cents": int(amount)}
