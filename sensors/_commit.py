"""Telling the ledger how the work on a delivery ended: in a last task, or within one."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from airflow.sdk import XComArg
from airflow.sdk.bases.operator import BaseOperator

from airflow_landmark.deliveries import Delivery, DeliveryError, Ledger, held_by
from airflow_landmark.markers import show
from airflow_landmark.stores import StoreError

from ._claim import check_ledger
from ._errors import WaitMisconfigured, for_airflow
from ._marker import MarkerSensor

if TYPE_CHECKING:
    from airflow.sdk import Context

__all__ = ["CommitDelivery", "commit_delivery", "release_delivery"]

_NO_CLAIM = "give the sensor that returns it the same ledger: MarkerSensor(ledger=...)"


class CommitDelivery(BaseOperator):
    """Marks a delivery as taken, after the load succeeded. The last task of the work on it.

    It may run any number of times; only the first changes something. Returns dataset, interval and version.

    :param delivery: what the sensor returned: its ``.output``, or a template that renders to it (templated).
    :param ledger: the sensor's.

    :raises ValueError: when the Dag is parsed, for arguments that cannot work.
    :raises TypeError: the same.
    :raises DeliveryRefused: a higher version was claimed or taken meanwhile, or the claim was given back;
        not retried.
    :raises DeliveryUnavailable: the ledger is in passing trouble; retried.
    """

    template_fields: Sequence[str] = ("delivery",)
    ui_color: str = "#d8ecd9"

    def __init__(self, *, delivery: Any, ledger: Ledger, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.delivery = delivery
        self.ledger = ledger
        check_ledger(ledger, self)
        _check_delivery(delivery)

    def execute(self, context: Context) -> dict[str, Any]:  # noqa: ARG002 - Airflow's signature
        """Commit, and say so."""
        committed = commit_delivery(self.delivery, ledger=self.ledger)
        self.log.info("Taken: %s", json.dumps(committed))
        return committed


def commit_delivery(delivery: Mapping[str, Any] | str, *, ledger: Ledger) -> dict[str, Any]:
    """Mark a delivery as taken, in the name of the sensor that claimed it; repeating it changes nothing.

    Returns dataset, interval and version.

    :param delivery: the document that the sensor returned, or its JSON text.
    :param ledger: the sensor's.
    :raises WaitMisconfigured: when it is no such document, or was returned by a sensor without a ledger.
    :raises DeliveryRefused: when the ledger refuses: a higher version came first, or the claim is gone.
    :raises AccessRefused: when the ledger cannot be used.
    :raises DeliveryUnavailable: when it is in passing trouble.
    """
    found, owner = _claimed(delivery)
    try:
        ledger.commit(found.stamp, owner)
    except (DeliveryError, StoreError) as error:
        raise for_airflow(error) from None
    return _told(found)


def release_delivery(delivery: Mapping[str, Any] | str, *, ledger: Ledger) -> dict[str, Any]:
    """Give the sensor's claim back, after the load failed for good, so that another task may have it.

    Arguments, result and errors are those of :func:`commit_delivery`.
    """
    found, owner = _claimed(delivery)
    try:
        ledger.release(found.stamp, owner)
    except (DeliveryError, StoreError) as error:
        raise for_airflow(error) from None
    return _told(found)


def _claimed(document: Mapping[str, Any] | str) -> tuple[Delivery, str]:
    try:
        found = Delivery.from_xcom(_parsed(document))
        if found.owner is not None:
            # Refuses what no ledger could hold: the document came through XCom, which people can write to.
            held_by(found.stamp, found.owner, at=found.interval.end)
            return found, found.owner
    except ValueError as error:
        raise WaitMisconfigured(f"delivery: {error}") from None
    raise WaitMisconfigured(f"{found.stamp.uri}: this delivery was not claimed: {_NO_CLAIM}")


def _parsed(document: Mapping[str, Any] | str) -> Mapping[str, Any]:
    """The document; a template renders to its text, unless the Dag renders to native objects.

    :raises ValueError: when the text is no JSON object.
    """
    if not isinstance(document, str):
        return document
    try:
        parsed = json.loads(document)
    except (ValueError, RecursionError):
        parsed = None
    if isinstance(parsed, dict):
        return parsed
    raise ValueError(
        f"{show(document)} is no JSON object: pass the sensor's .output, or a template that ends in | tojson"
    )


def _told(delivery: Delivery) -> dict[str, Any]:
    return {
        "dataset": delivery.dataset,
        "interval": delivery.interval.to_json(),
        "version": delivery.version,
    }


def _check_delivery(delivery: Any) -> None:
    """Refuse what could never be committed.

    :raises TypeError: for another kind of value.
    :raises ValueError: when the sensor that gives it has no ledger.
    """
    if isinstance(delivery, XComArg):
        for task, _ in delivery.iter_references():
            if isinstance(task, MarkerSensor) and task.ledger is None:
                raise ValueError(f"the deliveries of {task.task_id} are not claimed: {_NO_CLAIM}")
    elif not isinstance(delivery, (str, Mapping)):
        raise TypeError(f"delivery must be the sensor's .output or a template, not {show(delivery)}")
