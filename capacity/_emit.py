"""Ready settings from an answer: values for the official Helm chart, a KEDA query, Prometheus rules. Pure."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping

from ._results import Answer, LimitName, LimitRow, PartitionAnswer
from ._values import Deployment, Inputs, Partition

__all__ = ["alert_rules", "helm_values", "keda_query", "keda_values", "triggers_each"]

_MIB = 2**20
_STEP_MIB = 256
_LEAST_MIB = 512
# What a triggerer takes without triggers, with the API that it loads for triggers that ask Airflow.
_BASE_BYTES = 360 * _MIB
_SPARE_MEMORY = 1.2
# How fast waits start is no matter of how many there are.
_NOT_COUNTED: frozenset[LimitName] = frozenset({"claims"})


def helm_values(answer: Answer, inputs: Inputs) -> str:
    """YAML for the chart of apache/airflow, one document a deployment: the chart knows one triggerer each."""
    return "---\n".join(_helm(part, deployment) for part, deployment in _served(answer, inputs))


def keda_values(answer: Answer, inputs: Inputs) -> str:
    """YAML for the chart's KEDA scaler: never fewer than usual, and up to what twice the waits need."""
    headroom = inputs.platform.headroom
    parts = [_keda(part, deployment, headroom) for part, deployment in _served(answer, inputs)]
    return "---\n".join(parts)


def keda_query(partitions: Iterable[Partition], *, triggers: int, headroom: float, spare: int) -> str:
    """SQL that says how many triggerers the triggers of some queues and teams need now, for PostgreSQL.

    The chart's own query divides all triggers by the capacity, whatever their queue and team, without
    headroom and without spare.

    :param triggers: how many one triggerer holds.
    """
    ways = [f"({_sql_is('queue', one.queue)} AND {_sql_is('team_name', one.team)})" for one in partitions]
    where = " OR ".join(ways)
    return f"SELECT CEIL(COUNT(*) * {1 + headroom:g} / {triggers:.1f}) + {spare} FROM trigger WHERE {where}"  # noqa: S608 - printed


def triggers_each(part: PartitionAnswer) -> int:
    """How many triggers one triggerer holds, of the mix that the worst scenario has, at its first limit."""
    rows = [row for row in part.worst.limits if row.limit not in _NOT_COUNTED]
    ratios = [row.load / row.has for row in rows if row.has and row.has > 0]
    capacity = next((row for row in rows if row.limit == "capacity"), None)
    most = max(ratios, default=0.0)
    if capacity is None or not most:
        return part.capacity
    return max(1, math.floor(min(part.capacity, capacity.load / most) + 1e-9))


def alert_rules(answer: Answer, inputs: Inputs, *, prefix: str = "airflow") -> str:
    """Prometheus rules as a YAML file of rule groups, for Airflow's metrics by StatsD or OpenTelemetry.

    :param prefix: what stands before the metrics' names.
    """
    lines = [
        _ALERTS_HEAD.format(prefix=prefix).rstrip(),
        "groups:",
        "  - name: landmark-triggerers",
        "    rules:",
    ]
    for rule in _rules(answer, inputs, prefix):
        lines += [f"      - alert: {rule['alert']}"]
        lines += [f"        {name}: {json.dumps(rule[name])}" for name in ("expr", "for")]
        lines += ["        labels:", f"          severity: {rule['severity']}"]
        lines += ["        annotations:", f"          summary: {json.dumps(rule['summary'])}"]
    return "\n".join(lines) + "\n"


def _served(answer: Answer, inputs: Inputs) -> Iterator[tuple[PartitionAnswer, Deployment]]:
    """Each deployment once, with the partition that asks most of it."""
    known = {deployment.name: deployment for deployment in inputs.deployments}
    parts: dict[str, PartitionAnswer] = {}
    for part in answer.partitions:
        for name in part.deployments or (part.name,):
            if name not in parts or part.worst.with_spare > parts[name].worst.with_spare:
                parts[name] = part
    for name, part in parts.items():
        yield part, known.get(name) or _unserved(name, part)


def _unserved(name: str, part: PartitionAnswer) -> Deployment:
    """What nobody serves yet, as triggerers of its own."""
    queues = tuple(one.queue for one in part.partitions if one.queue)
    team = next((one.team for one in part.partitions if one.team), "")
    return Deployment(name=name, replicas=0, queues=queues, team=team)


def _helm(part: PartitionAnswer, deployment: Deployment) -> str:
    worst = part.worst
    replicas = max(worst.with_spare, part.spare + 1)
    memory = _memory_mib(part, deployment)
    lines = [
        f"# Triggerers {deployment.name}: {_comment(part)}",
        "triggerer:",
        f"  replicas: {replicas}",
        f"  args: {json.dumps(['bash', '-c', _command(part, deployment)])}",
        "  resources:",
        "    requests:",
        f"      cpu: {json.dumps(f'{round(deployment.cpu * 1000)}m')}",
        f"      memory: {memory}Mi",
        "    limits:",
        f"      memory: {memory}Mi",
        "  podDisruptionBudget:",
        "    enabled: true",
        "    config:",
        f"      maxUnavailable: {max(1, part.spare)}",
        "  keda:",
        "    enabled: false",
    ]
    return "\n".join(lines) + "\n"


def _keda(part: PartitionAnswer, deployment: Deployment, headroom: float) -> str:
    least = max(part.usual.with_spare, part.spare + 1)
    most = max(least, part.worst.with_spare, part.doubling.needed + part.spare)
    query = keda_query(part.partitions, triggers=triggers_each(part), headroom=headroom, spare=part.spare)
    lines = [
        f"# Triggerers {deployment.name}: {_comment(part)}",
        "# A new triggerer takes new triggers only, and comes after the step that asked for it: the least is",
        "# what usual days need with spare. Scaling is for what is worse, up to twice the waits.",
        "triggerer:",
        "  keda:",
        "    enabled: true",
        f"    minReplicaCount: {least}",
        f"    maxReplicaCount: {most}",
        "    pollingInterval: 10",
        "    cooldownPeriod: 600",
        f"    query: {json.dumps(_untemplated(query))}",
    ]
    return "\n".join(lines) + "\n"


def _comment(part: PartitionAnswer) -> str:
    worst = part.worst
    needed = f"{worst.needed} needed and {part.spare} spare"
    return _plain(f"{needed} for '{worst.name}', {worst.peak.likely.value:,.0f} waits at once, {part.name}")


def _command(part: PartitionAnswer, deployment: Deployment) -> str:
    words = ["exec airflow triggerer", f"--capacity {part.capacity}"]
    if deployment.queues:
        words.append(f"--queues {_shell(','.join(deployment.queues))}")
    if deployment.team:
        words.append(f"--team-name {_shell(deployment.team)}")
    return _untemplated(" ".join(words))


def _memory_mib(part: PartitionAnswer, deployment: Deployment) -> int:
    """The limit that is there, or what the load of one survivor asks for, by steps."""
    if deployment.memory_bytes is not None:
        return math.ceil(deployment.memory_bytes / _MIB)
    row = _row(part.worst.limits, "memory")
    triggers = 0.0
    if row is not None:
        triggers = row.load / max(1, part.worst.needed)
    wanted = (_BASE_BYTES + triggers * _SPARE_MEMORY) / _MIB
    return max(_LEAST_MIB, math.ceil(wanted / _STEP_MIB) * _STEP_MIB)


def _row(rows: Iterable[LimitRow], limit: LimitName) -> LimitRow | None:
    return next((row for row in rows if row.limit == limit), None)


def _sql_is(column: str, value: str) -> str:
    escaped = value.replace("'", "''")
    return f"{column} = '{escaped}'" if value else f"{column} IS NULL"


def _shell(text: str) -> str:
    return "'" + text.replace("'", "'\"'\"'") + "'"


def _untemplated(text: str) -> str:
    """Helm runs templates in these values: no name may become one."""
    return text.replace("{{", '{{ "{{" }}')


def _plain(text: str) -> str:
    """Fit for a comment: one line, printable."""
    return "".join(character if character.isprintable() else "?" for character in text)


_ALERTS_HEAD = """\
# Rules for Prometheus. They use what Airflow emits as {prefix}.triggers.running,
# {prefix}.triggerer.capacity_left and {prefix}.pool.deferred_slots (gauges), {prefix}.triggerer_heartbeat and
# {prefix}.triggers.blocked_main_thread (counters), with a label for the host; dots become underscores.
# No metric of Airflow counts waits without a triggerer. The first rule estimates them; exact numbers come
# from `landmark capacity watch --once --json`, which ends with status 1 when there are any.
"""


def _rules(answer: Answer, inputs: Inputs, prefix: str) -> Iterator[Mapping[str, str]]:
    replicas = sum(max(part.worst.with_spare, part.spare + 1) for part in answer.partitions)
    spare = max((part.spare for part in answer.partitions), default=1)
    capacity = min((part.capacity for part in answer.partitions), default=1000)
    heartbeat = max((one.heartbeat for one in inputs.deployments), default=5.0)
    running, left = f"{prefix}_triggers_running", f"{prefix}_triggerer_capacity_left"
    yield _rule(
        "LandmarkWaitsWithoutTriggerer",
        f"sum({prefix}_pool_deferred_slots) - sum({running}) > 0 and sum({left}) <= 0",
        "2m",
        "critical",
        "More tasks are deferred than triggers run and no triggerer has room: their time-outs run meanwhile",
    )
    yield _rule(
        "LandmarkTriggererNearlyFull",
        f"min({left}) < {math.ceil(capacity * 0.1)}",
        "5m",
        "warning",
        f"A triggerer has less than a tenth of its capacity of {capacity:,} left",
    )
    yield _rule(
        "LandmarkTriggerersMissing",
        f"sum(rate({prefix}_triggerer_heartbeat[5m])) * {heartbeat:g} < {replicas - 0.5:g}",
        "5m",
        "critical" if spare == 0 else "warning",
        f"Fewer than {replicas} triggerers send heartbeats: the spare is used up or nearly so",
    )
    yield _rule(
        "LandmarkTriggerersUneven",
        f"max({running}) > 1.5 * avg({running}) and max({running}) > {math.ceil(capacity * 0.5)}",
        "15m",
        "warning",
        "One triggerer has far more triggers than the others; Airflow never moves them: restart that one",
    )
    yield _rule(
        "LandmarkTriggererLoopBlocked",
        f"increase({prefix}_triggers_blocked_main_thread[10m]) > 0",
        "0m",
        "warning",
        "A trigger has blocked the event loop; after 30 s of silence others take over all its triggers",
    )
    yield _rule(
        "LandmarkTriggersChatty",
        f'sum(rate(statsd_exporter_events_total{{type="gauge"}}[5m])) > {2 * 5 * replicas}',
        "15m",
        "warning",
        "Triggerers turn more than 5 times a second: they log on every check, and a line costs 7 statements",
    )


def _rule(alert: str, expr: str, lasting: str, severity: str, summary: str) -> dict[str, str]:
    return {"alert": alert, "expr": expr, "for": lasting, "severity": severity, "summary": summary}
