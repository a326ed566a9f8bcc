"""The answer of ``landmark capacity check`` for people, at most 100 columns wide."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime, timezone
from typing import TYPE_CHECKING

from ._capacity_options import status_of
from ._print import banner, counted, safe

if TYPE_CHECKING:
    from airflow_landmark.capacity import (
        Answer,
        BackTest,
        Contributor,
        Fix,
        KindRow,
        LimitRow,
        Lint,
        PartitionAnswer,
        ScenarioAnswer,
        Times,
    )

__all__ = ["answer_lines", "span", "table"]

_WIDTH = 100
_MIB = 1024**2
_SHOWN_NAMES = 4
_NAME = 30
_SHOWN_LINTS = 20
_WORDS = {
    "holds": "HOLDS",
    "holds without spare": "HOLDS WITHOUT SPARE",
    "unknown": "COULD NOT TELL",
    "does not hold": "DOES NOT HOLD",
}


def answer_lines(answer: Answer) -> Iterator[str]:
    """The whole answer."""
    from airflow_landmark.capacity import VERDICTS  # noqa: PLC0415

    status = status_of(answer.verdict)
    yield banner(status, _WORDS[VERDICTS[answer.verdict]], _summary(answer))
    horizon = f"{_day(answer.begin)} to {_day(answer.end)} (UTC)"
    yield f"  horizon {horizon}; m measured, b bounded, a assumed"
    for part in answer.partitions:
        yield ""
        yield from _partition(part)
    if answer.back_test:
        yield ""
        yield from _back_test(answer.back_test)
    if answer.lints:
        yield ""
        yield from _lints(answer.lints)
    if answer.notes:
        yield ""
        yield "Notes"
        for note in answer.notes:
            yield from _wrapped(safe(note), first="  ", rest="  ")


def _summary(answer: Answer) -> str:
    parts = [part for part in answer.partitions if part.worst.needed]
    if not parts:
        return "nothing waits"
    # what the numbers are is said once: two places fit into a line
    shown = "; ".join(_wanted(part, words=part is parts[0]) for part in parts[:2])
    return shown if len(parts) <= 2 else f"{shown}; and {len(parts) - 2} more"


def _wanted(part: PartitionAnswer, *, words: bool) -> str:
    have = counted(part.replicas, "triggerer") if words else f"{part.replicas:,}"
    if not part.deployments:
        have = "no triggerer"
    wanted = f"{part.worst.with_spare} wanted" + (" with spare" if words else "")
    return f"{_short(_place(part.name))}: {have}, {wanted}"


def _place(name: str) -> str:
    """The partition in a list of places: "no queue: 2 triggerers" would read as a negation."""
    return f"without a {name.removeprefix('no ')}" if name.startswith("no queue") else name


def _short(name: str) -> str:
    return name if len(name) <= _NAME else f"{name[: _NAME - 3]}..."


def _partition(part: PartitionAnswer) -> Iterator[str]:
    served = ", ".join(part.deployments) or "nobody"
    name = safe(part.name)
    yield f"{name[:1].upper()}{name[1:]}"[:_WIDTH]
    facts = f"{counted(part.replicas, 'triggerer')}, capacity {part.capacity:,}, spare {part.spare}"
    yield from _wrapped(f"{safe(served)}: {facts}", first="  served by  ", rest="  ")
    usual = part.usual
    if usual.peak.likely.value <= 0:
        yield "  waits      none"
        return
    peak = usual.peak
    when = f" at {_minute(peak.at)}" if peak.at is not None else ""
    yield (
        f"  waits      mean {_number(peak.mean.value)}, peak {_number(peak.expected.value)}{when}, "
        f"99 % of peaks below {_number(peak.likely.value)} ({peak.likely.origin})"
    )
    yield from _wrapped(_shares(peak.dags), first="  Dags       ", rest="             ")
    yield from _wrapped(_shares(peak.sources), first="  sources    ", rest="             ")
    yield ""
    yield from _scenarios(part.scenarios)
    yield ""
    yield from _limits(part)
    yield ""
    yield from _kinds(part.kinds)
    yield ""
    yield from _times(part, part.times)
    if part.fixes:
        yield ""
        yield from _fixes(part.fixes, part.worst)


def _scenarios(scenarios: Sequence[ScenarioAnswer]) -> Iterator[str]:
    from airflow_landmark.capacity import VERDICTS  # noqa: PLC0415

    rows = [
        (
            safe(one.name)[:24],
            f"{_number(one.peak.likely.value)} {one.peak.likely.origin[0]}",
            one.binding,
            str(one.needed),
            str(one.with_spare),
            str(one.replicas),
            VERDICTS[one.verdict] if one.counts else "(for information)",
        )
        for one in scenarios
    ]
    head = ("scenario", "waits", "binds", "needed", "with spare", "have", "")
    yield from table(head, rows, right=(1, 3, 4, 5))
    for one in scenarios[1:]:
        yield from _wrapped(f"{safe(one.name)}: {safe(one.text)}", first="    ", rest="      ")


def _limits(part: PartitionAnswer) -> Iterator[str]:
    worst = part.worst
    rows = [_limit(row) for row in worst.limits]
    after = f"each after {part.spare} lost" if part.spare else "each"
    yield from table(
        (f"limit ({safe(worst.name)[:20]})", "a triggerer has", "all ask for", "needed", after, ""),
        rows,
        right=(1, 2, 3, 4),
    )


def _limit(row: LimitRow) -> tuple[str, ...]:
    amount = _amount(row)
    has = "not stated" if row.has is None else amount(row.has)
    after = "none left" if row.after_loss is None else amount(row.after_loss)
    held = "" if row.has is None else ("fits" if row.holds_after_loss else "too much")
    needed = "?" if row.needed is None else str(row.needed)
    return row.limit, has, f"{amount(row.load)} {row.origin[0]}", needed, after, held


def _amount(row: LimitRow) -> Callable[[float], str]:
    if row.limit == "memory":
        return lambda value: f"{value / _MIB:,.0f} MiB"
    if row.limit == "loop":
        return lambda value: f"{value * 100:.1f} % of a core"
    unit = {"requests": "/s", "claims": "/s"}.get(row.limit, "")
    return lambda value: f"{_number(value)}{unit}"


def _kinds(kinds: Sequence[KindRow]) -> Iterator[str]:
    from airflow_landmark.capacity import LIMITS  # noqa: PLC0415

    rows = []
    for kind in kinds:
        fits = [f"{kind.fits[name].value:,.0f}" if name in kind.fits else "-" for name in LIMITS[:-1]]
        label = safe(kind.kind.rpartition(".")[2])[:22]
        rows.append((label, span(kind.poll_interval), _number(kind.peak), *fits, kind.origin[0]))
    head = ("a triggerer holds", "every", "peak", "capacity", "files", "memory", "loop", "requests", "")
    yield from table(head, rows, right=range(1, 8))


def _times(part: PartitionAnswer, times: Times) -> Iterator[str]:
    for name, text in _facts(part, times):
        yield from _wrapped(text, first=f"  {name:<11}", rest=" " * 13)


def _facts(part: PartitionAnswer, times: Times) -> Iterator[tuple[str, str]]:
    together, moved = _number(times.step), _number(times.moved)
    yield "start", f"{together} waits start together; the last one runs after {span(times.start_lag)}"
    text = f"a dead triggerer is noticed within {span(times.gap)}, its {moved} waits run again after "
    yield "fail-over", text + span(times.recovered)
    text = (
        f"{_number(times.burst)} waits may end together: {span(times.events)} until all events are written, "
    )
    text += f"{_number(times.resume_seconds)} worker-slot seconds to resume"
    known = "" if times.resumed is None else f", {span(times.resumed)} with the slots there are"
    yield "burst", text + known
    text = f"an arrival is seen after {span(times.noticed)} on average, a time-out up to "
    yield "notice", text + f"{span(times.timed_out_late)} late"
    yield "database", f"{_number(part.statements.value)} statements a second ({part.statements.origin})"
    if part.doubling.factor is not None:
        twice = part.doubling
        text = f"{twice.limit} ends first, at {twice.factor:.1f} times these waits; twice as many need "
        yield "doubled", text + counted(twice.needed, "triggerer")


def _fixes(fixes: Sequence[Fix], worst: ScenarioAnswer) -> Iterator[str]:
    yield f"  fixes (now: peak {_number(worst.peak.likely.value)}, {worst.with_spare} with spare)"
    for number, fix in enumerate(fixes, 1):
        after = f"peak {_number(fix.peak)}, {fix.with_spare} with spare"
        saved = f", saves {fix.saves}" if fix.saves > 0 else ""
        yield from _wrapped(f"{safe(fix.text)} -> {after}{saved}", first=f"  {number}. ", rest="     ")


def _back_test(test: BackTest) -> Iterator[str]:
    rows = [
        (
            day.day,
            _number(day.predicted),
            _number(day.observed),
            "-" if day.error is None else f"{day.error:+.0%}",
        )
        for day in test.days
    ]
    yield (
        f"Back-test: mean {_number(test.predicted_mean)} predicted, {_number(test.observed_mean)} observed; "
        "daily peaks:"
    )
    yield from table(("day", "predicted", "observed", "error"), rows, right=(1, 2, 3))


def _lints(lints: Sequence[Lint]) -> Iterator[str]:
    yield "Lints"
    for lint in lints[:_SHOWN_LINTS]:
        text = f"{lint.level} {safe(lint.where)}: {safe(lint.text)}"
        yield from _wrapped(text, first=f"  {lint.code} ", rest="       ")
    if len(lints) > _SHOWN_LINTS:
        yield f"  and {len(lints) - _SHOWN_LINTS} more"


def _shares(contributors: Sequence[Contributor]) -> str:
    shown = [f"{safe(one.name)[:40]} {_number(one.waits)}" for one in contributors[:_SHOWN_NAMES]]
    rest = 1 - sum(one.share for one in contributors[:_SHOWN_NAMES])
    return ", ".join(shown) + (f", others {rest:.0%}" if rest > 0.005 else "")


def table(head: Sequence[str], rows: Sequence[Sequence[str]], *, right: Sequence[int] = ()) -> Iterator[str]:
    """Aligned columns, two spaces apart and indented by two.

    :param right: the columns that are flush right.
    """
    lines = [list(head), *(list(row) for row in rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(head))]
    for line in lines:
        cells = [
            cell.rjust(width) if column in right else cell.ljust(width)
            for column, (cell, width) in enumerate(zip(line, widths, strict=True))
        ]
        yield ("  " + "  ".join(cells)).rstrip()


def _wrapped(text: str, *, first: str, rest: str) -> list[str]:
    return textwrap.wrap(
        text, width=_WIDTH, initial_indent=first, subsequent_indent=rest, break_on_hyphens=False
    )


def _number(value: float) -> str:
    if not math.isfinite(value):
        return "no bound"
    return f"{value:,.0f}" if value >= 100 or value == round(value) else f"{value:,.1f}"


def span(seconds: float) -> str:
    """A duration, short."""
    if seconds < 120:
        return f"{seconds:.0f} s" if seconds >= 10 or seconds == round(seconds) else f"{seconds:.1f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"


def _day(at: float) -> str:
    return f"{datetime.fromtimestamp(at, tz=timezone.utc):%Y-%m-%d}"


def _minute(at: float) -> str:
    return f"{datetime.fromtimestamp(at, tz=timezone.utc):%a %Y-%m-%d %H:%MZ}"
