"""What verifying found: one report with all problems, and what could not be checked."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from airflow_landmark.markers import MAX_PROBLEMS, Problem
from airflow_landmark.stores import Facts

from ._assess import Level

__all__ = ["UNDECIDED", "Progress", "Report"]

UNDECIDED = frozenset({"archived", "no access", "not counted"})
"""Kinds of problems that do not show that the delivery is bad, only that it could not be proven good."""


@dataclass(frozen=True, slots=True)
class Progress:
    """How far verifying or hashing is."""

    files_done: int
    files: int
    bytes_done: int
    size_bytes: int


@dataclass(slots=True)
class Report:
    """The result of verifying a manifest.

    :param level: how much was asked.
    :param files: how many files the manifest lists.
    :param problems: the first ones, by path.
    :param total: how many problems there are.
    :param warnings: the first problems that were asked to be told only.
    :param warnings_total: how many of these there are.
    :param digests: how many files were proven by which algorithm.
    :param held: how many of them by a digest that the store itself keeps, without a download.
    :param rows_counted: how many files had their rows counted and found right.
    :param notes: what could not be checked, for people.
    :param facts: path to size and pin of each file that was seen.
    """

    level: Level
    files: int
    problems: list[Problem] = field(default_factory=list)
    total: int = 0
    warnings: list[Problem] = field(default_factory=list)
    digests: dict[str, int] = field(default_factory=dict)
    rows_counted: int = 0
    notes: list[str] = field(default_factory=list)
    facts: dict[str, Facts] = field(default_factory=dict)
    kinds: dict[str, int] = field(default_factory=dict)
    warnings_total: int = 0
    held: int = 0

    @property
    def ok(self) -> bool:
        """Whether everything that was asked for was proven."""
        return not self.total

    @property
    def undecided(self) -> bool:
        """Whether nothing is known to be bad, but not everything was proven good."""
        return not self.ok and set(self.kinds) <= UNDECIDED

    @property
    def text(self) -> str:
        """For people: the kinds of problems with their counts."""
        return ", ".join(f"{count} {kind}" for kind, count in sorted(self.kinds.items())) or "no problems"

    def add(self, problem: Problem) -> None:
        """One more problem; beyond the cap it is counted only."""
        self.total += 1
        self.kinds[problem.kind] = self.kinds.get(problem.kind, 0) + 1
        if len(self.problems) < MAX_PROBLEMS:
            self.problems.append(problem)

    def warn(self, problem: Problem) -> None:
        """One more problem that does not count; beyond the cap not even its name is kept."""
        self.warnings_total += 1
        if len(self.warnings) < MAX_PROBLEMS:
            self.warnings.append(problem)

    def note(self, text: str) -> None:
        """Something that could not be checked."""
        if len(self.notes) < MAX_PROBLEMS:
            self.notes.append(text)

    def sort(self) -> None:
        """Problems in the order of their paths, whatever finished first."""
        self.problems.sort(key=lambda problem: (problem.place, problem.kind))

    def to_json(self) -> dict[str, Any]:
        """Plain JSON."""
        return {
            "level": self.level,
            "files": self.files,
            "problems": [problem.to_json() for problem in self.problems],
            "problems_total": self.total,
            "warnings": [problem.to_json() for problem in self.warnings],
            "warnings_total": self.warnings_total,
            "digests": dict(sorted(self.digests.items())),
            "held": self.held,
            "rows_counted": self.rows_counted,
            "notes": list(self.notes),
        }
