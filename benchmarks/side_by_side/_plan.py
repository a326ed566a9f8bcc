"""What is measured: cases, which of them stand side by side, and for how long."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

from . import _targets as t

__all__ = ["Case", "Comparison", "Scale", "plan"]

Scale = Literal["quick", "usual", "full"]
_SECONDS = {"quick": 0.1, "usual": 1.0, "full": 3.0}
"""How long a scale measures, as a multiple of the usual."""


@dataclass(frozen=True, slots=True)
class Case:
    """One process.

    :param store: ``"local"``, ``"http"``, ``"s3"``, ``"mixed"`` (a third each) or ``"none"``.
    :param side: ``"ours"``, ``"peer"``, ``"bare"`` (tasks that only wait) or ``"idle"`` (none).
    :param waits: how many.
    :param poll: seconds between looks.
    :param seconds: how long the steady state is measured.
    :param places: folders or URLs that the waits share; 0 gives each its own. On S3 each has its own key
        below one prefix.
    :param appear: how many deliveries come at the end, to measure the delay.
    :param status: what the HTTP server answers.
    :param settle: seconds from the first looks to the steady state.
    """

    store: str
    side: str
    waits: int
    poll: float
    seconds: float
    places: int = 0
    appear: int = 0
    status: int = 404
    settle: float = 2.0


@dataclass(frozen=True, slots=True)
class Comparison:
    """Our case and the peer's.

    :param name: for machines.
    :param what: is waited for, for people.
    :param peer: ``None`` when there is none in this run.
    :param why_no_peer: says why.
    :param targets: what ours has to reach.
    """

    name: str
    what: str
    ours: Case
    peer: Case | None
    why_no_peer: str = ""
    targets: tuple[t.Target, ...] = ()

    @property
    def title(self) -> str:
        """For people."""
        return f"{self.what}, every {self.ours.poll:g} s"

    def cases(self) -> Iterator[Case]:
        """The cases to run."""
        yield self.ours
        if self.peer is not None:
            yield self.peer


def floors(scale: Scale) -> tuple[Case, Case]:
    """The idle loop, and tasks that do nothing but wait."""
    seconds = 20 * _SECONDS[scale]
    bare = Case("none", "bare", 500 if scale == "quick" else 5000, 5.0, seconds / 3)
    return Case("none", "idle", 0, 5.0, seconds), bare


def plan(scale: Scale) -> list[Comparison]:
    """All comparisons of a scale.

    ``"quick"`` shows that everything runs. Its counts are small and its windows short: the ratios of
    ``"usual"`` and ``"full"`` are the ones to look at.
    """
    counts = (100,) if scale == "quick" else (100, 1000, 5000)
    some, most = counts[len(counts) // 2], counts[-1]
    whole = [
        *_local(counts, most),
        *_http(counts, some),
        *_refusals((403,) if scale == "quick" else (403, 429, 500)),
        *_s3(counts, scale),
        _many(300 if scale == "quick" else 10_000),
    ]
    return [_scaled(comparison, scale) for comparison in whole]


def _local(counts: tuple[int, ...], most: int) -> Iterator[Comparison]:
    for waits in counts:
        ours = Case("local", "ours", waits, 5.0, 30 if waits == most else 8, places=1)
        ours = replace(ours, appear=20 if waits == min(1000, most) else 0)
        targets = (t.QUIET, *t.STARTS.get(waits, ()), *((t.OfPeer("cpu", 0.5),) if waits == most else ()))
        yield _pair(f"local-{waits}", f"Local: {waits:,} waits in one folder", ours, targets)
    ours = Case("local", "ours", most, 5.0, 30)
    targets = (t.QUIET, t.OfPeer("cpu", 5), t.AtMost("memory", 12))
    yield _pair(f"local-folders-{most}", f"Local: {most:,} waits in as many folders", ours, targets)


def _http(counts: tuple[int, ...], some: int) -> Iterator[Comparison]:
    polls = {100: 5.0, 1000: 5.0, 5000: 15.0}
    for waits in counts:
        poll = polls[waits]
        ours = Case("http", "ours", waits, poll, 10 if waits == 100 else 15, settle=4.0)
        targets = (t.QUIET, *t.STARTS.get(waits, ()), *(t.HTTP if waits == some else ()))
        if waits == some:
            # The second look comes up to a quarter of the interval late, to spread the waits.
            ours = replace(ours, appear=20, settle=1.25 * poll)
            targets += (t.ON_TIME,)
        yield _pair(f"http-{waits}", f"HTTP: {waits:,} URLs of one host", ours, targets)
    ours = Case("http", "ours", some, 5.0, 10, places=1)
    what = f"HTTP: {some:,} waits on one URL"
    yield Comparison("http-one-url", what, ours, None, "it has no way to share", (t.QUIET, t.ONE_REQUEST))


def _refusals(statuses: tuple[int, ...]) -> Iterator[Comparison]:
    for status in statuses:
        ours = Case("http", "ours", 1, 5.0, 15, status=status)
        yield _pair(f"http-{status}", f"HTTP: one wait, answered with {status}", ours, (t.PATIENT,))


def _s3(counts: tuple[int, ...], scale: Scale) -> Iterator[Comparison]:
    polls, seconds = {100: 5.0, 1000: 60.0, 5000: 30.0}, {100: 10.0, 1000: 75.0, 5000: 38.0}
    for waits in counts:
        ours = Case("s3", "ours", waits, polls[waits], seconds[waits])
        ours = replace(ours, appear=20 if waits == 100 else 0)
        targets = (t.QUIET, *t.STARTS.get(waits, ()), *(t.S3 if waits == 1000 or scale == "quick" else ()))
        both = _pair(f"s3-{waits}", f"S3: {waits:,} waits under one prefix", ours, targets)
        if waits == 1000:  # its looks come in an even rhythm: one interval is enough
            both = replace(both, peer=replace(ours, side="peer", seconds=60.0))
        if waits == 5000 and scale != "full":
            why = "its start takes minutes and 7 GiB (--full runs it)"
            both = replace(both, peer=None, why_no_peer=why)
        yield both


def _many(waits: int) -> Comparison:
    ours = Case("mixed", "ours", waits, 30.0, 35)
    what = f"{waits:,} waits in one process: a third each local, HTTP, S3"
    return Comparison("many", what, ours, None, "not measured with so many", (t.QUIET, t.HELD))


def _pair(name: str, what: str, ours: Case, targets: tuple[t.Target, ...]) -> Comparison:
    return Comparison(name, what, ours, replace(ours, side="peer"), targets=targets)


def _scaled(comparison: Comparison, scale: Scale) -> Comparison:
    def scaled(case: Case) -> Case:
        if scale == "quick":
            return replace(case, poll=1.0, seconds=2.0, appear=min(case.appear, 3), settle=0.5)
        return replace(case, seconds=case.seconds * _SECONDS[scale])

    peer = None if comparison.peer is None else scaled(comparison.peer)
    return replace(comparison, ours=scaled(comparison.ours), peer=peer)
