"""Writes the table of docs/reliability.md from the results of trials: ``report.py RESULTS... PAGE``."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from statistics import median

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "support"))

from faultlab import Record  # noqa: E402 - found by the line above

BEGIN, END = "<!-- table of faults: made by `make faults` -->", "<!-- end of the table of faults -->"
COLUMNS = (
    "fault",
    "waits",
    "released",
    "tried",
    "lost",
    "wrong",
    "doubled",
    "again",
    "fired again",
    "run again, s",
    "written, s",
    "MiB",
    "descriptors",
)
NUMBERS_FROM = 1


def table(records: Iterable[Record]) -> str:
    """One row for each fault and number of waits, in the order in which they were tried first."""
    groups: dict[tuple[str, str, int], list[Record]] = {}
    for record in records:
        groups.setdefault((record.fault, record.way, record.waits), []).append(record)
    rule = [" --- "] * NUMBERS_FROM + [" ---: "] * (len(COLUMNS) - NUMBERS_FROM)
    rows = [_row(found) for found in groups.values()]
    return "\n".join([_line(COLUMNS), f"|{'|'.join(rule)}|", *map(_line, rows)])


def _row(found: Sequence[Record]) -> list[str]:
    first = found[0]
    waits = f"{first.waits:,}" + (" parked" if first.way == "parked" else "")
    return [
        first.fault,
        waits,
        f"{median(one.released for one in found):,.0f}",
        str(len(found)),
        str(sum(one.lost for one in found)),
        str(sum(one.wrong for one in found)),
        str(sum(one.doubled for one in found)),
        str(sum(one.again for one in found)),
        str(sum(one.fired_again for one in found)),
        _span([one.running for one in found]),
        _span([one.written for one in found]),
        _change([one.memory for one in found]),
        _change([one.descriptors for one in found]),
    ]


def _span(values: Sequence[float | None]) -> str:
    known = [value for value in values if value is not None]
    if not known:
        return ""
    low, high = f"{min(known):.0f}", f"{max(known):.0f}"
    return low if low == high else f"{low} to {high}"


def _change(pairs: Sequence[Sequence[int]]) -> str:
    """The largest before and the largest after; nothing when they were not measured."""
    before, after = (max(pair[side] for pair in pairs) for side in (0, 1))
    return f"{before} → {after}" if before else ""


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def with_table(page: str, records: Iterable[Record]) -> str:
    """The page with a new table between its two marks.

    :raises ValueError: when the page does not have both.
    """
    before, mark, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not mark or not end:
        raise ValueError(f"expected {BEGIN} and, below it, {END}")
    return f"{before}{BEGIN}\n\n{table(records)}\n\n{END}{after}"


def main() -> None:
    """Rewrite the page."""
    *results, page = (Path(argument) for argument in sys.argv[1:])
    records = [record for path in results for record in Record.read(path)]
    page.write_text(with_table(page.read_text(), records))


if __name__ == "__main__":
    main()
