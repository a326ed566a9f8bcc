"""A ready retry policy: bad data fails at once, passing trouble is retried with a spread delay."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from airflow.sdk import ExceptionRetryPolicy, RetryAction, RetryDecision, RetryRule

from airflow_landmark.deliveries import as_seconds

from ._errors import AccessRefused, DeliveryNotInTime, DeliveryRefused, WaitMisconfigured

if TYPE_CHECKING:
    from airflow.sdk import Context

__all__ = ["LandmarkRetryPolicy"]

_A_YEAR = 366 * 86_400


class LandmarkRetryPolicy(ExceptionRetryPolicy):
    """Retries what may pass, after a delay that differs from task to task.

    The delay before retry *n* lies between half of ``min(longest, first * 2**(n-1))`` and all of it. It
    is spread below the longest delay, not above it: a cap that comes after the spread cuts it off, and
    all tasks that failed together return together.

    Within a task the delay is the same whenever it is asked for: it is drawn from the task's identity.

    :param first: delay before the first retry, in seconds or as ``timedelta``.
    :param longest: no delay is longer.
    :raises ValueError: when ``first`` is not above 0, or ``longest`` is below it or above a year.
    """

    def __init__(self, *, first: float | timedelta = 30.0, longest: float | timedelta = 600.0) -> None:
        self.first = as_seconds(first)
        self.longest = as_seconds(longest)
        if not 0 < self.first <= self.longest <= _A_YEAR:
            raise ValueError(
                f"delays must be 0 < first <= longest <= a year, not {self.first:g} and {self.longest:g}"
            )
        lasting: list[type[BaseException] | str] = [
            DeliveryRefused, AccessRefused, WaitMisconfigured, DeliveryNotInTime, PermissionError,
        ]  # fmt: skip
        super().__init__(
            rules=[
                RetryRule(exception=lasting, action=RetryAction.FAIL, reason="a retry cannot help"),
                RetryRule(exception=Exception, action=RetryAction.RETRY, reason="may pass"),
            ]
        )

    def evaluate(
        self,
        exception: BaseException,
        try_number: int,
        max_tries: int,
        context: Context | None = None,
    ) -> RetryDecision:
        """Fail or retry, and when.

        :param try_number: of the try that failed, from 1.
        """
        decision = super().evaluate(exception, try_number, max_tries, context)
        if decision.action is not RetryAction.RETRY:
            return decision
        return RetryDecision.retry(
            delay=timedelta(seconds=self.delay(try_number, context)), reason=decision.reason
        )

    def delay(self, try_number: int, context: Mapping[str, Any] | None = None) -> float:
        """Seconds before the retry that follows this try."""
        whole = min(self.longest, self.first * 2.0 ** min(max(try_number, 1) - 1, 64))
        return whole * (0.5 + 0.5 * _share(try_number, context))

    def serialize(self) -> dict[str, Any]:
        """Plain JSON, in the form of the base class, with the two delays."""
        return super().serialize() | {"first": self.first, "longest": self.longest}

    @classmethod
    def deserialize(cls, data: dict[str, Any]) -> LandmarkRetryPolicy:
        """The policy that ``serialize`` wrote; its rules are always the same."""
        return cls(first=data["first"], longest=data["longest"])


def _share(try_number: int, context: Mapping[str, Any] | None) -> float:
    """A number from 0 to 1, drawn from the task's identity."""
    ti = (context or {}).get("ti")
    names = [str(getattr(ti, name, "")) for name in ("dag_id", "run_id", "task_id", "map_index")]
    digest = hashlib.sha256("\n".join([*names, str(try_number)]).encode("utf-8", "replace")).digest()
    return int.from_bytes(digest[:8], "big") / 2**64
