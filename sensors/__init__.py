"""Sensors: tasks that wait cheaply for a delivery and fail loudly on the wrong one."""

from airflow_landmark.deliveries import DeliveredFile, Delivery

from . import _needs_airflow  # noqa: F401 - before the modules that need it
from ._errors import (
    AccessRefused,
    DeliveryNotInTime,
    DeliveryRefused,
    DeliveryUnavailable,
    TryOutOfTime,
    UnusableEvent,
    WaitMisconfigured,
)
from ._marker import MarkerSensor
from ._retry import LandmarkRetryPolicy

__all__ = [
    "AccessRefused",
    "DeliveredFile",
    "Delivery",
    "DeliveryNotInTime",
    "DeliveryRefused",
    "DeliveryUnavailable",
    "LandmarkRetryPolicy",
    "MarkerSensor",
    "TryOutOfTime",
    "UnusableEvent",
    "WaitMisconfigured",
]
