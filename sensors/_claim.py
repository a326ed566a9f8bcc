"""Claiming a delivery in the ledger, the last step before it is handed on."""

from __future__ import annotations

from typing import Any

from airflow.sdk.exceptions import AirflowSkipException

from airflow_landmark.deliveries import BadDelivery, Delivery, DeliveryError, Ledger, OnTaken, Stamp, Terms
from airflow_landmark.markers import VerdictKind, show
from airflow_landmark.stores import Pin, StoreError

from ._errors import DeliveryHeld, for_airflow
from ._ledger_asset import AssetLedger

__all__ = ["check_ledger", "claim", "give_back_taken"]


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
        text = f"another task is at work on it, a retry asks again: {error.text}"
        raise DeliveryHeld(f"{error.uri}: {text}") from None
    if on_taken != "accept":
        # Nobody else can commit this version from here on: only now is the answer final.
        _check_taken(delivery, ledger, owner=owner, on_taken=on_taken)
    return delivery.claimed_by(owner)


def give_back_taken(ledger: Ledger | None, terms: Terms, *, owner: str) -> None:
    """Release what an earlier try has claimed of the version that is taken, before the task skips or fails.

    A try that died between its claim and its look at what is taken has left it, and no later one claims.

    :raises AirflowException: when the ledger fails; a retry may release it.
    """
    if ledger is None or terms.taken is None:
        return
    wanted, taken = terms.expectation, terms.taken
    # Of the stamp, a ledger looks at version and identity: the marker's other facts are not at hand.
    stamp = Stamp(
        uri=terms.target.text, sha256=taken.identity, size=0, pin=Pin(), dataset=wanted.dataset,
        interval=wanted.interval, version=taken.version, files=0, size_bytes=None, rows=None,
    )  # fmt: skip
    try:
        ledger.release(stamp, owner)
    except (DeliveryError, StoreError) as error:
        raise for_airflow(error) from None


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
