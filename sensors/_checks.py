"""What a sensor's arguments may be, checked when the Dag is parsed."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from datetime import datetime
from pathlib import PurePath
from typing import Any, get_args

from airflow_landmark.deliveries import (
    Form,
    Level,
    OnIncomplete,
    OnMismatch,
    OnReplaced,
    OnTaken,
    OnUnexpected,
    Target,
    Way,
)
from airflow_landmark.markers import DATASET_PATTERN, MAX_VERSION, Interval, format_of, show
from airflow_landmark.stores import schemes

from ._errors import WaitMisconfigured
from ._interval import interval_of

__all__ = [
    "check_modes",
    "check_settled",
    "least_version",
    "owner_of",
    "plain_interval",
    "text_of",
]

_CHOICES: Mapping[str, tuple[str, ...]] = {
    "verify": get_args(Level),
    "on_mismatch": get_args(OnMismatch),
    "on_incomplete": get_args(OnIncomplete),
    "on_replaced": get_args(OnReplaced),
    "on_unexpected": get_args(OnUnexpected),
    "on_taken": get_args(OnTaken),
}

_LATER = "{{ later }}"
"""Stands for another task's result while the Dag is parsed."""

_REFUSED = {
    "exponential_backoff": "looks are spread and back off by themselves when the store is in trouble",
    "max_wait": "looks back off to at most five minutes, or as long as the store asks",
    "silent_fail": "passing trouble never ends the wait, and bad data must not be silent",
    "never_fail": "it would skip bad data too: soft_fail=True skips a missed deadline and nothing else",
}


def check_modes(options: Mapping[str, Any], *, deferrable: bool, mode: str) -> None:
    """Refuse what would not mean the same in every mode.

    :param options: the arguments for Airflow's base class.
    :raises ValueError: naming the argument and what to do instead.
    """
    for name, reason in _REFUSED.items():
        if options.get(name):
            raise ValueError(f"{name} is refused: {reason}")
    if deferrable and mode != "poke":
        raise ValueError(f"mode={mode!r} and deferrable=True exclude each other: pass deferrable=False")


def check_choices(sensor: Any) -> None:
    """Refuse words that are none of the allowed ones.

    :raises ValueError: naming the argument and the words.
    """
    for name, allowed in _CHOICES.items():
        value = getattr(sensor, name)
        if value not in allowed:
            raise ValueError(f"{name} must be one of {', '.join(allowed)}, not {show(value)}")


def text_of(name: str, value: Any) -> Any:
    """A path as text; text, templates and references to other tasks' results as they are.

    :raises TypeError: for what could not travel to the triggerer.
    """
    if isinstance(value, PurePath):
        return str(value)
    if isinstance(value, str) or _open(value):
        return value
    if callable(value):
        raise TypeError(f"{name} must be text: a function cannot travel to the triggerer")
    if isinstance(value, (list, tuple, set, dict)):
        raise TypeError(f"{name} must be one text, not a {type(value).__name__}: use expand() for several")
    raise TypeError(f"{name} must be text, not {show(value)}")


def check_settled(sensor: Any) -> None:
    """Refuse what is known when the Dag is parsed and could never be waited for.

    Templates and other tasks' results are checked when the task runs.

    :raises ValueError: naming the argument.
    """
    check_choices(sensor)
    form = _settled_form(sensor.format, sensor.declare)
    if not _open(sensor.uri) and not _open(sensor.pattern):
        Target.of(sensor.uri, sensor.pattern, form=form)
    check_way(sensor)
    if not _open(sensor.dataset) and not re.fullmatch(DATASET_PATTERN, sensor.dataset):
        raise ValueError(f"dataset must be 1 to 200 of A-Z a-z 0-9 . _ / -, not {show(sensor.dataset)}")
    if not _open(sensor.interval):
        check_interval(sensor.interval)
    if not _open(sensor.min_version):
        least_version(sensor.min_version)
    if sensor.deadline is not None and not math.isfinite(sensor.deadline):
        raise ValueError(f"deadline must be seconds or a timedelta, not {sensor.deadline}")
    if not 0.1 <= sensor.poke_interval <= 86_400:
        raise ValueError(f"poke_interval must be 0.1 to 86400 seconds, not {sensor.poke_interval}")
    if not 0 <= sensor.first_event_delay <= 60:
        raise ValueError(f"first_event_delay must be 0 to 60 seconds, not {sensor.first_event_delay}")
    if type(sensor.unreadable_looks) is not int or sensor.unreadable_looks < 1:
        raise ValueError(f"unreadable_looks must be at least 1, not {show(sensor.unreadable_looks)}")


def _settled_form(name: str | None, declare: Any) -> Form:
    """The form, as far as it is known: templates in a declaration are left for the run by its own check.

    :raises ValueError: when there is no such format, or it could never be read so.
    """
    if _open(declare):
        return Form() if name is None else Form(format_of(name).name)
    if isinstance(declare, Mapping):
        declare = {key: _LATER if hasattr(text, "resolve") else text for key, text in declare.items()}
    return Form.of(name, declare)


def check_way(sensor: Any) -> None:
    """Refuse options and connections that cannot reach a store of the URI's kind.

    That kind stands at the start of most templates too; where it does not, the task checks when it runs.

    :raises ValueError: naming the option.
    """
    if sensor.options is not None and not isinstance(sensor.options, Mapping):
        raise ValueError(f"options must be names and values, not {show(sensor.options)}")
    start = re.match(r"/|([A-Za-z][A-Za-z0-9+.-]+):", sensor.uri) if isinstance(sensor.uri, str) else None
    scheme = (start[1] or "file").lower() if start else ""
    if scheme in schemes():
        conn_id = "later" if _open(sensor.conn_id) else sensor.conn_id
        Way(conn_id, sensor.options or {}).check(scheme)


def check_interval(value: Any) -> None:
    """Refuse an interval that could never be one; ``None`` is the run's own.

    :raises ValueError: saying what to write.
    """
    if value is None:
        return
    try:
        interval_of(value, {})
    except WaitMisconfigured as error:
        raise ValueError(str(error)) from None


def least_version(value: Any) -> int:
    """The least version as a whole number; a rendered template gives its digits.

    :raises ValueError: for anything else.
    """
    if isinstance(value, str) and re.fullmatch(r"[0-9]{1,16}", value.strip()):
        value = int(value)
    if type(value) is not int or not 1 <= value <= MAX_VERSION:
        raise ValueError(f"min_version must be a whole number from 1 to 2**53-1, not {show(value)}")
    return value


def owner_of(context: Mapping[str, Any]) -> str:
    """Who claims a version: the same for every attempt of a task."""
    ti = context["ti"]
    return "/".join(str(part) for part in (ti.dag_id, ti.run_id, ti.task_id, ti.map_index))


def _open(value: Any) -> bool:
    """Whether the value is known only when the task runs: a template, or another task's result."""
    if isinstance(value, (list, tuple)):
        return any(_open(entry) for entry in value)
    if isinstance(value, str):
        return "{{" in value or "{%" in value
    return hasattr(value, "resolve")


def plain_interval(value: Any) -> Any:
    """An interval in a form that Airflow can show: its two instants as text."""
    if isinstance(value, Interval):
        return tuple(value.to_json().values())
    if isinstance(value, (list, tuple)):
        return tuple(
            v.isoformat() if isinstance(v, datetime) and v.utcoffset() is not None else v for v in value
        )
    return value
