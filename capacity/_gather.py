"""From Dags, history and present state to the inputs of a check, with a plan on top."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from ._backtest import back_test
from ._history import TaskHistory, deferrals_of, histories
from ._inventory import UNKNOWN_KIND, DescribedDag, Inventory
from ._origin import Estimate
from ._pairing import PastWait
from ._places import Opened, Sources, opened
from ._present import with_kinds, with_live
from ._read_dags import known_class, read_folder, read_serialized
from ._read_fires import Fires
from ._read_history import PastWaits
from ._results import BackTest
from ._schedules import Listed
from ._values import Deferral, Inputs, LiveState, Wait

__all__ = ["Gathered", "gather", "merged"]


TellStep = Callable[[str, int, int], None]
"""Called with what is done, how much of it, and how much there is."""

LOOKBACK_SECONDS = 10 * 86_400.0
"""Starts so long before the horizon may still wait in it: a sensor's default time-out is seven days."""
LEAST_DAYS = 2.0
"""A back-test needs a day to learn from and a day to foretell."""
_DAY = 86_400.0
_SHOWN_ERRORS = 5


@dataclass(frozen=True, kw_only=True)
class Gathered:
    """What was found.

    :ivar back_test: None: no history, or too little.
    :ivar live: None: neither database nor API was given.
    """

    inputs: Inputs
    deferrals: tuple[Deferral, ...] = ()
    back_test: BackTest | None = None
    live: LiveState | None = None


def gather(plan: Inputs, sources: Sources, *, tell: TellStep) -> Gathered:
    """Read what there is and put the plan on top: what it names, it knows better.

    :raises CannotTell: when a source cannot be read.
    """
    with opened(sources) as places:
        dags, notes = _dags(sources, places, tell)
        dags = [_woken(one, sources.awake) for one in dags]
        now = places.now()
        past, timeouts = None, dict[str, float]()
        if sources.history_seconds is not None:
            since = now - sources.history_seconds
            timeouts = places.timeouts(since)
            past = places.past(since, _from_trigger(dags), _steps(tell, "Reading past waits"))
        live = places.live()
        kinds = places.kinds()
    gathering = _Gathering(sources, dags, (past, timeouts), now)
    found = with_kinds(gathering.inputs(), kinds)
    found = replace(found, notes=(*notes, *found.notes, *(past.notes if past else ())))
    inputs = merged(plan, with_live(found, live))
    known = {wait.name: wait for wait in inputs.waits}
    return Gathered(
        inputs=inputs,
        deferrals=deferrals_of(past.intervals, known) if past else (),
        back_test=gathering.back_test(inputs),
        live=live,
    )


def merged(plan: Inputs, found: Inputs) -> Inputs:
    """Both; a wait, Dag or pool that the plan names is taken from the plan, deployments too if it has any."""
    named = {wait.name for wait in plan.waits}
    return replace(
        plan,
        waits=(*plan.waits, *(wait for wait in found.waits if wait.name not in named)),
        dags={**found.dags, **plan.dags},
        pools={**found.pools, **plan.pools},
        deployments=plan.deployments or found.deployments,
        notes=(*plan.notes, *found.notes),
    )


class _Gathering:
    """Dags and the past made waits, for the horizon and for a part of the past."""

    def __init__(
        self,
        sources: Sources,
        dags: list[DescribedDag],
        past: tuple[PastWaits | None, Mapping[str, float]],
        now: float,
    ) -> None:
        self._sources = sources
        self._dags = dags
        self._past, self._timeouts = past
        self._now = now

    def inputs(self) -> Inputs:
        """The waits of the horizon."""
        begin = self._sources.begin
        return self._waits(self._past_of(None), begin=begin, end=begin + self._sources.seconds)

    def back_test(self, inputs: Inputs) -> BackTest | None:
        """Learn from the first half of the past, foretell the second one, compare."""
        past = self._past
        if past is None or not past.intervals:
            return None
        asked = self._now - (self._sources.history_seconds or 0.0)
        first = max(asked, min(wait.start for wait in past.intervals))
        if self._now - first < LEAST_DAYS * _DAY:
            return None
        middle = (first + self._now) / 2
        learned = self._waits(self._past_of(middle), begin=middle, end=self._now)
        learned = replace(learned, pools=inputs.pools)
        known = {wait.name: wait for wait in learned.waits}
        return back_test(learned, deferrals_of(past.intervals, known), begin=middle, end=self._now)

    def _past_of(self, until: float | None) -> dict[str, TaskHistory]:
        """The past of each task, of what had ended by ``until``."""
        past = self._past
        if past is None:
            return {}
        if until is None:
            waits: Iterable[PastWait] = past.intervals
            return histories(
                waits, run_starts=past.run_starts, tries=past.tries, rescheduled=past.rescheduled
            )
        ended = [one for one in past.intervals if one.end is not None and one.end <= until]
        return histories(ended, run_starts=past.run_starts, tries=_share(past, ended))

    def _waits(self, history: Mapping[str, TaskHistory], *, begin: float, end: float) -> Inputs:
        fires = Fires(since=begin - LOOKBACK_SECONDS, until=end)
        inventory = Inventory(
            fires_of=lambda timetable, start, last: fires.of(timetable, start=start, end=last),
            classes=known_class,
            history=history,
            timeouts=self._timeouts,
            begin=begin,
            end=end,
            queues_enabled=self._sources.queues_enabled,
        )
        found = inventory.inputs(self._dags)
        return replace(found, waits=(*found.waits, *_undescribed(history, self._dags, begin, end)))


def _share(past: PastWaits, ended: list[PastWait]) -> dict[tuple[str, str], int]:
    """Tries that ended by then: the same part of all tries as of those that deferred."""
    all_of, some_of = dict[tuple[str, str], int](), dict[tuple[str, str], int]()
    for count, waits in ((all_of, past.intervals), (some_of, ended)):
        for one in waits:
            count[one.key[:2]] = count.get(one.key[:2], 0) + 1
    return {task: round(past.tries.get(task, 0) * some / all_of[task]) for task, some in some_of.items()}


def _undescribed(
    history: Mapping[str, TaskHistory], dags: Iterable[DescribedDag], begin: float, end: float
) -> Iterator[Wait]:
    """Waits of the past whose Dags were not read: their past runs are repeated."""
    described = {str(one.serialized["dag"]["dag_id"]) for one in dags}
    for name, past in history.items():
        if past.dag_id in described or past.rescheduled:
            continue
        runs = past.replayed(begin=begin, end=end)
        if runs and past.samples:
            yield Wait(
                name=name,
                kind=UNKNOWN_KIND,
                arrivals=Listed(runs),
                duration=past.duration,
                width=Estimate(float(past.width), "measured"),
                offset=past.offset,
                dag=past.dag_id,
            )


def _dags(sources: Sources, places: Opened, tell: TellStep) -> tuple[list[DescribedDag], list[str]]:
    """The Dags: those of the folder when one is given, with what the database knows of them."""
    stored: list[DescribedDag] = []
    if places.database is not None:
        stored = list(read_serialized(places.database, tell=_steps(tell, "Reading Dags")))
    if sources.dags is None:
        notes = ["the Dags come in serialized form, which tells less of time-outs and poll intervals"]
        return stored, notes if stored else []
    tell("Loading Dags", 0, 1)
    folder = read_folder(sources.dags)
    known = {str(one.serialized["dag"]["dag_id"]): one for one in stored}
    found = [_with_stored(one, known.get(str(one.serialized["dag"]["dag_id"]))) for one in folder.dags]
    errors = [f"{file} was left out: {text}" for file, text in folder.errors.items()]
    more = len(errors) - _SHOWN_ERRORS
    return found, errors[:_SHOWN_ERRORS] + (
        [f"and {more:,} more files that cannot be loaded"] if more > 0 else []
    )


def _with_stored(read: DescribedDag, stored: DescribedDag | None) -> DescribedDag:
    if stored is None:
        return read
    return replace(read, team=stored.team, paused=stored.paused, backfill_runs=stored.backfill_runs)


def _woken(described: DescribedDag, awake: frozenset[str]) -> DescribedDag:
    meant = described.paused and str(described.serialized["dag"]["dag_id"]) in awake
    return replace(described, paused=False) if meant else described


def _from_trigger(dags: Iterable[DescribedDag]) -> set[tuple[str, str]]:
    """Tasks that start in the triggerer."""
    found = set()
    for described in dags:
        dag = described.serialized["dag"]
        for task in dag.get("tasks", ()):
            own = task.get("__var", task)
            if own.get("start_from_trigger"):
                found.add((str(dag["dag_id"]), str(own["task_id"])))
    return found


def _steps(tell: TellStep, what: str) -> Callable[[int, int], None]:
    return lambda done, whole: tell(what, done, whole)
