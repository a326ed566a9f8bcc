"""The waits of a plan file: when they start, how long they last."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, get_args

from ._calibrations import Calibrations
from ._durations import Duration, Exponential, Fixed, LogNormal, Quantiles, Uniform, bound
from ._origin import Estimate, Origin
from ._schedules import Always, Arrivals, Cron, Every, Rate
from ._tables import Table, seconds_of
from ._values import DEFAULT_POOL, Mode, Retry, Wait

__all__ = ["PlannedDag", "wait_of"]

_MAX_MAP_LENGTH = 1024
_Z95 = 1.6449
_PER = {"per_minute": 60.0, "per_hour": 3600.0, "per_day": 86_400.0}
_SCHEDULES = ("schedule", "every", *_PER, "always")


@dataclass(frozen=True)
class PlannedDag:
    """What waits take over from their Dag."""

    arrivals: Arrivals | None
    team: str


def wait_of(
    table: Table, *, zone: str, dags: Mapping[str, PlannedDag], calibrations: Calibrations
) -> Wait | None:
    """The wait of a table ``[[wait]]``; None when it cannot be made: the problems are noted."""
    dag = table.text("dag")
    timeout = table.seconds("timeout")
    arrivals = arrivals_of(table, zone=table.zone("timezone", zone), dag=dags.get(dag))
    duration = duration_of(table, timeout)
    width = _width(table)
    name = table.text("name", required=True)
    kind = calibrations.full_path(table.text("kind", "MarkerTrigger"))
    poll_interval = table.seconds("poll_interval")
    if poll_interval is not None and poll_interval <= 0:
        table.problem("poll_interval", "expected more than 0 seconds")
    known = dags.get(dag)
    wait = Wait(
        name=name,
        kind=kind,
        arrivals=arrivals or Always(),
        duration=duration or bound(timeout),
        width=width,
        offset=table.seconds("offset") or 0.0,
        timeout=timeout,
        poll_interval=poll_interval or None,
        source=table.text("source") or None,
        pool=table.text("pool", DEFAULT_POOL),
        pool_slots=table.whole("pool_slots", 1, least=1),
        queue=table.text("queue"),
        team=table.text("team", known.team if known else ""),
        dag=dag or None,
        mode=table.choice("mode", get_args(Mode), "deferrable"),
        from_trigger=table.flag("start_from_trigger"),
        sensor=table.flag("sensor", default=True),
        retry=_retry(table),
        max_active_tis_per_dag=table.optional_whole("max_active_tis_per_dag"),
        max_active_tis_per_dagrun=table.optional_whole("max_active_tis_per_dagrun"),
        after=table.texts("after"),
    )
    table.finish()
    return wait if name and arrivals and duration else None


def arrivals_of(table: Table, *, zone: str, dag: PlannedDag | None) -> Arrivals | None:
    """When something starts; its Dag's schedule when the table says nothing."""
    given = [field for field in _SCHEDULES if field in table]
    values = {field: table.value(field) for field in _SCHEDULES}
    if not given:
        if dag is None or dag.arrivals is None:
            table.problem(
                "schedule", f"is missing; give one of {', '.join(_SCHEDULES)}, or a dag that has one"
            )
            return None
        return dag.arrivals
    if len(given) > 1:
        table.problem(given[1], f"{given[0]} is given too: one of them says when it starts")
        return None
    field = given[0]
    if field == "schedule":
        return _cron(table, values[field], zone)
    if field == "always":
        if values[field] is not True:
            table.problem(field, "expected true")
        return Always()
    if field == "every":
        seconds = table.seconds(field)
        if seconds is not None and seconds < 1:
            table.problem(field, "expected at least 1 second")
            return None
        return Every(seconds) if seconds else None
    return Rate(table.number(field, 1.0) / _PER[field])


def _cron(table: Table, found: Any, zone: str) -> Arrivals | None:
    if not isinstance(found, str):
        table.problem("schedule", 'expected a cron expression such as "0 6 * * *"')
        return None
    try:
        return Cron(found, zone)
    except ValueError as error:
        table.problem("schedule", str(error))
        return None


def duration_of(table: Table, timeout: float | None) -> Duration | None:
    """How long the wait lasts: a time, a distribution, quantiles, or a bound; missing: until its time-out."""
    found = table.value("duration")
    origin: Origin = table.choice("origin", get_args(Origin), "assumed")
    if found is None:
        return bound(timeout)
    if not isinstance(found, dict):
        seconds = table.seconds("duration")
        return None if seconds is None else Fixed(seconds, origin)
    forms = {form: make for form, make in _FORMS.items() if form in found}
    if len(forms) != 1:
        table.problem("duration", f"expected one of {', '.join(_FORMS)}")
        return None
    form, make = next(iter(forms.items()))
    unknown = sorted(set(found) - {form, *(["p95"] if form == "median" else [])})
    if unknown:
        table.problem("duration", f"there is no {unknown[0][:40]!r} beside {form}")
        return None
    try:
        return make(found, origin, timeout)
    except ValueError as error:
        table.problem("duration", str(error))
        return None


def _seconds(found: Mapping[str, Any], field: str) -> float:
    value = seconds_of(found.get(field))
    if value is None:
        raise ValueError(f'{field}: expected a duration such as "20m" or 1200 (seconds)')
    return value


def _uniform(found: Mapping[str, Any], origin: Origin, _: float | None) -> Duration:
    ends = found["uniform"]
    values = [seconds_of(end) for end in ends] if isinstance(ends, list) else []
    if len(values) != 2 or values[0] is None or values[1] is None or not values[0] < values[1]:
        raise ValueError('uniform: expected two durations, such as ["0m", "90m"]')
    return Uniform(values[0], values[1], origin)


def _exponential(found: Mapping[str, Any], origin: Origin, _: float | None) -> Duration:
    mean = _seconds(found, "exponential")
    if mean <= 0:
        raise ValueError("exponential: expected a mean above 0")
    return Exponential(mean, origin)


def _log_normal(found: Mapping[str, Any], origin: Origin, _: float | None) -> Duration:
    median, high = _seconds(found, "median"), _seconds(found, "p95")
    if not 0 < median < high:
        raise ValueError("p95: expected more than the median, and the median more than 0")
    return LogNormal(median, math.log(high / median) / _Z95, origin)


def _quantiles(found: Mapping[str, Any], origin: Origin, timeout: float | None) -> Duration:
    table = found["quantiles"]
    if not isinstance(table, dict) or not table:
        raise ValueError('quantiles: expected a table such as {p50 = "20m", p95 = "2h", p100 = "4h"}')
    points = sorted((_chance(name), _seconds(table, name)) for name in table)
    if points[0][0] > 0:
        points.insert(0, (0.0, 0.0))
    if points[-1][0] < 1:
        if timeout is None:
            raise ValueError("quantiles: the longest is not known; give p100, or a timeout")
        points.append((1.0, max(timeout, points[-1][1])))
    return Quantiles(tuple(points), origin)


def _chance(name: str) -> float:
    try:
        chance = float(name.removeprefix("p")) / 100 if name.startswith("p") else -1.0
    except ValueError:
        chance = -1.0
    if not 0 <= chance <= 1:
        raise ValueError(f"quantiles: {name[:40]!r} is not p0 to p100")
    return chance


_FORMS: dict[str, Callable[[Mapping[str, Any], Origin, float | None], Duration]] = {
    "fixed": lambda found, origin, _: Fixed(_seconds(found, "fixed"), origin),
    "uniform": _uniform,
    "exponential": _exponential,
    "median": _log_normal,
    "quantiles": _quantiles,
    "bound": lambda found, _, __: bound(_seconds(found, "bound")),
}


def _width(table: Table) -> Estimate:
    """How many at every start: tasks that are alike, times the mapped width of each."""
    count = table.whole("count", 1, least=1)
    origin: Origin = "assumed" if "count" in table or "width" in table else "measured"
    if table.value("width") == "unlimited":
        return Estimate(float(count * _MAX_MAP_LENGTH), "bounded")
    return Estimate(float(count * table.whole("width", 1, least=1)), origin)


def _retry(table: Table) -> Retry:
    return Retry(
        retries=table.whole("retries", 0, most=1000),
        delay=table.seconds("retry_delay") or 300.0,
        longest=table.seconds("max_retry_delay"),
        exponential=table.flag("retry_exponential_backoff"),
    )
