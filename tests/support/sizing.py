"""Waits, triggerers and answers for tests of the room ``capacity``."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from datetime import datetime, timezone
from typing import Any

from airflow_landmark.capacity import (
    Answer,
    Cron,
    Deployment,
    Exponential,
    Fixed,
    Inputs,
    PartitionAnswer,
    Platform,
    Wait,
    check,
    load_calibrations,
)
from airflow_landmark.capacity._curves import Grid
from airflow_landmark.capacity._model import Model, serving_groups
from airflow_landmark.capacity._sweep import Sweep

MARKER = "airflow_landmark.triggers.MarkerTrigger"
S3 = "airflow.providers.amazon.aws.triggers.s3.S3KeyTrigger"
WORKFLOW = "airflow.providers.standard.triggers.external_task.WorkflowTrigger"

MONDAY = datetime(2026, 3, 2, tzinfo=timezone.utc).timestamp()
MINUTE, HOUR, DAY = 60.0, 3600.0, 86_400.0
WEEK = 7 * DAY
MIB = 1024**2
DAILY = Cron("0 0 * * *")
HOURLY = Cron("0 * * * *")


def a_wait(**fields: Any) -> Wait:
    """Return a daily wait of 20 minutes, but for these fields."""
    usual = {"name": "wait", "kind": MARKER, "arrivals": DAILY, "duration": Fixed(20 * MINUTE)}
    return Wait(**{**usual, **fields})


def triggerers(replicas: int, **fields: Any) -> Deployment:
    """Return triggerers whose files never run out."""
    return Deployment(**{"name": "triggerer", "replicas": replicas, "nofile": 65_536, **fields})


def seed_wait(**fields: Any) -> Wait:
    """Return the worked example: 2,500 waits at midnight, exponential, 20 minutes on average."""
    from airflow_landmark.capacity import Estimate

    usual = {"width": Estimate(2500), "duration": Exponential(20 * MINUTE), "source": "partner"}
    return a_wait(**{**usual, **fields})


def sized(
    waits: Iterable[Wait],
    *deployments: Deployment,
    seconds: float = 1.5 * HOUR,
    headroom: float = 0.2,
    **fields: Any,
) -> Answer:
    """Return the answer for these waits from a Monday on."""
    inputs = Inputs(
        waits=tuple(waits), deployments=deployments, platform=Platform(headroom=headroom), **fields
    )
    return check(inputs, begin=MONDAY, seconds=seconds)


def only(answer: Answer) -> PartitionAnswer:
    """Return the answer's one partition."""
    (part,) = answer.partitions
    return part


def modelled(waits: Iterable[Wait], *deployments: Deployment, **fields: Any) -> Model:
    """Return the model of one day on a grid of minutes: an answer without fixes, quickly."""
    inputs = Inputs(waits=tuple(waits), deployments=deployments, **fields)
    (group,) = serving_groups(inputs)
    sweep = Sweep(inputs, Grid(MONDAY, MINUTE, 1440))
    return Model.of(group, inputs=inputs, calibrations=load_calibrations(), sweep=sweep)


def at_once(starts: Sequence[float], lasts: Sequence[float], moment: float) -> int:
    """Count the waits that are there at one moment, the plain way."""
    return sum(start <= moment < start + last for start, last in zip(starts, lasts, strict=True))


def close(a: float, b: float, *, part: float = 1e-9) -> bool:
    """Return whether two numbers are equal but for rounding."""
    return math.isclose(a, b, rel_tol=part, abs_tol=part)
