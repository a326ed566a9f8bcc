"""The answer as one HTML page: no script, nothing loaded, tables for who cannot see drawings. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime, timezone
from html import escape

from ._html_page import page
from ._origin import Estimate
from ._results import (
    Answer,
    BackTest,
    Fix,
    KindRow,
    LimitRow,
    Lint,
    PartitionAnswer,
    ScenarioAnswer,
    Verdict,
)
from ._svg import Level, area_names, chart, daily_peaks
from ._units import amount, span

__all__ = ["html_page"]

VERDICTS = {
    Verdict.HOLDS: "holds",
    Verdict.WITHOUT_SPARE: "holds, but without spare",
    Verdict.UNKNOWN: "cannot be told",
    Verdict.DOES_NOT_HOLD: "does not hold",
}
_MOST_KINDS = 20
_MOST_LINTS = 100


def html_page(answer: Answer, *, title: str = "Triggerer capacity", made_at: float | None = None) -> str:
    """The whole page.

    :param made_at: when the answer was made, seconds since 1970; None: it is not said.
    """
    made = "" if made_at is None else f" &middot; made {_moment(made_at)}"
    period = f"{_moment(answer.begin)} to {_moment(answer.end)}"
    body = [
        f"<h1>{escape(title)}</h1>",
        f'<p class="meta">Forecast for {period}{made}</p>',
        _verdict(answer),
        *(_partition(part, number) for number, part in enumerate(answer.partitions)),
        _lints(answer.lints),
        _back_test(answer.back_test),
        _notes(answer.notes),
        _LEGEND,
    ]
    return page(title=escape(title), body="\n".join(part for part in body if part))


def _verdict(answer: Answer) -> str:
    parts = [f"<li>{escape(_sentence(part))}</li>" for part in answer.partitions]
    word = VERDICTS[answer.verdict]
    items = f"<ul>{''.join(parts)}</ul>" if parts else "<p>There is nothing that waits.</p>"
    box = f'class="verdict v{int(answer.verdict)}"'
    return f'<section {box}><p class="word">{word}</p>{items}</section>'


def _sentence(part: PartitionAnswer) -> str:
    worst = part.worst
    return (
        f"{_name(part)}: triggerers needed {worst.needed}, with {part.spare} spare {worst.with_spare}, "
        f"{part.replicas} there; worst case '{worst.name}' with {worst.peak.likely.value:,.0f} waits "
        f"at once, limited by {worst.binding}"
    )


def _name(part: PartitionAnswer) -> str:
    served = ", ".join(part.deployments) or "nobody"
    return f"{part.name} (served by {served})"


def _partition(part: PartitionAnswer, number: int) -> str:
    blocks = [
        f'<section aria-labelledby="p{number}"><h2 id="p{number}">{escape(_name(part))}</h2>',
        _figure(part, number),
        _scenarios(part.scenarios),
        _limits(part.worst),
        _kinds(part.kinds),
        _times(part),
        _fixes(part.fixes),
        "</section>",
    ]
    return "\n".join(block for block in blocks if block)


def _figure(part: PartitionAnswer, number: int) -> str:
    peak = part.usual.peak
    when = "" if peak.at is None else f" at {_moment(peak.at)}"
    text = f"At most {peak.expected.value:,.0f} waits at once are expected{when}, "
    text += f"{peak.mean.value:,.1f} on average."
    title = f"Waits at once over time, by Dag: {_name(part)}"
    drawing = chart(part.series, _levels(part), ident=f"c{number}", title=title, text=text)
    keys = [
        f'<li><span class="key a{color}" aria-hidden="true"></span>{escape(name)}</li>'
        for name, color in area_names(part.series)
    ]
    days = _table(
        "Highest number of waits by day (UTC)",
        ("day", "waits"),
        [(day, f"{value:,.1f}") for day, value in daily_peaks(part.series).items()],
    )
    return (
        f"<figure>{drawing}<figcaption>{escape(text)}"
        f'<ul class="keys">{"".join(keys)}</ul></figcaption></figure>'
        f"<details><summary>The drawing as numbers</summary>{days}</details>"
    )


def _levels(part: PartitionAnswer) -> list[Level]:
    """What all triggerers hold, and what is left when the spare is lost."""
    if not part.replicas:
        return []
    whole = part.replicas * part.capacity
    left = max(0, part.replicas - part.spare) * part.capacity
    levels = [Level(whole, f"capacity of {part.replicas}: {whole:,}", "whole")]
    if part.spare and left:
        levels.append(Level(left, f"with {part.spare} lost: {left:,}", "left"))
    return levels


def _scenarios(rows: Sequence[ScenarioAnswer]) -> str:
    cells = [
        (
            row.name,
            row.text,
            _estimate(row.peak.likely),
            row.binding,
            f"{row.needed:,}",
            f"{row.with_spare:,}",
            VERDICTS[row.verdict] if row.counts else "for information",
        )
        for row in rows
    ]
    names = ("scenario", "what happens", "waits at once", "limit", "needed", "with spare", "answer")
    return _table("Scenarios", names, cells)


def _limits(worst: ScenarioAnswer) -> str:
    cells = [_limit_cells(row) for row in worst.limits]
    names = (
        "limit",
        "one triggerer has",
        "asked for at the peak",
        "needed",
        "each after a loss",
        "holds then",
    )
    return _table(f"Limits in the worst case ({worst.name})", (*names, "origin"), cells)


def _limit_cells(row: LimitRow) -> tuple[str, ...]:
    known = row.has is not None
    return (
        row.limit,
        amount(row.has, row.unit) if row.has is not None else "not known",
        amount(row.load, row.unit),
        "not known" if row.needed is None else f"{row.needed:,}",
        "none is left" if row.after_loss is None else amount(row.after_loss, row.unit),
        ("yes" if row.holds_after_loss else "no") if known else "not checked",
        row.origin,
    )


def _kinds(rows: Sequence[KindRow]) -> str:
    cells = []
    for row in rows[:_MOST_KINDS]:
        fits = row.fits.get(row.binding)
        cells.append(
            (
                row.kind.rpartition(".")[2],
                span(row.poll_interval),
                f"{row.peak:,.0f}",
                "" if fits is None else f"{fits.value:,.0f}",
                row.binding,
                row.origin,
            )
        )
    names = (
        "kind of trigger",
        "poll interval",
        "waits at its peak",
        "fit into one triggerer",
        "limit",
        "origin",
    )
    return _table("How many of a kind one triggerer holds", names, cells)


def _times(part: PartitionAnswer) -> str:
    times, doubling = part.times, part.doubling
    resumed = "worker slots are not known" if times.resumed is None else span(times.resumed)
    factor = "" if doubling.factor is None else f", at {doubling.factor:.1f} times today's load"
    cells = [
        (f"{times.step:,.0f} waits that start together all run after", span(times.start_lag)),
        ("a dead triggerer's waits are first taken over after, at most", span(times.gap)),
        (f"all {times.moved:,.0f} of them run again after", span(times.recovered)),
        (f"the events of {times.burst:,.0f} waits that end together are written after", span(times.events)),
        ("their resumes take, in worker-slot time", span(times.resume_seconds)),
        ("and all have resumed after", resumed),
        ("what is waited for is noticed on average after", span(times.noticed)),
        ("a time-out comes late by, at most", span(times.timed_out_late)),
        (
            f"if the waits double, {doubling.limit} is met first{factor}; triggerers needed",
            f"{doubling.needed:,}",
        ),
    ]
    return _table("Times and growth", ("what", "value"), cells)


def _fixes(rows: Sequence[Fix]) -> str:
    cells = [
        (row.text, f"{row.peak:,.0f}", f"{row.needed:,}", f"{row.with_spare:,}", f"{row.saves:+,}")
        for row in rows
    ]
    names = ("change", "waits at once then", "needed then", "with spare then", "saves")
    return _table("What would help, best first", names, cells)


def _lints(rows: Sequence[Lint]) -> str:
    cells = [(row.code, row.level, row.where, row.text) for row in rows[:_MOST_LINTS]]
    more = f"<p>and {len(rows) - _MOST_LINTS:,} more</p>" if len(rows) > _MOST_LINTS else ""
    return _table("Configuration", ("code", "level", "where", "what"), cells) + more


def _back_test(test: BackTest | None) -> str:
    if test is None:
        return ""
    cells = [
        (
            day.day,
            f"{day.predicted:,.1f}",
            f"{day.observed:,.0f}",
            "" if day.error is None else f"{day.error:+.0%}",
        )
        for day in test.days
    ]
    caption = (
        f"Back-test: peaks that the forecast would have said, and that were (mean number of waits "
        f"{test.predicted_mean:,.2f} said, {test.observed_mean:,.2f} was)"
    )
    return _table(caption, ("day (UTC)", "said", "was", "error"), cells)


def _notes(notes: Iterable[str]) -> str:
    items = "".join(f"<li>{escape(note)}</li>" for note in notes)
    return f"<section><h2>What to know of these numbers</h2><ul>{items}</ul></section>" if items else ""


def _table(caption: str, names: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table that scrolls by itself when it is too wide; empty when it has no rows."""
    if not rows:
        return ""
    head = "".join(f'<th scope="col">{escape(name)}</th>' for name in names)
    body = "".join(_row(row) for row in rows)
    return (
        f'<div class="wide" role="region" aria-label="{escape(caption)}" tabindex="0"><table>'
        f"<caption>{escape(caption)}</caption><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def _row(cells: Sequence[str]) -> str:
    first, *rest = cells
    return (
        f'<tr><th scope="row">{escape(first)}</th>{"".join(f"<td>{escape(cell)}</td>" for cell in rest)}</tr>'
    )


def _estimate(value: Estimate) -> str:
    return f"{value.value:,.0f} ({value.origin})"


def _moment(seconds: float) -> str:
    return f"{datetime.fromtimestamp(seconds, tz=timezone.utc):%Y-%m-%d %H:%M} UTC"


_LEGEND = (
    "<footer><p><strong>measured</strong>: seen or counted. <strong>bounded</strong>: not above this. "
    "<strong>assumed</strong>: stated by somebody, or a default.</p></footer>"
)
