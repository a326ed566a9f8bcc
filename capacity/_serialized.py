"""What a serialized Dag says of its tasks. Pure: no Airflow is needed to read it."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import Any

from ._defer_scan import ClassFacts
from ._values import Retry

__all__ = [
    "SENSOR_TIMEOUT",
    "group_expansions",
    "mapped_length",
    "nearest_before",
    "partial_arguments",
    "plain_value",
    "retry_of",
    "timeout_of",
]

SENSOR_TIMEOUT = 604_800.0
"""``[sensors] default_timeout``: seven days."""


def partial_arguments(task: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of a mapped task that are the same for all instances."""
    partial = task.get("partial_kwargs") or {}
    inner = partial.get("__var", partial) if isinstance(partial, Mapping) else {}
    return {name: plain_value(value) for name, value in inner.items()}


def plain_value(value: Any) -> Any:
    """An encoded scalar as what it encodes."""
    return value["__var"] if isinstance(value, Mapping) and "__var" in value else value


def nearest_before(task_id: str, before: Mapping[str, list[str]], deferring: set[str]) -> list[str]:
    found, seen, stack = set[str](), set[str](), list(before.get(task_id, ()))
    while stack:
        one = stack.pop()
        if one in seen:
            continue
        seen.add(one)
        if one in deferring:
            found.add(one)
        else:
            stack += before.get(one, ())
    return sorted(found)


def group_expansions(group: Mapping[str, Any], task_id: str) -> list[Any] | None:
    """The expansions of the groups on the way to a task; None: it does not lie in this group."""
    own = [group["expand_input"]] if group.get("is_mapped") and group.get("expand_input") else []
    for label, (kind, child) in (group.get("children") or {}).items():
        if kind == "operator":
            if task_id in (label, child):
                return own
        elif (inner := group_expansions(child, task_id)) is not None:
            return own + inner
    return None


def mapped_length(expansion: Mapping[str, Any]) -> int | None:
    """How many instances an expansion makes; None: another task's result decides."""
    value = plain_value(expansion.get("value"))
    if expansion.get("type") == "list-of-dicts":
        return len(value) if isinstance(value, (list, tuple)) else None
    if not isinstance(value, Mapping):
        return None
    lengths = [_literal(one) for one in value.values()]
    return prod(lengths) if all(one is not None for one in lengths) else None  # type: ignore[arg-type]


def _literal(value: Any) -> int | None:
    if isinstance(value, Mapping):
        literal = value.get("__type") in ("dict", "set", "tuple")
        return len(value["__var"]) if literal else None
    return len(value) if isinstance(value, (list, tuple)) else None


def timeout_of(task: Mapping[str, Any], extra: Mapping[str, Any], facts: ClassFacts) -> float | None:
    """After how many seconds a deferral ends in any case; None: never."""
    started = task.get("start_trigger_args") or {}
    if task.get("start_from_trigger"):
        return started.get("timeout")
    if facts.limits and task.get("_is_sensor"):
        given = extra.get("timeout") or task.get("timeout")
        return float(given) if isinstance(given, (int, float)) else SENSOR_TIMEOUT
    if facts.limits and isinstance(task.get("execution_timeout"), (int, float)):
        return float(task["execution_timeout"])
    attempts, poll = extra.get("waiter_attempts"), extra.get("poll")
    return float(attempts * poll) if attempts and poll else None


def retry_of(task: Mapping[str, Any]) -> Retry:
    delay, longest = plain_value(task.get("retry_delay")), plain_value(task.get("max_retry_delay"))
    return Retry(
        retries=int(task.get("retries") or 0),
        delay=float(delay) if isinstance(delay, (int, float)) else 300.0,
        longest=float(longest) if isinstance(longest, (int, float)) else None,
        exponential=bool(task.get("retry_exponential_backoff")),
    )
