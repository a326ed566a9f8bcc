"""The forecast against what was: peaks day by day. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timezone

from ._curves import Grid
from ._results import BackTest, BackTestDay
from ._sweep import Sweep
from ._values import Deferral, Inputs

__all__ = ["back_test", "daily_peaks_of", "mean_of", "peak_of"]

_DAY = 86_400.0


def back_test(inputs: Inputs, past: Sequence[Deferral], *, begin: float, end: float) -> BackTest:
    """Compare the forecast for a past time with the waits of that time.

    :param inputs: waits whose durations were learned from a time *before* ``begin``, with the starts of
        [begin, end): otherwise the forecast would know what it is to foretell.
    :param past: the waits that were.
    :param begin: where the compared time begins; whole days from the next midnight (UTC) on are compared.
    """
    first, last = -(-begin // _DAY) * _DAY, end // _DAY * _DAY
    if last <= first:
        return BackTest(days=(), observed_mean=0.0, predicted_mean=0.0)
    waits = [wait for wait in inputs.waits if wait.mode == "deferrable"]
    profile = Sweep(inputs, Grid.covering(begin=first, seconds=last - first)).profile(waits)
    grid = profile.grid
    a_day = int(_DAY // grid.step)
    predicted = [max(profile.total.mean[at : at + a_day]) for at in range(0, grid.cells, a_day)]
    observed = daily_peaks_of(past, begin=first, end=last)
    days = [
        BackTestDay(
            day=f"{datetime.fromtimestamp(first + n * _DAY, tz=timezone.utc):%Y-%m-%d}",
            predicted=p,
            observed=o,
        )
        for n, (p, o) in enumerate(zip(predicted, observed, strict=False))
    ]
    return BackTest(
        days=tuple(days),
        observed_mean=mean_of(past, begin=first, end=last),
        predicted_mean=profile.mean,
    )


def peak_of(past: Iterable[Deferral], *, begin: float, end: float) -> float:
    """The most that waited at once in [begin, end)."""
    return max(daily_peaks_of(past, begin=begin, end=end, length=end - begin), default=0.0)


def mean_of(past: Iterable[Deferral], *, begin: float, end: float) -> float:
    """How many waited on average in [begin, end)."""
    waited = sum(
        max(0.0, min(end, end if one.end is None else one.end) - max(begin, one.start)) for one in past
    )
    return waited / (end - begin) if end > begin else 0.0


def daily_peaks_of(
    past: Iterable[Deferral], *, begin: float, end: float, length: float = _DAY
) -> list[float]:
    """The most that waited at once in each span of ``length`` seconds from ``begin``.

    A wait that ends at the moment at which another begins does not overlap it.
    """
    peaks = [0] * max(0, int(-(-(end - begin) // length)))
    count, place = 0, 0
    for at, change in sorted(_edges(past, begin, end)):
        # an end at midnight belongs to the day before
        here = int((at - begin) // length) if change > 0 else int(-(-(at - begin) // length)) - 1
        while place < here:  # what still waits at midnight counts for the new day, too
            place += 1
            peaks[place] = count
        count += change
        peaks[here] = max(peaks[here], count)
    for later in range(place + 1, len(peaks)):
        peaks[later] = count
    return [float(peak) for peak in peaks]


def _edges(past: Iterable[Deferral], begin: float, end: float) -> Iterator[tuple[float, int]]:
    for one in past:
        last = end if one.end is None else one.end
        if one.start >= end or last <= begin:
            continue
        yield max(one.start, begin), 1
        if last < end:
            yield last, -1
