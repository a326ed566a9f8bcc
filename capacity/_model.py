"""The waits of one set of triggerers, and what is computed of them again and again."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cached_property

from ._bounds import concurrency_cap, waiting_time
from ._calibrations import Calibrations
from ._curves import LoadClass, Profile
from ._limits import Demand, Supply, demand_of, limit_rows, supply_of
from ._origin import Estimate, Origin, weakest
from ._results import Contributor, LimitName, LimitRow, Peak, ScenarioAnswer, Verdict
from ._scenarios import Load, Pile, load_of, text_of
from ._schedules import Always, Rate
from ._sweep import Sweep, class_of
from ._values import Deployment, Inputs, Partition, Pool, Scenario, Wait

__all__ = ["USUAL", "Group", "Model", "Need", "serving_groups"]

USUAL = Scenario(name="usual", kind="lost", count=0)
"""Nothing particular happens."""

_CONTRIBUTORS = 8
_UNKNOWN = Deployment(name="(none)", replicas=0)


@dataclass(frozen=True)
class Need:
    """Triggerers that a scenario needs.

    :ivar known: whether every limit that is met could be divided: a limit of nothing never can.
    """

    rows: tuple[LimitRow, ...]
    needed: int
    binding: LimitName
    known: bool


@dataclass(frozen=True)
class Group:
    """Waits with the triggerers that may run them.

    :ivar deployments: empty: nobody serves these waits, or nobody said who.
    """

    partitions: tuple[Partition, ...]
    deployments: tuple[Deployment, ...]
    waits: tuple[Wait, ...]


@dataclass(frozen=True)
class Model:
    """One set of triggerers and its waits; both may differ from the group's: that is how fixes are tried.

    :ivar usual: the profile of the waits.
    """

    group: Group
    deployments: tuple[Deployment, ...]
    waits: tuple[Wait, ...]
    inputs: Inputs
    calibrations: Calibrations
    sweep: Sweep
    usual: Profile

    @classmethod
    def of(cls, group: Group, *, inputs: Inputs, calibrations: Calibrations, sweep: Sweep) -> Model:
        """With the profile computed."""
        return cls(
            group, group.deployments, group.waits, inputs, calibrations, sweep, sweep.profile(group.waits)
        )

    @property
    def replicas(self) -> int:
        """Triggerers that are there."""
        return sum(one.replicas for one in self.deployments)

    @property
    def spare(self) -> int:
        """How many may be lost."""
        return max((one.spare for one in self.deployments), default=_UNKNOWN.spare)

    @property
    def assumed_deployments(self) -> tuple[Deployment, ...]:
        """Those that are there; one with Airflow's defaults where there are none."""
        return self.deployments or (_UNKNOWN,)

    @cached_property
    def supply(self) -> Supply:
        """What one triggerer has."""
        asks = any(self.calibrations.kind(path).requests > 0 for path, _ in self.usual.classes)
        return supply_of(self.assumed_deployments, self.calibrations, requests=asks)

    @cached_property
    def origin(self) -> Origin:
        """Where the numbers of waits come from, the weakest."""
        widths = (wait.width.origin for wait in self.waits)
        # how long a permanent wait lasts is no question
        lasting = (wait.duration.origin for wait in self.waits if not isinstance(wait.arrivals, Always))
        return weakest([*widths, *lasting])

    def changed(self, waits: Iterable[Wait]) -> Model:
        """The same with other waits of the same names, and with such as have no name here yet.

        Only what shares a cap with them is computed anew.
        """
        new = {wait.name: wait for wait in waits}
        touched = {self.sweep.component(wait) for wait in new.values()}
        touched |= {self.sweep.component(wait) for wait in self.waits if wait.name in new}
        before = [wait for wait in self.waits if self.sweep.component(wait) in touched]
        known = {wait.name for wait in self.waits}
        added = [wait for name, wait in new.items() if name not in known]
        after = [new.get(wait.name, wait) for wait in before] + added
        kept_profile = Profile.empty(self.sweep.grid)
        if len(before) < len(self.waits):
            kept_profile = self.usual.minus(self.sweep.profile(before))
        profile = kept_profile.plus(self.sweep.profile(after))
        kept = tuple(new.get(wait.name, wait) for wait in self.waits) + tuple(added)
        return replace(self, waits=kept, usual=profile)

    def reclassed(self, change: Callable[[LoadClass], LoadClass]) -> Model:
        """The same waits with other kinds and poll intervals: they last as long, and weigh something else."""
        waits = []
        for wait in self.waits:
            kind, poll_interval = change(class_of(wait))
            waits.append(replace(wait, kind=kind, poll_interval=poll_interval))
        return replace(self, waits=tuple(waits), usual=self.usual.reclassed(change))

    def timed_out(self, waits: Iterable[Wait]) -> Model:
        """The same with time-outs that usual waits hardly ever reach: their profile stays what it is."""
        new = {wait.name: wait for wait in waits}
        return replace(self, waits=tuple(new.get(wait.name, wait) for wait in self.waits))

    def with_pool(self, pool: Pool) -> Model:
        """The same with another pool of this name."""
        inputs = replace(self.inputs, pools={**self.inputs.pools, pool.name: pool})
        sweep = self.sweep.with_inputs(inputs)
        members = [wait for wait in self.waits if wait.pool == pool.name and not wait.from_trigger]
        touched = {self.sweep.component(wait) for wait in members}
        around = [wait for wait in self.waits if self.sweep.component(wait) in touched]
        profile = self.usual.minus(self.sweep.profile(around)).plus(sweep.profile(around))
        return replace(self, inputs=inputs, sweep=sweep, usual=profile)

    def with_deployments(self, change: Callable[[Deployment], Deployment]) -> Model:
        """The same with other triggerers."""
        return replace(self, deployments=tuple(change(one) for one in self.assumed_deployments))

    def load(self, scenario: Scenario) -> Load:
        """The waits of a scenario."""
        if scenario is USUAL:
            return Load(self.usual, Pile.none())
        return load_of(scenario, self.waits, usual=self.usual, inputs=self.inputs, sweep=self.sweep)

    def demand(self, load: Load) -> Demand:
        """What they ask for."""
        return demand_of(
            load.profile,
            self.calibrations,
            extra=load.pile.classes,
            extra_total=load.pile.total,
            origin=weakest([self.origin, load.origin or self.origin]),
        )

    def need(self, demand: Demand) -> Need:
        """Triggerers needed; the limit that asks for most binds."""
        rows = limit_rows(
            demand,
            self.supply,
            headroom=self.inputs.platform.headroom,
            replicas=self.replicas,
            spare=self.spare,
        )
        most = max(rows, key=lambda row: row.load / row.has if row.has and row.has > 0 else 0.0)
        empty = [row for row in rows if row.load > 0 and row.has is not None and row.has <= 0]
        needed = max(row.needed or 0 for row in rows)
        return Need(rows, needed, empty[0].limit if empty else most.limit, not empty)

    def answer(self, scenario: Scenario, *, counts: bool) -> ScenarioAnswer:
        """What the scenario asks for, and whether the triggerers hold it."""
        load = self.load(scenario)
        need = self.need(self.demand(load))
        with_spare = need.needed + self.spare if need.needed else 0
        return ScenarioAnswer(
            name=scenario.name,
            text="nothing particular happens" if scenario is USUAL else text_of(scenario),
            peak=self.peak(load, detailed=scenario is USUAL),
            limits=need.rows,
            binding=need.binding,
            needed=need.needed,
            with_spare=with_spare,
            replicas=self.replicas - load.lost,
            counts=counts,
            verdict=self._verdict(
                need, self.replicas - load.lost, with_spare if not load.lost else need.needed
            ),
        )

    def _verdict(self, need: Need, replicas: int, with_spare: int) -> Verdict:
        if not self.inputs.deployments:
            return Verdict.UNKNOWN if need.needed else Verdict.HOLDS
        if not need.known or replicas < need.needed:
            return Verdict.DOES_NOT_HOLD
        return Verdict.HOLDS if replicas >= with_spare else Verdict.WITHOUT_SPARE

    def peak(self, load: Load, *, detailed: bool) -> Peak:
        """The highest number of waits, and who they are."""
        profile, pile = load.profile, load.pile
        index = profile.peak_index()
        origin = weakest([self.origin, load.origin or self.origin])
        moving = any(not isinstance(wait.arrivals, (Rate, Always)) for wait in self.waits)
        at = profile.grid.begin + index * profile.grid.step
        shares = self.present(index) if detailed else []
        whole = math.fsum(number for _, number in shares)
        return Peak(
            mean=Estimate(self.usual.mean, self.origin),
            expected=Estimate(profile.total.mean[index] + pile.total, origin),
            likely=Estimate(profile.total.highest_likely() + pile.total, origin),
            at=at if moving and not pile.total else None,
            dags=_largest(((wait.dag_name, number) for wait, number in shares), whole),
            sources=_largest(((wait.group, number) for wait, number in shares), whole),
        )

    def present(self, index: int) -> list[tuple[Wait, float]]:
        """How many of each wait are there in one step, before caps that several share."""
        grid = self.sweep.grid
        at = grid.begin + index * grid.step
        found = []
        for wait in self.waits:
            cap = concurrency_cap(wait, self.inputs.dag_of(wait))
            number = min(cap, wait.width.value * self._runs_present(wait, at, at + grid.step))
            if number > 0:
                found.append((wait, number))
        return found

    def _runs_present(self, wait: Wait, begin: float, end: float) -> float:
        duration = waiting_time(wait)
        if isinstance(wait.arrivals, Always):
            return 1.0
        if isinstance(wait.arrivals, Rate):
            return wait.arrivals.per_second * min(duration.mean, self.sweep.grid.seconds)
        starts = self.sweep.starts_of(wait, begin=begin, end=end)
        return math.fsum(duration.survival(max(0.0, begin - start)) for start in starts)


def serving_groups(inputs: Inputs) -> list[Group]:
    """All waits that need triggerers; partitions that one deployment serves belong together."""
    owner: dict[Partition, Partition] = {}

    def first(one: Partition) -> Partition:
        while owner.setdefault(one, one) != one:
            one = owner[one]
        return one

    for deployment in inputs.deployments:
        for partition in deployment.partitions:
            owner[first(partition)] = first(deployment.partitions[0])
    waits: dict[Partition, list[Wait]] = {}
    for wait in inputs.waits:
        if wait.mode == "deferrable":
            waits.setdefault(first(wait.partition), []).append(wait)
    roots = sorted({first(one) for one in list(owner)})
    return [
        Group(
            tuple(sorted(one for one in owner if first(one) == root)),
            tuple(one for one in inputs.deployments if first(one.partitions[0]) == root),
            tuple(waits.get(root, ())),
        )
        for root in roots
    ]


def _largest(pairs: Iterable[tuple[str, float]], whole: float) -> tuple[Contributor, ...]:
    sums: dict[str, float] = {}
    for name, number in pairs:
        sums[name] = sums.get(name, 0.0) + number
    top = sorted(sums.items(), key=lambda pair: (-pair[1], pair[0]))[:_CONTRIBUTORS]
    return tuple(Contributor(name=name, waits=number, share=number / whole) for name, number in top)
