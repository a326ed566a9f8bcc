"""What the task's own log says: the triggerer's log may be lost."""

from __future__ import annotations

import time
from typing import Protocol

from airflow_landmark.deliveries import Delivery, Looks, Progress, Report
from airflow_landmark.markers import format_instant

__all__ = ["Log", "ProgressLog", "say_accepted", "say_looks"]

_EVERY_SECONDS = 10.0


class Log(Protocol):
    """The part of a logger that is used here."""

    def info(self, text: str, /, *values: object) -> None:
        """One line."""


class ProgressLog:
    """Logs how far verifying is, at most every ten seconds."""

    def __init__(self, log: Log) -> None:
        self._log = log
        self._last = time.monotonic()

    def __call__(self, progress: Progress) -> None:
        """Log when it is time again."""
        now = time.monotonic()
        if now - self._last < _EVERY_SECONDS:
            return
        self._last = now
        self._log.info(
            "Verifying: %d of %d files, %d of %d bytes",
            progress.files_done, progress.files, progress.bytes_done, progress.size_bytes,
        )  # fmt: skip


def say_looks(log: Log, looks: Looks) -> None:
    """What the wait saw, in words."""
    if looks.first_at is None or looks.last_at is None:
        log.info("The wait made no look")
        return
    seen = ", ".join(f"{count} {word}" for word, count in looks.seen.items())
    log.info(
        "The wait looked %d times from %s to %s: %s. Last: %s",
        looks.count, format_instant(looks.first_at), format_instant(looks.last_at), seen, looks.last,
    )  # fmt: skip


def say_accepted(log: Log, report: Report, delivery: Delivery) -> None:
    """What is handed on."""
    stamp = delivery.stamp
    log.info(
        "Accepted %s: dataset %s, interval %s, version %d, sha256 %s, %d files, verified: %s, claimed by: %s",
        stamp.uri, stamp.dataset, stamp.interval, stamp.version, stamp.sha256, stamp.files, report.level,
        delivery.owner or "nobody, no ledger",
    )  # fmt: skip
