"""``landmark capacity watch``."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

import click

from ._capacity_options import status_of
from ._capacity_sources import api_option, db_option, sources_of
from ._exits import Exit
from ._options import json_option
from ._print import banner, counted, err, out, out_json, safe
from ._types import Seconds

if TYPE_CHECKING:
    from collections.abc import Callable

    from airflow_landmark.capacity import LiveState, LiveVerdict

__all__ = ["watch"]

_SHOWN = 10
_WORDS = {Exit.YES: "holds", Exit.SPARE: "holds without spare", Exit.NO: "waits starve"}


@click.command()
@db_option
@api_option
@click.option(
    "--every",
    type=Seconds(least=1.0, most=3_600.0),
    default=5.0,
    show_default=True,
    metavar="S",
    help="Seconds between two looks.",
)
@click.option("--once", is_flag=True, help="Look once and end with a status, for monitoring.")
@click.option(
    "--grace",
    type=Seconds(most=86_400.0),
    default=30.0,
    show_default=True,
    metavar="S",
    help="Seconds that a wait may be without a triggerer.",
)
@json_option
def watch(*, db: str | None, api: str | None, every: float, once: bool, grace: float, as_json: bool) -> Exit:
    """Show what waits now: starving waits first, triggerers, kinds, pools.

    With --once the status says how it is: 0 all is well, 1 waits have no triggerer, 4 the next loss would
    leave them without. With --json there is one document a look, one a line unless --once is given.
    """
    from airflow_landmark.capacity import live_reader  # noqa: PLC0415

    if db is None and api is None:
        raise click.UsageError("say where to look: give --db or --api")
    sources = sources_of((None, db, api, None), begin=0.0, seconds=0.0)
    with live_reader(sources) as read:
        if once:
            return _once(read(), grace, as_json)
        with contextlib.suppress(KeyboardInterrupt):  # how this is meant to end
            _lines(read, every, grace) if as_json else _screen(read, every, grace)
        return Exit.INTERRUPTED


def _judged(live: LiveState, grace: float) -> tuple[LiveVerdict, Exit]:
    from airflow_landmark.capacity import judge_live  # noqa: PLC0415

    judged = judge_live(live, grace=grace)
    return judged, status_of(judged.verdict)


def _once(live: LiveState, grace: float, as_json: bool) -> Exit:
    from airflow_landmark.capacity import live_document  # noqa: PLC0415

    judged, status = _judged(live, grace)
    if as_json:
        out_json(live_document(live, judged))
    else:
        out(*_text(live, judged, status))
    return status


def _lines(read: Callable[[], LiveState], every: float, grace: float) -> None:
    """One document a line, until interrupted."""
    import json  # noqa: PLC0415

    from airflow_landmark.capacity import CannotTell, live_document  # noqa: PLC0415

    while True:
        try:
            live = read()
            out(json.dumps(live_document(live, _judged(live, grace)[0])))
        except CannotTell as error:
            err(f"landmark capacity watch: {error}")
        time.sleep(every)


def _screen(read: Callable[[], LiveState], every: float, grace: float) -> None:
    """The whole picture, drawn anew at every look, until interrupted. A look that fails is repeated."""
    from rich.console import Console  # noqa: PLC0415
    from rich.live import Live  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    from airflow_landmark.capacity import CannotTell  # noqa: PLC0415

    with Live(console=Console(), auto_refresh=False, screen=False) as screen:
        while True:
            try:
                live = read()
                shown = _picture(live, grace)
            except CannotTell as error:
                shown = Text(f"could not tell: {safe(str(error))}", style="yellow")
            screen.update(shown, refresh=True)
            time.sleep(every)


def _picture(live: LiveState, grace: float) -> Any:
    from rich.text import Text  # noqa: PLC0415

    judged, status = _judged(live, grace)
    moment = datetime.fromtimestamp(live.taken_at, tz=timezone.utc)
    lines = [f"{moment:%Y-%m-%d %H:%M:%S} UTC", *_text(live, judged, status)]
    return Text.from_ansi("\n".join(lines), no_wrap=True, overflow="crop")


def _text(live: LiveState, judged: LiveVerdict, status: Exit) -> Iterator[str]:
    total = f"{counted(live.triggers, 'trigger')}, {live.starving_total:,} without a triggerer"
    yield banner(status, _WORDS[status], judged.reasons[0] if judged.reasons else total)
    yield from (f"  {safe(reason)}" for reason in judged.reasons[1:])
    if live.starving:
        yield ""
        yield f"  {'waits without a triggerer':<46}  {'kind':<22}  {'age':>7}  times out in"
        for one in live.starving[:_SHOWN]:
            ends = "never" if one.timeout_in is None else _span(one.timeout_in)
            kind = one.kind.rpartition(".")[2]
            name = _cut(one.name or "(no task)", 46)
            yield f"  {name:<46}  {_cut(kind, 22):<22}  {_span(one.age):>7}  {ends}"
        if live.starving_total > _SHOWN:
            yield f"  and {live.starving_total - _SHOWN:,} more"
    yield from _triggerers(live)
    yield from _kinds(live)
    yield from _pools(live)


def _triggerers(live: LiveState) -> Iterator[str]:
    yield ""
    yield f"  {'triggerer':<46}  {'job':>8}  {'triggers':>8}  heartbeat"
    for one in live.triggerers:
        state = f"{_span(one.heartbeat_age)} ago" if one.alive else f"dead, {_span(one.heartbeat_age)} ago"
        yield f"  {_cut(one.host, 46):<46}  {one.job:>8}  {one.triggers:>8,}  {state}"
    if not live.triggerers:
        yield "  none"


def _kinds(live: LiveState) -> Iterator[str]:
    if live.kinds:
        yield ""
        yield f"  {'kind of trigger':<60}  {'waits':>8}"
    for path, count in sorted(live.kinds.items(), key=lambda one: (-one[1], one[0]))[:_SHOWN]:
        yield f"  {_cut(path.rpartition('.')[2], 60):<60}  {count:>8,}"
    rest = [
        (live.watchers, "asset watchers"),
        (live.callbacks, "callbacks"),
        (len(live.backfills), "backfills"),
    ]
    found = ", ".join(f"{count:,} {name}" for count, name in rest if count)
    if found:
        yield f"  with {found}"


def _pools(live: LiveState) -> Iterator[str]:
    yield ""
    heads = f"{'slots':>7}  {'running':>7}  {'queued':>7}  {'deferred':>8}  {'open':>7}"
    yield f"  {'pool':<32}  {heads}  counts deferred"
    for name, pool in list(live.pools.items())[:_SHOWN]:
        slots = "no end" if pool["slots"] < 0 else f"{pool['slots']:,}"
        opened = "no end" if pool["open"] is None else f"{pool['open']:,}"
        yield (
            f"  {_cut(name, 32):<32}  {slots:>7}  {pool['running']:>7,}  {pool['queued']:>7,}  "
            f"{pool['deferred']:>8,}  {opened:>7}  {'yes' if pool['include_deferred'] else 'no'}"
        )


def _cut(text: str, width: int) -> str:
    plain = safe(text)
    return plain if len(plain) <= width else plain[: width - 3] + "..."


def _span(seconds: float) -> str:
    from airflow_landmark.capacity import span  # noqa: PLC0415

    return span(max(0.0, seconds))
