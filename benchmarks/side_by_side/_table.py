"""The table: ours, the peer's, the ratio, the target, and whether it is met."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from ._targets import Target

__all__ = ["HEAD", "WIDTH", "rows"]

_Flat = Mapping[str, float | None]
_WIDTHS = (37, 17, 17, 7, 14, 8)
WIDTH = sum(_WIDTHS)
_ROWS: Sequence[tuple[str, tuple[str, ...]]] = (
    ("requests a wait-minute", ("requests",)),
    ("requests a poll and wait", ("requests_per_poll",)),
    ("latest poll, s after it was due", ("latest_poll_s",)),
    ("new connections a request", ("connections_per_request",)),
    ("sockets at once", ("sockets",)),
    ("CPU ms a wait-minute above idle loop", ("cpu",)),
    ("CPU s of the start", ("start_cpu_s",)),
    ("memory KiB a wait", ("memory",)),
    ("memory KiB a wait above bare task", ("memory_over_bare",)),
    ("all have looked after s", ("first_looks_s",)),
    ("start: loop late p50/p99/max ms", ("start_p50_ms", "start_p99_ms", "start_max_ms")),
    ("steady: loop late p50/p99/max ms", ("steady_p50_ms", "steady_p99_ms", "steady_max_ms")),
    ("event after poll: mean/max ms", ("delay_mean_ms", "delay_max_ms")),
    ("events missed", ("missed",)),
    ("log lines a minute", ("lines",)),
)
_WITH_FEW = {"requests", "requests_per_poll", "lines"}
_TINY = 0.001
"""Of a figure below this no ratio is shown: it is noise."""


def _line(cells: Sequence[str]) -> str:
    first, *others = zip(cells, _WIDTHS, strict=True)
    return (first[0].ljust(first[1]) + "".join(text.rjust(width) for text, width in others)).rstrip()


HEAD = _line(("", "ours", "peer", "ratio", "target", ""))


def rows(
    ours: _Flat, peer: _Flat, idle: _Flat, targets: Sequence[Target], *, few: bool = False
) -> Iterator[str]:
    """The lines of one comparison; a figure with two targets has two.

    :param few: leave out what means nothing with few waits: memory, CPU and the loop's lateness.
    """
    for label, names in _ROWS:
        if few and not _WITH_FEW.issuperset(names):
            continue
        if all(ours.get(name) is None and peer.get(name) is None for name in names):
            continue
        cells = [label, _cell(ours, names), _cell(peer, names), _ratio(ours, peer, names)]
        meant = [target for target in targets if target.figure in names]
        first = meant[0] if meant else None
        yield _line([*cells, *_judged(first, ours, peer, idle)])
        for target in meant[1:]:
            yield _line(["", "", "", "", *_judged(target, ours, peer, idle)])


def _judged(target: Target | None, ours: _Flat, peer: _Flat, idle: _Flat) -> tuple[str, str]:
    return ("", "") if target is None else (target.text, target.verdict(ours, peer, idle))


def _cell(figures: _Flat, names: Sequence[str]) -> str:
    return "/".join(_number(figures.get(name)) for name in names)


def _number(value: float | None) -> str:
    if value is None:
        return "-"
    if value == int(value):
        return f"{value:.0f}"
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.3g}"


def _ratio(ours: _Flat, peer: _Flat, names: Sequence[str]) -> str:
    ahead, behind = ours.get(names[0]), peer.get(names[0])
    if len(names) > 1 or ahead is None or behind is None or min(ahead, behind) < _TINY:
        return ""
    ratio = ahead / behind
    return f"1/{1 / ratio:.0f}" if ratio < 0.1 else f"{ratio:.2f}"
