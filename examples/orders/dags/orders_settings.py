"""The pipeline's settings: environment variables of the Dag processor and the workers.

A password in ``ORDERS_DESTINATION`` is read where a connection is made; it is in no task argument, and so
in no table of Airflow's.
"""

from __future__ import annotations

import os

__all__ = [
    "CODE_VERSION",
    "DATASET",
    "TIMEZONE",
    "connection",
    "destination_url",
    "landing",
    "ledger",
    "look_every",
    "retry_first",
]

DATASET = "shop/orders"
TIMEZONE = "UTC"
"""Whose days these are: the schedule's and the destination's."""

CODE_VERSION = 1
"""Raise it when the transformation changes: the same input may then replace what older code made of it."""


def landing() -> str:
    """Folder or bucket in which the partner delivers each day's orders, in a folder of that day."""
    return os.environ.get("ORDERS_LANDING", "/data/partner/orders").rstrip("/")


def connection() -> str | None:
    """Airflow connection by which the landing is reached; ``None`` for the environment's credentials."""
    return os.environ.get("ORDERS_CONNECTION") or None


def destination_url() -> str:
    """SQLAlchemy URL of the destination: SQLite or PostgreSQL (``postgresql+psycopg2://...``)."""
    return os.environ.get("ORDERS_DESTINATION", "sqlite:////data/orders.db")


def ledger() -> str:
    """Where the versions taken are remembered; the destination's database when nothing else is set."""
    return os.environ.get("ORDERS_LEDGER") or destination_url()


def look_every() -> float:
    """Seconds between looks for a delivery."""
    return float(os.environ.get("ORDERS_LOOK_EVERY_SECONDS", "60"))


def retry_first() -> float:
    """Seconds before the first retry, at most; each further one doubles them, up to ten minutes."""
    return float(os.environ.get("ORDERS_RETRY_SECONDS", "30"))
