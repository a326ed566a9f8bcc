"""What no number of waits exceeds, whatever happens: runs, concurrency limits, time-outs, dependencies."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

from ._durations import Duration, limited
from ._schedules import Always, Rate
from ._values import Dag, Wait

__all__ = [
    "attempts",
    "concurrency_cap",
    "heaviest_antichain",
    "upper_bound",
    "waiting_limit",
    "waiting_time",
]


def attempts(wait: Wait) -> int:
    """How often one task can wait until its time-out.

    A sensor's deferral that times out ends in ``AirflowSensorTimeout``, which is not retried; other operators
    are (``airflow/sdk/bases/sensor.py``, ``resume_execution``).
    """
    return 1 if wait.sensor else wait.retry.retries + 1


def waiting_limit(wait: Wait) -> float:
    """The longest that one task instance waits, all its tries together; infinite without a time-out.

    ``execution_timeout`` does not count: Airflow 3.3 does not look at it while a task is deferred.
    """
    return math.inf if wait.timeout is None else attempts(wait) * wait.timeout


def waiting_time(wait: Wait) -> Duration:
    """Its duration, ended by its time-outs."""
    limit = waiting_limit(wait)
    return limited(wait.duration, None if math.isinf(limit) else limit)


def concurrency_cap(wait: Wait, dag: Dag) -> float:
    """The most instances at once by runs and concurrency limits; infinite where nothing is known.

    First the runs, then ``max_active_tis_per_dagrun``, then ``max_active_tis_per_dag``: both count deferred
    tasks since Airflow 3.3 (``airflow/ti_deps/dependencies_states.py``). ``start_from_trigger`` is deferred
    before any limit but that of the runs is looked at (``airflow/models/dagrun.py``, ``schedule_tis``).
    """
    if isinstance(wait.arrivals, Always):
        return wait.width.value
    if isinstance(wait.arrivals, Rate) and wait.dag is None:
        return math.inf  # such waits come from who knows how many Dags
    a_run = wait.width.value
    if wait.from_trigger:
        return dag.runs * a_run
    if wait.max_active_tis_per_dagrun is not None:
        a_run = min(a_run, wait.max_active_tis_per_dagrun)
    together = dag.runs * a_run
    if wait.max_active_tis_per_dag is not None:
        together = min(together, wait.max_active_tis_per_dag)
    return together


def upper_bound(wait: Wait, dag: Dag, *, period: float) -> float:
    """The most instances at once when nothing arrives: ``m min(R, ceil(A T / P))``, then the caps.

    :param period: seconds between two runs.
    """
    piled = waiting_limit(wait) / period
    runs = dag.runs if math.isinf(piled) else min(dag.runs, math.ceil(piled))
    return min(wait.width.value * runs, concurrency_cap(wait, dag))


def heaviest_antichain(waits: Sequence[Wait]) -> float:
    """The most instances of one run that can wait together: tasks that follow each other never do.

    The weight of the heaviest antichain of the order that ``after`` gives, each wait weighing its width: the
    total weight less a maximum flow between waits and their followers (Dilworth's theorem by Fulkerson's
    bipartite graph, with weights as capacities).
    """
    names = {wait.name: index for index, wait in enumerate(waits)}
    weights = [_a_run(wait) for wait in waits]
    if not any(name in names for wait in waits for name in wait.after):
        return math.fsum(weights)
    before = [[names[name] for name in wait.after if name in names] for wait in waits]
    return math.fsum(weights) - _flow(weights, _followers(before))


def _a_run(wait: Wait) -> float:
    limit = None if wait.from_trigger else wait.max_active_tis_per_dagrun
    return wait.width.value if limit is None else min(wait.width.value, limit)


def _followers(before: Sequence[Iterable[int]]) -> list[list[int]]:
    """All that come later, directly or not, for each."""
    direct: list[list[int]] = [[] for _ in before]
    for index, earlier in enumerate(before):
        for one in earlier:
            direct[one].append(index)
    found = []
    for index in range(len(before)):
        seen, stack = set[int](), list(direct[index])
        while stack:
            one = stack.pop()
            if one not in seen:
                seen.add(one)
                stack += direct[one]
        found.append(sorted(seen - {index}))
    return found


def _flow(weights: Sequence[float], followers: Sequence[Sequence[int]]) -> float:
    """The maximum flow from all waits to all their followers, by shortest augmenting paths."""
    supply, demand = list(weights), list(weights)
    sent: list[dict[int, float]] = [{} for _ in weights]
    total = 0.0
    for first in range(len(weights)):
        while supply[first] > 0 and (path := _path(first, followers, sent, demand)) is not None:
            total += _augment(path, supply, demand, sent)
    return total


_Path = list[tuple[int, int, bool]]
"""(wait, follower, whether flow goes forward on this edge)."""


def _path(
    first: int,
    followers: Sequence[Sequence[int]],
    sent: Sequence[Mapping[int, float]],
    demand: Sequence[float],
) -> _Path | None:
    """A path from a wait with supply to a follower with demand; back along edges that already carry flow."""
    came: dict[int, tuple[int, int | None]] = {}  # follower -> the wait before it, the follower before that
    queue: list[tuple[int, int | None]] = [(first, None)]
    for wait, reached in queue:
        for follower in followers[wait]:
            if follower in came:
                continue
            came[follower] = (wait, reached)
            if demand[follower] > 0:
                return _traced(follower, came)
            queue += [(other, follower) for other, flow in enumerate(sent) if flow.get(follower, 0.0) > 0]
    return None


def _traced(last: int, came: Mapping[int, tuple[int, int | None]]) -> _Path:
    path: _Path = []
    follower: int | None = last
    while follower is not None:
        wait, earlier = came[follower]
        path.append((wait, follower, True))
        if earlier is not None:
            path.append((wait, earlier, False))
        follower = earlier
    return path[::-1]


def _augment(path: _Path, supply: list[float], demand: list[float], sent: list[dict[int, float]]) -> float:
    backward = [sent[wait][follower] for wait, follower, forward in path if not forward]
    amount = min(supply[path[0][0]], demand[path[-1][1]], *backward)
    supply[path[0][0]] -= amount
    demand[path[-1][1]] -= amount
    for wait, follower, forward in path:
        sent[wait][follower] = sent[wait].get(follower, 0.0) + (amount if forward else -amount)
    return amount
