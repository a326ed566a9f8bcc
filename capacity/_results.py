"""What comes out: peaks, limits, triggerers needed, times, fixes, lints. Frozen; printing is elsewhere."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Literal

from ._origin import Estimate, Origin
from ._values import Partition

__all__ = [
    "Answer",
    "BackTest",
    "BackTestDay",
    "Contributor",
    "Doubling",
    "Fix",
    "KindRow",
    "LimitName",
    "LimitRow",
    "Lint",
    "PartitionAnswer",
    "Peak",
    "ScenarioAnswer",
    "Series",
    "Times",
    "Verdict",
]

LimitName = Literal["capacity", "descriptors", "memory", "loop", "requests", "claims"]
"""``capacity``: triggers; ``descriptors``: open files of a process; ``memory``: bytes; ``loop``: CPU seconds
a second; ``requests``: requests to Airflow a second; ``claims``: new triggers a second."""


class Verdict(IntEnum):
    """Whether the waits fit; the greater, the worse."""

    HOLDS = 0
    WITHOUT_SPARE = 1
    UNKNOWN = 2
    DOES_NOT_HOLD = 3


@dataclass(frozen=True, kw_only=True)
class Contributor:
    """Who waits at the peak: a Dag, a source or a wait, and with how many."""

    name: str
    waits: float
    share: float


@dataclass(frozen=True, kw_only=True)
class Peak:
    """How many wait at once.

    :ivar mean: the average over the horizon, by Little's law.
    :ivar expected: the highest expected number.
    :ivar likely: what 99 of 100 such moments stay below, when waits end independently of each other.
    :ivar at: when, seconds since 1970; None: at any time (only permanent waits and rates), or in a scenario.
    """

    mean: Estimate
    expected: Estimate
    likely: Estimate
    at: float | None
    dags: tuple[Contributor, ...] = ()
    sources: tuple[Contributor, ...] = ()


@dataclass(frozen=True, kw_only=True)
class LimitRow:
    """One limit of a triggerer against the load of its partition.

    :ivar unit: of ``has``, ``load`` and ``after_loss``.
    :ivar has: what one triggerer has for triggers; None: not known, so not checked.
    :ivar load: what the partition asks for at its peak, headroom included.
    :ivar needed: triggerers that this limit alone asks for; None: not known.
    :ivar after_loss: the load of one survivor when ``spare`` triggerers are lost, headroom apart; None: none
        survives.
    :ivar holds_after_loss: whether that fits.
    """

    limit: LimitName
    unit: str
    has: float | None
    load: float
    needed: int | None
    after_loss: float | None
    holds_after_loss: bool
    origin: Origin


@dataclass(frozen=True, kw_only=True)
class KindRow:
    """How many triggers of one kind a triggerer holds, were it to hold no others.

    :ivar peak: waits of this kind at its own peak.
    :ivar fits: limit to number of triggers; a limit that this kind never meets is missing.
    :ivar binding: the limit that is met first.
    """

    kind: str
    poll_interval: float
    peak: float
    fits: Mapping[LimitName, Estimate]
    binding: LimitName
    origin: Origin


@dataclass(frozen=True, kw_only=True)
class ScenarioAnswer:
    """What a scenario asks for. ``usual`` is the first one: nothing particular happens.

    :ivar counts: whether the verdict depends on it; those that the plan does not name only inform.
    :ivar needed: triggerers needed.
    :ivar with_spare: needed with ``spare`` of them lost.
    :ivar replicas: those that are left in the scenario.
    """

    name: str
    text: str
    peak: Peak
    limits: tuple[LimitRow, ...]
    binding: LimitName
    needed: int
    with_spare: int
    replicas: int
    counts: bool
    verdict: Verdict


@dataclass(frozen=True, kw_only=True)
class Times:
    """How long things take at the peak.

    :ivar step: waits that start together, at most.
    :ivar start_lag: seconds until the last of them runs.
    :ivar gap: seconds between a triggerer's death and the first claim of its triggers, at most.
    :ivar moved: triggers that it had.
    :ivar recovered: seconds from its death until all of them run again.
    :ivar burst: waits that one event, such as a late source, ends together.
    :ivar events: seconds until all their events are written.
    :ivar resume_seconds: worker-slot seconds of their resumes.
    :ivar resumed: seconds until all have resumed, with the worker slots there are; None: slots not known.
    :ivar noticed: mean seconds from what is waited for to the event, by the poll interval.
    :ivar timed_out_late: seconds that a time-out comes late, at most.
    """

    step: float
    start_lag: float
    gap: float
    moved: float
    recovered: float
    burst: float
    events: float
    resume_seconds: float
    resumed: float | None
    noticed: float
    timed_out_late: float


@dataclass(frozen=True, kw_only=True)
class Doubling:
    """What happens when the waits double: which limit breaks, and at how many times today's load.

    :ivar factor: times today's peak at which the first limit is met with all replicas alive; None: there are
        no triggerers or no waits.
    """

    limit: LimitName
    factor: float | None
    holds: bool
    needed: int


@dataclass(frozen=True, kw_only=True)
class Fix:
    """Something to change, and the numbers after it.

    :ivar code: a stable word, such as ``stagger`` or ``timeout``.
    :ivar peak: the peak of the worst scenario afterwards.
    :ivar with_spare: triggerers needed with spare afterwards.
    :ivar saves: how many fewer that is; negative: it asks for more, and buys something else.
    """

    code: str
    text: str
    peak: float
    needed: int
    with_spare: int
    saves: int


@dataclass(frozen=True, kw_only=True)
class Lint:
    """Something in the configuration that will hurt.

    :ivar code: ``LC`` and a number; stable.
    :ivar level: ``error``: waits will fail or triggerers crash; ``warning``: they may.
    :ivar where: the deployment, wait, pool or Dag.
    """

    code: str
    level: Literal["error", "warning"]
    where: str
    text: str


@dataclass(frozen=True, kw_only=True)
class Series:
    """The profile, thinned for drawing: ``values`` are the highest in each step, per Dag."""

    start: float
    step: float
    total: tuple[float, ...]
    dags: Mapping[str, tuple[float, ...]] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class PartitionAnswer:
    """The answer for triggers that share triggerers: one queue and team, or all that one deployment serves.

    :ivar deployments: names of the deployments that serve it; empty: nobody does.
    :ivar capacity: triggers that one triggerer takes; the lowest of the deployments.
    :ivar scenarios: ``usual`` first, then those of the plan, then those that only inform.
    :ivar statements: SQL statements a second of all its triggerers at the peak.
    """

    partitions: tuple[Partition, ...]
    deployments: tuple[str, ...]
    replicas: int
    spare: int
    capacity: int
    scenarios: tuple[ScenarioAnswer, ...]
    kinds: tuple[KindRow, ...]
    times: Times
    doubling: Doubling
    fixes: tuple[Fix, ...]
    series: Series
    statements: Estimate
    verdict: Verdict

    @property
    def name(self) -> str:
        """The queues and the team, in words."""
        return "; ".join(str(one) for one in self.partitions)

    @property
    def usual(self) -> ScenarioAnswer:
        """When nothing particular happens."""
        return self.scenarios[0]

    @property
    def worst(self) -> ScenarioAnswer:
        """The scenario that asks for most, among those that count."""
        counted = [one for one in self.scenarios if one.counts]
        return max(counted, key=lambda one: (one.verdict, one.with_spare, one.peak.likely.value))


@dataclass(frozen=True, kw_only=True)
class BackTestDay:
    """One day: the peak that the model says and the one that was."""

    day: str
    predicted: float
    observed: float

    @property
    def error(self) -> float | None:
        """Predicted over observed, less one; None on a day without waits."""
        return self.predicted / self.observed - 1 if self.observed else None


@dataclass(frozen=True, kw_only=True)
class BackTest:
    """Predicted against observed peaks."""

    days: tuple[BackTestDay, ...]
    observed_mean: float
    predicted_mean: float


@dataclass(frozen=True, kw_only=True)
class Answer:
    """The whole answer of ``landmark capacity check``."""

    begin: float
    end: float
    partitions: tuple[PartitionAnswer, ...]
    lints: tuple[Lint, ...]
    notes: tuple[str, ...]
    verdict: Verdict
    back_test: BackTest | None = None
