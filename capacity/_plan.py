"""The plan file: what people expect. Its fields are documented in docs/capacity-plan.md."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar, get_args

from ._calibrations import Calibrations, load_calibrations
from ._plan_waits import PlannedDag, arrivals_of, wait_of
from ._pools import PoolTask, TaskState
from ._schedules import Always, Arrivals, Rate
from ._tables import Document, Table, read_document
from ._values import DEFAULT_POOL, Dag, Deployment, Inputs, Platform, Pool, Scenario, ScenarioKind, Wait

__all__ = ["Plan", "read_plan"]

_VERSION = 1
_MIB = 1024**2

_Named = TypeVar("_Named", Dag, Pool, Deployment, Scenario, Wait)


@dataclass(frozen=True)
class Plan:
    """A plan file.

    :ivar inputs: for ``check``.
    :ivar tasks: for ``pools``: what runs and waits now.
    """

    inputs: Inputs
    tasks: tuple[PoolTask, ...]


def read_plan(path: Path, *, calibrations: Calibrations | None = None) -> Plan:
    """Read a plan.

    :param calibrations: for kinds given by their class name only. None: the shipped ones.
    :raises InvalidPlan: with all that is wrong, each with its line and field.
    :raises Unreachable: when the file cannot be read.
    """
    document = read_document(path)
    document.version(_VERSION)
    platform, zone = _platform(document.table("platform"))
    schedules: dict[str, PlannedDag] = {}
    dags = [_dag(table, zone, schedules) for table in document.tables("dag")]
    known = calibrations or load_calibrations()
    tables = document.tables("wait")
    waits = [wait_of(table, zone=zone, dags=schedules, calibrations=known) for table in tables]
    pools = [_pool(table) for table in document.tables("pool")]
    deployments = [_deployment(table) for table in document.tables("deployment")]
    scenario_tables = document.tables("scenario")
    scenarios = [_scenario(table, zone, schedules) for table in scenario_tables]
    tasks = [task for table in document.tables("task") for task in _tasks(table)]
    found = [wait for wait in waits if wait is not None]
    for name, things in (("dag", dags), ("wait", found), ("pool", pools), ("scenario", scenarios)):
        _distinct(document, name, [thing.name for thing in things])
    _refer(tables, found, scenario_tables, scenarios, complete=len(found) == len(waits))
    document.finish()
    inputs = Inputs(
        waits=tuple(found),
        dags={dag.name: dag for dag in dags},
        pools={pool.name: pool for pool in pools},
        deployments=tuple(deployments),
        scenarios=tuple(scenarios),
        platform=platform,
    )
    return Plan(inputs, tuple(tasks))


def _platform(table: Table) -> tuple[Platform, str]:
    zone = table.zone("timezone", "UTC")
    found = Platform(
        worker_slots=table.optional_whole("worker_slots"),
        resume_seconds=table.seconds("resume_seconds", 2.0) or 0.0,
        headroom=table.number("headroom", 0.2, most=10),
        queues_enabled=table.flag("queues_enabled"),
    )
    table.finish()
    return found, zone


def _deployment(table: Table) -> Deployment:
    memory = table.number("memory_mib", -1.0, least=1)
    found = Deployment(
        name=table.text("name", required=True),
        replicas=table.whole("replicas", 1, most=10_000),
        capacity=table.whole("capacity", 1000, least=1),
        queues=table.texts("queues"),
        team=table.text("team"),
        cpu=table.number("cpu", 1.0, least=0.01, most=1024),
        memory_bytes=None if memory < 0 else int(memory * _MIB),
        nofile=table.optional_whole("nofile"),
        spare=table.whole("spare", 1, most=10_000),
        heartbeat=table.seconds("heartbeat", 5.0) or 5.0,
        dead_after=table.seconds("dead_after", 30.0) or 30.0,
        select_per_loop=table.whole("select_per_loop", 50, least=1),
    )
    table.finish()
    return found


def _dag(table: Table, zone: str, schedules: dict[str, PlannedDag]) -> Dag:
    name = table.text("name", required=True)
    arrivals: Arrivals | None = None
    own = table.zone("timezone", zone)
    if any(field in table for field in ("schedule", "every", "per_minute", "per_hour", "per_day")):
        arrivals = arrivals_of(table, zone=own, dag=None)
    schedules[name] = PlannedDag(arrivals, table.text("team"))
    for field in ("schedule", "every", "per_minute", "per_hour", "per_day"):
        table.value(field)
    found = Dag(
        name=name,
        max_active_runs=table.whole("max_active_runs", 16, least=1),
        backfill_runs=table.whole("backfill_runs", 0),
    )
    table.finish()
    return found


def _pool(table: Table) -> Pool:
    found = Pool(
        name=table.text("name", DEFAULT_POOL),
        slots=table.whole("slots", 128, least=-1),
        include_deferred=table.flag("include_deferred"),
    )
    table.finish()
    return found


def _tasks(table: Table) -> list[PoolTask]:
    """The task instances of a table ``[[task]]``: ``count`` that are alike, in turn."""
    name = table.text("name", required=True)
    count = table.whole("count", 1, least=1, most=100_000)
    task = PoolTask(
        name=name,
        pool=table.text("pool", DEFAULT_POOL),
        slots=table.whole("slots", 1, least=1),
        state=table.choice("state", get_args(TaskState), "scheduled"),
        priority=table.whole("priority", 1, least=-1_000_000),
        logical_date=table.instant("logical_date", "UTC") or 0.0,
        dag=table.text("dag"),
    )
    table.finish()
    if count == 1:
        return [task]
    numbered = {field: getattr(task, field) for field in task.__dataclass_fields__}
    return [PoolTask(**{**numbered, "map_index": index}) for index in range(count)]


def _scenario(table: Table, zone: str, dags: Mapping[str, PlannedDag]) -> Scenario:
    kind: ScenarioKind = table.choice("kind", get_args(ScenarioKind), "late")
    late = kind in ("late", "all-late")
    by = table.seconds("by", math.inf if kind == "all-late" else None)
    if kind == "late" and by is None:
        table.problem("by", 'is missing: how late, such as "6h"')
    dag = table.text("dag", required=kind == "backfill")
    found = Scenario(
        name=table.text("name", required=True),
        kind=kind,
        sources=table.texts("sources"),
        seconds=(by or 0.0) if late else 0.0,
        dag=dag,
        runs=_runs(table, zone, dags.get(dag)) if kind == "backfill" else 0,
        at_once=table.whole("max_active_runs", 10, least=1),
        count=table.whole("triggerers", 1, least=1),
    )
    if kind == "late" and not found.sources:
        table.problem("sources", "is missing: which sources are late")
    table.finish()
    return found


def _runs(table: Table, zone: str, dag: PlannedDag | None) -> int:
    """The runs of a backfill: stated, or those of the Dag's schedule in a range whose end is inclusive."""
    first, last = table.instant("from", zone), table.instant("to", zone)
    if "runs" in table:
        return table.whole("runs", 1, least=1)
    if first is None or last is None or last < first:
        table.problem("from", "expected runs, or from and to: two dates, the second not before the first")
        return 0
    arrivals = dag.arrivals if dag else None
    if arrivals is None or isinstance(arrivals, (Always, Rate)):
        table.problem("dag", "expected a [[dag]] with a schedule, to count the runs of the range")
        return 0
    return len(arrivals.fires(begin=first, end=math.nextafter(last, math.inf)))


def _distinct(document: Document, table: str, names: Sequence[str]) -> None:
    for index, name in enumerate(names):
        if name and name in names[:index]:
            document.problem(
                document.line(table, index, "name"), f"[[{table}]] {name!a}", "the name is taken"
            )


def _refer(
    tables: Sequence[Table],
    waits: Sequence[Wait],
    scenario_tables: Sequence[Table],
    scenarios: Sequence[Scenario],
    *,
    complete: bool,
) -> None:
    """Names that are referred to must be there; with waits missing there is no telling."""
    if not complete:
        return
    names = {wait.name: wait for wait in waits}
    for table, wait in zip(tables, waits, strict=True):
        for earlier in wait.after:
            if earlier not in names or names[earlier].dag_name != wait.dag_name:
                table.problem("after", f"expected waits of the same dag, found {earlier!a}")
        if _circular(wait, names):
            table.problem("after", "the wait comes after itself")
    groups = {wait.group for wait in waits}
    dags = {wait.dag_name for wait in waits}
    for table, scenario in zip(scenario_tables, scenarios, strict=True):
        for source in _missing(scenario.sources, groups):
            table.problem("sources", f"no wait has the source {source!a}")
        if scenario.dag and scenario.dag not in dags:
            table.problem("dag", f"no wait belongs to the dag {scenario.dag!a}")


def _circular(wait: Wait, names: Mapping[str, Wait]) -> bool:
    seen: set[str] = set()
    stack = list(wait.after)
    while stack:
        one = stack.pop()
        if one == wait.name:
            return True
        if one not in seen and one in names:
            seen.add(one)
            stack += names[one].after
    return False


def _missing(wanted: Iterable[str], there: set[str]) -> list[str]:
    return [one for one in wanted if one not in there]
