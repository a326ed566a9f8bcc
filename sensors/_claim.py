"""Claiming a delivery in the ledger, the last step before it is handed on."""

from __future__ import annotations

from typing import Any

from airflow.sdk.exceptions import AirflowSkipException

from airflow_landmark.deliveries import BadDelivery, Delivery, Ledger, OnTaken
from airflow_landmark.markers import VerdictKind, show

from ._errors import DeliveryHeld
from ._ledger_asset import AssetLedger

__all__ = ["check_ledger", "claim"]


def check_ledger(ledger: Any, task: Any) -> None:
    """Refuse what is no ledger, and a ledger that this task cannot reach.

    :raises TypeError: when it is none.
    :raises ValueError: when the task does not have the asset that the ledger needs.
    """
    if not callable(getattr(ledger, "claim", None)):
        raise TypeError(f"ledger must be a ledger, such as SqlLedger(url), not {show(ledger)}")
    if isinstance(ledger, AssetLedger):
        ledger.check_task(task)


def claim(delivery: Delivery, ledger: Ledger, *, owner: str, on_taken: OnTaken) -> Delivery:
    """The delivery, held in the owner's name.

    :param on_taken: what another task's commit of this very delivery means, when it came after this one
        had judged it.
    :raises DeliveryHeld: while another task holds it.
    :raises BadDelivery: when the ledger refuses the version for good.
    :raises AirflowSkipException: when it was taken meanwhile, and ``on_taken`` is ``"skip"``.
    """
    try:
        ledger.claim(delivery.stamp, owner)
    except BadDelivery as error:
        if error.kind != VerdictKind.ALREADY_TAKEN:
            raise
        raise DeliveryHeld(f"{error}; a retry asks again") from None
    if on_taken != "accept":
        # Nobody else can commit this version from here on: only now is the answer final.
        _check_taken(delivery, ledger, owner=owner, on_taken=on_taken)
    return delivery.claimed_by(owner)


def _check_taken(delivery: Delivery, ledger: Ledger, *, owner: str, on_taken: OnTaken) -> None:
    stamp = delivery.stamp
    taken = ledger.taken(stamp.dataset, stamp.interval)
    if taken is None or (taken.version, taken.identity) != (stamp.version, stamp.sha256):
        return
    ledger.release(stamp, owner)
    text = f"version {stamp.version} was taken by another task while this one verified it"
    if on_taken == "skip":
        raise AirflowSkipException(f"{stamp.uri}: {text}")
    raise BadDelivery(stamp.uri, str(VerdictKind.ALREADY_TAKEN), text)
