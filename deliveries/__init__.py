"""Deliveries: waiting for them, verifying them, writing them. Nothing here needs Airflow."""

from ._accept import Acceptance, Accepted, OnReplaced, accept
from ._access import Way, reach
from ._assess import (
    LASTING_LOOKS,
    UNREADABLE_LOOKS,
    Action,
    Assessment,
    Level,
    OnIncomplete,
    OnMismatch,
    OnTaken,
    Terms,
    assess,
    best_reading,
)
from ._check import check
from ._checked import Check
from ._clock import Clock, as_seconds
from ._convert import convert
from ._delivery import DeliveredFile, Delivery
from ._errors import (
    AccessTrouble,
    BadDelivery,
    CannotDeliver,
    DeliveryError,
    NotInTime,
    Unavailable,
)
from ._ledger import Ledger
from ._look import look_at
from ._presence import MAX_CHECKED_WHILE_WAITING
from ._report import UNDECIDED, Progress, Report
from ._rows import NotCounted, RowCounter, row_counter
from ._run import run
from ._stamp import Stamp
from ._target import Form, Reading, State, Target
from ._verify import OnUnexpected, verify
from ._wait import Looks, Outcome, look_once, wait
from ._write import Announced, Announcement, announce

__all__ = [
    "LASTING_LOOKS",
    "MAX_CHECKED_WHILE_WAITING",
    "UNDECIDED",
    "UNREADABLE_LOOKS",
    "Acceptance",
    "Accepted",
    "AccessTrouble",
    "Action",
    "Announced",
    "Announcement",
    "Assessment",
    "BadDelivery",
    "CannotDeliver",
    "Check",
    "Clock",
    "DeliveredFile",
    "Delivery",
    "DeliveryError",
    "Form",
    "Ledger",
    "Level",
    "Looks",
    "NotCounted",
    "NotInTime",
    "OnIncomplete",
    "OnMismatch",
    "OnReplaced",
    "OnTaken",
    "OnUnexpected",
    "Outcome",
    "Progress",
    "Reading",
    "Report",
    "RowCounter",
    "Stamp",
    "State",
    "Target",
    "Terms",
    "Unavailable",
    "Way",
    "accept",
    "announce",
    "as_seconds",
    "assess",
    "best_reading",
    "check",
    "convert",
    "look_at",
    "look_once",
    "reach",
    "row_counter",
    "run",
    "verify",
    "wait",
]
