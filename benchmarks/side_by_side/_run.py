"""Runs comparisons, each case in a fresh process, and gathers the report."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from ._figures import FIGURES, Floors, flat
from ._plan import Case, Comparison
from ._table import rows
from ._targets import Verdict

__all__ = ["Finding", "floors_of", "measured"]

_MOST_SECONDS = 1800.0
_FEW = 50
"""With fewer waits, only requests and log lines are told."""
_Flat = Mapping[str, float | None]
_NOTHING: _Flat = dict.fromkeys(FIGURES)


@dataclass(frozen=True, slots=True)
class Finding:
    """The figures of one comparison.

    :param failures: what became of a case that did not end well, by side.
    """

    comparison: Comparison
    figures: Mapping[str, _Flat]
    floors: Floors
    failures: Mapping[str, str] = field(default_factory=dict)

    def verdicts(self) -> list[Verdict]:
        """One for each target."""
        ours, peer, idle = self._sides()
        return [target.verdict(ours, peer, idle) for target in self.comparison.targets]

    def lines(self) -> Iterator[str]:
        """The comparison in the table."""
        yield self.comparison.title
        if self.comparison.peer is None:
            yield f"  no peer: {self.comparison.why_no_peer}"
        for side, text in self.failures.items():
            yield f"  {side} FAILED: {text}"
        ours, peer, idle = self._sides()
        few = self.comparison.ours.waits < _FEW
        yield from rows(ours, peer, idle, self.comparison.targets, few=few)

    def to_json(self) -> dict[str, Any]:
        """For machines."""
        comparison = self.comparison
        return {
            "name": comparison.name,
            "title": comparison.title,
            "why_no_peer": comparison.why_no_peer,
            "cases": {case.side: asdict(case) for case in comparison.cases()},
            "figures": self.figures,
            "failures": self.failures,
            "targets": [
                target.to_json() | {"verdict": verdict}
                for target, verdict in zip(comparison.targets, self.verdicts(), strict=True)
            ],
        }

    def _sides(self) -> tuple[_Flat, _Flat, _Flat]:
        return (
            self.figures.get("ours", _NOTHING),
            self.figures.get("peer", _NOTHING),
            self.floors.idle or _NOTHING,
        )


def measured(comparison: Comparison, floors: Floors) -> Finding:
    """Run both sides, one after the other; both at once where neither CPU nor lateness is told."""
    figures, failures = {}, {}
    with ThreadPoolExecutor(2 if comparison.ours.waits < _FEW else 1) as threads:
        for case, running in [(case, threads.submit(_in_process, case)) for case in comparison.cases()]:
            try:
                figures[case.side] = flat(case, running.result(), floors)
            except _CaseFailed as failed:
                failures[case.side] = str(failed)
    return Finding(comparison, figures, floors, failures)


def floors_of(cases: Sequence[Case], say: Callable[[str], None]) -> Floors:
    """Run the idle loop and the bare tasks.

    :raises RuntimeError: when one fails: then there is nothing to compare with.
    """
    idle_case, bare_case = cases
    idle, bare = (_in_process(case) for case in cases)
    figures = flat(idle_case, idle, Floors())
    floors = Floors(idle["busy_share"], bare["memory"], figures)
    say(
        f"idle loop: {100 * floors.idle_share:.2f} % of a core, late p50 {figures['steady_p50_ms']:.2f}, "
        f"p99 {figures['steady_p99_ms']:.1f}, max {figures['steady_max_ms']:.0f} ms; "
        f"bare task ({bare_case.waits:,}): {floors.bare_memory:.1f} KiB"
    )
    return floors


class _CaseFailed(RuntimeError):
    """Raised when a case's process does not end with figures."""


def _in_process(case: Case) -> dict[str, Any]:
    command = [sys.executable, "-m", f"{__package__}._case", json.dumps(asdict(case))]
    paths = [str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH", "")]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, paths))}
    try:
        done = subprocess.run(  # noqa: S603 - a module beside this one
            command, env=environment, capture_output=True, text=True, timeout=_MOST_SECONDS, check=True
        )
    except subprocess.TimeoutExpired:
        raise _CaseFailed(f"not over after {_MOST_SECONDS:g} s") from None
    except subprocess.CalledProcessError as error:
        last = (error.stderr.strip().splitlines() or ["no message"])[-1]
        raise _CaseFailed(f"status {error.returncode}: {last}") from None
    figures: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return figures
