"""Judging: one pure function, used while waiting and on the worker alike."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum

from ._errors import InvalidExpectation, UnreadableMarker
from ._interval import Interval
from ._marker import MAX_VERSION, Marker
from ._problems import show

__all__ = ["DATASET_PATTERN", "Expectation", "Taken", "Verdict", "VerdictKind", "judge"]

DATASET_PATTERN = r"[A-Za-z0-9._/-]{1,200}"


@dataclass(frozen=True, slots=True)
class Expectation:
    """What one run waits for.

    :param dataset: must equal the marker's.
    :param interval: must equal the marker's.
    :param min_version: least acceptable version, 1 to 2**53-1.
    :raises InvalidExpectation: when no valid marker could ever meet it.
    """

    dataset: str
    interval: Interval
    min_version: int = 1

    def __post_init__(self) -> None:
        if not isinstance(self.dataset, str) or not re.fullmatch(DATASET_PATTERN, self.dataset):
            raise InvalidExpectation(
                f"dataset must be 1 to 200 of A-Z a-z 0-9 . _ / -, not {show(self.dataset)}"
            )
        if not isinstance(self.interval, Interval):
            raise InvalidExpectation(f"interval must be an Interval, not {type(self.interval).__name__}")
        if type(self.min_version) is not int or not 1 <= self.min_version <= MAX_VERSION:
            raise InvalidExpectation(
                f"min_version must be a whole number from 1 to 2**53-1, not {show(self.min_version)}"
            )


@dataclass(frozen=True, slots=True)
class Taken:
    """What the ledger held when it was asked: the highest version taken, and its marker's identity."""

    version: int
    identity: str


class VerdictKind(str, Enum):
    """The possible results of judging; the value is the word used in events, logs and reports."""

    ARRIVED = "arrived"
    OTHER_DATASET = "other dataset"
    OTHER_INTERVAL = "other interval"
    OLDER_VERSION = "older version"
    WITHDRAWN = "withdrawn"
    ALREADY_TAKEN = "already taken"
    REUSED_VERSION = "reused version"
    UNREADABLE = "unreadable"

    def __str__(self) -> str:
        return self.value


@dataclass(frozen=True, slots=True)
class Verdict:
    """The result of judging a marker against an expectation.

    :param kind: the word to decide by.
    :param expected: what would have been taken, for people.
    :param found: what is there, for people.
    """

    kind: VerdictKind
    expected: str
    found: str

    @property
    def arrived(self) -> bool:
        """Whether this is the delivery that was promised."""
        return self.kind is VerdictKind.ARRIVED

    @property
    def text(self) -> str:
        """One sentence for people."""
        if self.arrived:
            return f"arrived: {self.found}"
        return f"{self.kind}: expected {self.expected}, found {self.found}"


def judge(found: Marker | UnreadableMarker, expectation: Expectation, taken: Taken | None = None) -> Verdict:
    """The verdict on what was found. Content only: no clock, no modification time, no ETag.

    :param found: a marker, or the reader's report on what is not one.
    :param taken: what the ledger holds for this dataset and interval; ``None`` without a ledger.
    """
    if isinstance(found, UnreadableMarker):
        more = f" (and {found.total - 1} more problems)" if found.total > 1 else ""
        what = f"{found.size} bytes that are none: {found.problems[0].text}{more}"
        return Verdict(VerdictKind.UNREADABLE, "a valid marker", what)
    if found.dataset != expectation.dataset:
        return Verdict(
            VerdictKind.OTHER_DATASET, f"dataset {expectation.dataset}", f"dataset {found.dataset}"
        )
    if found.interval != expectation.interval:
        return Verdict(
            VerdictKind.OTHER_INTERVAL, f"interval {expectation.interval}", f"interval {found.interval}"
        )
    return _judge_version(found, expectation, taken)


def _judge_version(marker: Marker, expectation: Expectation, taken: Taken | None) -> Verdict:
    version, least = marker.version, expectation.min_version
    if version < least:
        return Verdict(VerdictKind.OLDER_VERSION, f"version {least} or higher", f"version {version}")
    if taken and version < taken.version:
        return Verdict(
            VerdictKind.OLDER_VERSION,
            f"version {taken.version} or higher, the one taken before",
            f"version {version}",
        )
    if taken and version == taken.version:
        if marker.identity == taken.identity:
            return Verdict(
                VerdictKind.ALREADY_TAKEN, f"a version above {version}", f"version {version}, taken before"
            )
        return Verdict(
            VerdictKind.REUSED_VERSION,
            f"the bytes of version {version} that were taken before (sha256 {taken.identity[:12]})",
            f"other bytes under the same version (sha256 {marker.identity[:12]})",
        )
    if marker.status == "withdrawn":
        return Verdict(
            VerdictKind.WITHDRAWN,
            f"a version above {version}",
            f"version {version}, withdrawn by its producer",
        )
    return Verdict(VerdictKind.ARRIVED, f"version {least} or higher", f"version {version}")
