"""Sensors: tasks that wait cheaply for a delivery and fail loudly on the wrong one."""

from airflow_landmark.deliveries import DeliveredFile, Delivery, S3Ledger, SqlLedger

from . import _needs_airflow  # noqa: F401 - before the modules that need it
from ._commit import CommitDelivery, commit_delivery, release_delivery
from ._errors import (
    AccessRefused,
    DeliveryHeld,
    DeliveryNotInTime,
    DeliveryRefused,
    DeliveryUnavailable,
    TryOutOfTime,
    UnusableEvent,
    WaitMisconfigured,
)
from ._ledger_asset import AssetLedger
from ._ledger_connection import ConnectionLedger
from ._marker import MarkerSensor
from ._retry import LandmarkRetryPolicy

__all__ = [
    "AccessRefused",
    "AssetLedger",
    "CommitDelivery",
    "ConnectionLedger",
    "DeliveredFile",
    "Delivery",
    "DeliveryHeld",
    "DeliveryNotInTime",
    "DeliveryRefused",
    "DeliveryUnavailable",
    "LandmarkRetryPolicy",
    "MarkerSensor",
    "S3Ledger",
    "SqlLedger",
    "TryOutOfTime",
    "UnusableEvent",
    "WaitMisconfigured",
    "commit_delivery",
    "release_delivery",
]
