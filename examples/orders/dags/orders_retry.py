"""Which failure is retried, and when.

| class | what | then |
| --- | --- | --- |
| permanent | the data, the set-up, rights, a newer version: ``PERMANENT`` | failed at once |
| transient | locks, connections, the store: everything else | retried, with a spread delay |
| ambiguous | a connection that broke at a commit: done, or not | retried: every step may be repeated |
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from airflow.sdk import RetryAction, RetryRule
from orders_errors import Permanent

from airflow_landmark.deliveries import AccessTrouble, BadDelivery
from airflow_landmark.sensors import LandmarkRetryPolicy

__all__ = ["PERMANENT", "OrdersRetryPolicy"]

PERMANENT: list[type[BaseException] | str] = [
    Permanent,
    BadDelivery,
    AccessTrouble,
    "sqlalchemy.exc.ProgrammingError",
    "sqlalchemy.exc.IntegrityError",
    "sqlalchemy.exc.DataError",
]
"""What a retry cannot help, beside what ``LandmarkRetryPolicy`` fails anyway.

The last three are a table, a column or a right that is missing, and values that cannot be stored.
"""


class OrdersRetryPolicy(LandmarkRetryPolicy):
    """The policy of all tasks of the pipeline: Landmark's own, with the pipeline's permanent errors."""

    def __init__(self, *, first: float | timedelta = 30.0, longest: float | timedelta = 600.0) -> None:
        super().__init__(first=first, longest=longest)
        lasting = RetryRule(exception=PERMANENT, action=RetryAction.FAIL, reason="a retry cannot help")
        self.rules: list[Any] = [lasting, *self.rules]
