"""What checking found, as a value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from airflow_landmark.markers import Marker, Problem
from airflow_landmark.stores import Sighting

from ._assess import Level
from ._report import Report

__all__ = ["Check"]

Answer = Literal["yes", "no", "unknown"]


@dataclass(frozen=True, slots=True)
class Check:
    """What one look at a delivery found.

    :param uri: where was looked.
    :param level: how much was asked.
    :param answer: whether the delivery holds; ``"unknown"`` when that could not be told.
    :param verdict: a stable word: ``"holds"``, ``"does not hold"``, ``"undecided"``, ``"absent"``,
        ``"unreadable"``, ``"refused"``, ``"changed"``, ``"trouble"``, or a verdict of ``judge``.
    :param text: the reason, for people.
    :param sighting: of the marker; ``None`` when none was read.
    :param marker: ``None`` when there is no valid one.
    :param problems: of the marker or of the files, capped.
    :param problems_total: how many there are.
    :param report: on the files; ``None`` when they were not looked at to the end.
    """

    uri: str
    level: Level
    answer: Answer
    verdict: str
    text: str
    sighting: Sighting | None = None
    marker: Marker | None = None
    problems: tuple[Problem, ...] = ()
    problems_total: int = 0
    report: Report | None = None

    @property
    def ok(self) -> bool:
        """Whether everything that was asked for was proven."""
        return self.answer == "yes"

    def to_json(self) -> dict[str, Any]:
        """Plain JSON; what is not known is null."""
        marker, report = self.marker, self.report
        return {
            "ok": self.ok,
            "verdict": self.verdict,
            "text": self.text,
            "uri": self.uri,
            "dataset": marker and marker.dataset,
            "interval": marker and marker.interval.to_json(),
            "version": marker and marker.version,
            "level": self.level,
            "marker": self.sighting and _identity(self.sighting),
            "manifest": marker and marker.manifest.counts(),
            "problems": [problem.to_json() for problem in self.problems],
            "problems_total": self.problems_total,
            "warnings": [problem.to_json() for problem in report.warnings] if report else [],
            "warnings_total": report.warnings_total if report else 0,
            "notes": list(report.notes) if report else [],
            "digests": dict(sorted(report.digests.items())) if report else {},
            "rows_counted": report.rows_counted if report else 0,
        }


def _identity(sighting: Sighting) -> dict[str, Any]:
    return {
        "uri": sighting.address.uri,
        "sha256": sighting.sha256,
        "size": sighting.size,
        "pin": sighting.pin.to_json(),
    }
