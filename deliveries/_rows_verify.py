"""Rows of one file against its manifest: their number, and the sums of columns."""

from __future__ import annotations

from decimal import Decimal

from anyio import to_thread

from airflow_landmark.markers import FileEntry, Problem, exact_decimal, show

from ._report import Report
from ._rows import NotCounted, RowCounter, row_counter

__all__ = ["counter_of", "judge_rows", "promises_rows"]


def promises_rows(entry: FileEntry) -> bool:
    """Whether the manifest tells anything of the file's rows."""
    return entry.rows is not None or bool(entry.column_sums)


def counter_of(entry: FileEntry) -> RowCounter | NotCounted:
    """What counts the rows of a file, and adds up what the manifest tells the sum of."""
    return row_counter(
        entry.path,
        header_rows=entry.header_rows,
        trailer_rows=entry.trailer_rows,
        media_type=entry.media_type,
        content_encoding=entry.content_encoding,
        delimiter=entry.delimiter,
        sum_columns=tuple(entry.column_sums),
        decimal=entry.decimal,
    )


async def judge_rows(entry: FileEntry, counter: RowCounter | NotCounted, report: Report) -> None:
    """Hold what was counted against the manifest, once the whole file has gone by.

    :param report: takes the problems, or that all is right.
    """
    counted = await to_thread.run_sync(counter.finish) if isinstance(counter, RowCounter) else counter
    sums = counter.sums if isinstance(counter, RowCounter) else {}
    if isinstance(counted, NotCounted):
        report.add(Problem("not counted", entry.path, _promised(entry), counted.reason))
        return
    problems = [] if entry.rows in (None, counted) else [_rows_problem(entry, counted)]
    for column, expected in entry.column_sums.items():
        found = sums[column]
        if exact_decimal(expected) != found:
            problems.append(_sum_problem(entry, column, found))
    for problem in problems:
        report.add(problem)
    if not problems:
        report.rows_counted += 1


def _promised(entry: FileEntry) -> str:
    rows = [] if entry.rows is None else [f"{entry.rows} rows"]
    return ", ".join([*rows, *(f"sum {total} of {show(name)}" for name, total in entry.column_sums.items())])


def _rows_problem(entry: FileEntry, counted: int) -> Problem:
    return Problem("rows", entry.path, f"{entry.rows} rows", f"{counted} rows")


def _sum_problem(entry: FileEntry, column: str, found: Decimal) -> Problem:
    expected = f"{entry.column_sums[column]} as the sum of column {show(column)}"
    return Problem("sum", entry.path, expected, format(found, "f"))
