"""A table for a terminal, as plain text."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["show"]


def show(title: str, columns: Sequence[str], rows: Sequence[Sequence[object]], *notes: str) -> None:
    """Print a heading, the rows below their columns, and notes."""
    cells = [list(columns), *([str(value) for value in row] for row in rows)]
    widths = [max(len(row[n]) for row in cells) for n in range(len(columns))]
    lines = ["  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)) for row in cells]
    lines.insert(1, "  ".join("-" * width for width in widths))
    print("\n".join(["", title, "", *(line.rstrip() for line in lines), *([""] if notes else []), *notes]))
