"""The errors of the pipeline, told apart by what a retry can do.

::

    OrdersError
    +-- Permanent            the same again ends the same: fail at once
    |   +-- InvalidOrders    the delivery's contents are wrong: the partner has to act
    |   +-- Superseded       the destination holds something newer, or other bytes of the same version
    |   +-- NotStaged        the staging table is gone: the task `stage` has to run again
    |   +-- NotSetUp         the destination's tables are missing: somebody has to run the set-up
    +-- PublishConflict      somebody else published meanwhile: a retry starts from what is there now

What the database raises itself is sorted in ``orders_retry``.
"""

from __future__ import annotations

from collections.abc import Sequence

__all__ = [
    "InvalidOrders",
    "NotSetUp",
    "NotStaged",
    "OrdersError",
    "Permanent",
    "PublishConflict",
    "Superseded",
]


class OrdersError(Exception):
    """Base of the pipeline's errors."""


class Permanent(OrdersError):
    """Base of what a retry cannot help."""


class InvalidOrders(Permanent):
    """Raised when what was delivered cannot be a day's orders.

    :ivar problems: what is wrong, one sentence each, capped.
    """

    def __init__(self, text: str, problems: Sequence[str]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n  ".join([text, *self.problems]))


class Superseded(Permanent):
    """Raised when the destination refuses: it holds a newer version, or other bytes of the same one."""


class NotStaged(Permanent):
    """Raised when the operation's staging table is not there."""


class NotSetUp(Permanent):
    """Raised when the destination lacks the pipeline's tables."""


class PublishConflict(OrdersError):
    """Raised when the pointer moved between the look and the swap; the candidate's basis is out of date."""
