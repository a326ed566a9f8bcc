"""Triggers: waits in Airflow's triggerer, and the event that they fire."""

from . import _needs_airflow  # noqa: F401 - before the modules that need it
from ._access_known import Known
from ._access_lookup import look_up
from ._errors import InvalidEvent
from ._event import MAX_EVENT_BYTES, build_event, parse_event
from ._marker import MarkerTrigger

__all__ = [
    "MAX_EVENT_BYTES",
    "InvalidEvent",
    "Known",
    "MarkerTrigger",
    "build_event",
    "look_up",
    "parse_event",
]
