"""The triggers that are measured. Imported late: a case must not hold the modules of the other side."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ._places import DATASET, INTERVAL, Place
from ._plan import Case

__all__ = ["PEERS", "makers"]

PEERS = {
    "local": ("FileTrigger", "apache-airflow-providers-standard"),
    "http": ("HttpSensorTrigger", "apache-airflow-providers-http"),
    "s3": ("S3KeyTrigger", "apache-airflow-providers-amazon"),
}
"""Class and distribution of what Airflow has for each store."""

_Make = Callable[[int], Any]


def makers(case: Case, places: Sequence[Place]) -> _Make:
    """What makes the trigger of a wait from its number."""
    made = [(_ours if case.side == "ours" else _PEERS[place.store])(case, place) for place in places]
    return lambda number: made[number % len(made)](number)


def _ours(case: Case, place: Place) -> _Make:
    from airflow_landmark.triggers import MarkerTrigger  # noqa: PLC0415

    def make(number: int) -> Any:
        return MarkerTrigger(
            uri=place.uri(number),
            dataset=DATASET,
            interval="/".join(INTERVAL),
            poll_interval=case.poll,
            deadline="2100-01-01T00:00:00Z",
            conn_id=place.connection,
        )

    return make


def _file(case: Case, place: Place) -> _Make:
    from airflow.providers.standard.triggers.file import FileTrigger  # noqa: PLC0415

    return lambda number: FileTrigger(filepath=place.path(number), poke_interval=case.poll)


def _http(case: Case, place: Place) -> _Make:
    from airflow.providers.http.triggers.http import HttpSensorTrigger  # noqa: PLC0415

    assert place.connection is not None
    conn_id = place.connection
    return lambda number: HttpSensorTrigger(
        endpoint=place.path(number), http_conn_id=conn_id, poke_interval=case.poll
    )


def _s3(case: Case, place: Place) -> _Make:
    from airflow.providers.amazon.aws.triggers.s3 import S3KeyTrigger  # noqa: PLC0415

    def make(number: int) -> Any:
        _, bucket, key = place.path(number).split("/", 2)
        return S3KeyTrigger(
            bucket_name=bucket, bucket_key=key, aws_conn_id=place.connection, poke_interval=case.poll
        )

    return make


_PEERS = {"local": _file, "http": _http, "s3": _s3}
