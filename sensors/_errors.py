"""The errors of this room, told apart by what Airflow does with them.

::

    AirflowFailException                  never retried
    +-- DeliveryRefused                   bad data: the partner has to act
    +-- AccessRefused                     the store refuses: somebody has to give rights or mend a path
    +-- WaitMisconfigured                 the Dag has to be changed
    AirflowSensorTimeout                  never retried
    +-- DeliveryNotInTime                 the deadline came first; the only one that soft_fail skips
    AirflowException                      retried as the task says
    +-- DeliveryUnavailable               passing trouble of the store or the ledger
    +-- DeliveryHeld                      another task is at work on the same delivery
    +-- TryOutOfTime                      this try's execution_timeout is used up, the task's budget is not
    +-- UnusableEvent                     what resumed the task was not an event of its own wait
"""

from __future__ import annotations

from collections.abc import Sequence

from airflow.sdk.exceptions import AirflowException, AirflowFailException, AirflowSensorTimeout

from airflow_landmark.deliveries import AccessTrouble, BadDelivery, DeliveryError
from airflow_landmark.markers import Problem
from airflow_landmark.stores import InvalidAccess, LastingTrouble, StoreError

__all__ = [
    "AccessRefused",
    "DeliveryHeld",
    "DeliveryNotInTime",
    "DeliveryRefused",
    "DeliveryUnavailable",
    "TryOutOfTime",
    "UnusableEvent",
    "WaitMisconfigured",
    "for_airflow",
]


class DeliveryRefused(AirflowFailException):
    """Raised when what lies there is not the delivery that was promised; a retry cannot help.

    :ivar kind: a verdict, or the kind of the first problem.
    :ivar uri: the marker's address.
    :ivar problems: what is wrong, capped.
    """

    def __init__(self, text: str, *, kind: str, uri: str, problems: Sequence[Problem] = ()) -> None:
        self.kind = kind
        self.uri = uri
        self.problems = tuple(problems)
        super().__init__(text)


class AccessRefused(AirflowFailException):
    """Raised when the store refuses for good: missing rights, a path that is a link or a file.

    :ivar kind: a stable word, or the kind of the first problem.
    :ivar uri: the marker's address.
    :ivar problems: what could not be told, capped.
    """

    def __init__(
        self, text: str, *, kind: str = "access", uri: str = "", problems: Sequence[Problem] = ()
    ) -> None:
        self.kind = kind
        self.uri = uri
        self.problems = tuple(problems)
        super().__init__(text)


class WaitMisconfigured(AirflowFailException):
    """Raised when an argument, as rendered for this run, or the connection cannot be waited with."""


class DeliveryNotInTime(AirflowSensorTimeout):
    """Raised when the deadline came before the delivery."""


class DeliveryUnavailable(AirflowException):
    """Raised when the store or the ledger is in passing trouble, or files change while they are verified."""


class DeliveryHeld(AirflowException):
    """Raised while another task holds the delivery in the ledger: until it commits, or gives it back."""


class TryOutOfTime(AirflowException):
    """Raised when ``execution_timeout`` ends this try before the task's deadline."""


class UnusableEvent(AirflowException):
    """Raised when the task was resumed by something that is not an event of its own wait."""


def for_airflow(error: DeliveryError | StoreError) -> AirflowException:
    """The same error as one that makes Airflow do the right thing."""
    if isinstance(error, StoreError):
        return _of_store(error)
    if isinstance(error, BadDelivery):
        return DeliveryRefused(str(error), kind=error.kind, uri=error.uri, problems=error.problems)
    if isinstance(error, AccessTrouble) and error.kind == "configuration":
        return WaitMisconfigured(error.text)
    if isinstance(error, AccessTrouble):
        return AccessRefused(str(error), kind=error.kind, uri=error.uri, problems=error.problems)
    return DeliveryUnavailable(str(error))


def _of_store(error: StoreError) -> AirflowException:
    if isinstance(error, InvalidAccess):
        return WaitMisconfigured(str(error))
    if isinstance(error, LastingTrouble):
        return AccessRefused(str(error), uri=error.place)
    return DeliveryUnavailable(str(error))
