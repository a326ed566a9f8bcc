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
from ._ledger import CreatableLedger, Entry, Held, Ledger, LedgerEvent, LedgerWord, ReadableLedger
from ._ledger_keys import HeldWord, key_of_held, read_key
from ._ledger_open import open_ledger
from ._ledger_rules import after_claim, after_commit, after_release, held_by
from ._ledger_s3 import S3Ledger
from ._ledger_sql import SqlLedger
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
    "CreatableLedger",
    "DeliveredFile",
    "Delivery",
    "DeliveryError",
    "Entry",
    "Form",
    "Held",
    "HeldWord",
    "Ledger",
    "LedgerEvent",
    "LedgerWord",
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
    "ReadableLedger",
    "Reading",
    "Report",
    "RowCounter",
    "S3Ledger",
    "SqlLedger",
    "Stamp",
    "State",
    "Target",
    "Terms",
    "Unavailable",
    "Way",
    "accept",
    "after_claim",
    "after_commit",
    "after_release",
    "announce",
    "as_seconds",
    "assess",
    "best_reading",
    "check",
    "convert",
    "held_by",
    "key_of_held",
    "look_at",
    "look_once",
    "open_ledger",
    "reach",
    "read_key",
    "row_counter",
    "run",
    "verify",
    "wait",
]
