"""What must be true of the destination, with a text that says what is not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Mapping
from typing import Any

from ._errors import DestinationWrong

__all__ = ["Row", "check_rows"]

Row = Any
"""One row of the destination as a team's reader gives it: a mapping, a tuple, or any plain value."""

MAX_ROWS_TOLD = 5


def check_rows(
    *,
    rule: str,
    found: Iterable[Row],
    expected: Collection[Iterable[Row]],
    where: str,
    advice: str,
) -> None:
    """Look whether the destination holds exactly one of the expected sets of rows, each row once.

    The order of the rows does not matter.

    :param rule: what must hold, as a sentence.
    :param expected: the contents that are right: several where either is.
    :param where: which part of the destination was read.
    :param advice: what to do when it does not hold.
    :raises DestinationWrong: when it holds anything else.
    """
    held = Counter(map(_key, found))
    right = [Counter(map(_key, rows)) for rows in expected]
    if held in right:
        return
    nearest = min(right, key=lambda one: sum(((one - held) + (held - one)).values()))
    raise DestinationWrong(
        rule=rule,
        expected=" or ".join(_counted(one) for one in right),
        found=f"{_counted(held)}: {_difference(held, nearest)}",
        where=where,
        advice=advice,
    )


def _key(row: Row) -> Hashable:
    if isinstance(row, Mapping):
        return tuple(sorted((str(name), _key(value)) for name, value in row.items()))
    if isinstance(row, (list, tuple)):
        return tuple(map(_key, row))
    return row if isinstance(row, Hashable) else repr(row)


def _counted(rows: Counter[Hashable]) -> str:
    return f"{sum(rows.values())} rows" if rows else "no rows"


def _difference(held: Counter[Hashable], right: Counter[Hashable]) -> str:
    more, less = held - right, right - held
    repeated = Counter({row: held[row] for row in more if right[row]})
    unexpected = Counter({row: count for row, count in more.items() if not right[row]})
    told = {"missing": less, "repeated": repeated, "unexpected": unexpected}
    return "; ".join(f"{word} {_list(rows)}" for word, rows in told.items() if rows)


def _list(rows: Counter[Hashable]) -> str:
    names = [
        f"{row!r:.200}" + (f" ({count} times)" if count > 1 else "")
        for row, count in list(rows.items())[:MAX_ROWS_TOLD]
    ]
    cut = [f"and {len(rows) - MAX_ROWS_TOLD} more"] if len(rows) > MAX_ROWS_TOLD else []
    return ", ".join(names + cut)
