"""Where the resumed tasks write: one row for each day, guarded by version, and a record of all attempts."""

import os
import sqlite3
from contextlib import closing

from airflow_landmark.sensors import Delivery

CODE = "1"
BUSY_SECONDS = 60


def write(delivery: Delivery, *, wait: str, attempt: str) -> None:
    """Write a delivery's amount as the amount of its day, if its version is above the stored one.

    :param wait: the day that the task waits for, whatever the delivery says.
    :param attempt: which attempt of which task this is.
    """
    with delivery.open("orders.csv") as stream:
        amount = sum(int(line) for line in stream.read().split()[1:])
    day, version = str(delivery.interval.start.date()), delivery.version
    operation = delivery.operation_id(CODE)
    told = (wait, day, version, operation, amount, attempt)
    path = os.environ["FAULTS_DESTINATION"]
    with closing(sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None)) as base:
        # outside the transaction: an attempt that dies in it must be seen
        base.execute("INSERT INTO attempt VALUES (?, ?, ?, ?, ?, ?, julianday('now'))", told)
        base.execute("BEGIN IMMEDIATE")
        held = base.execute("SELECT version FROM day WHERE day = ?", (day,)).fetchone()
        if held is None or held[0] < version:
            base.execute("INSERT OR REPLACE INTO day VALUES (?, ?, ?)", (day, version, amount))
            base.execute("INSERT INTO effect VALUES (?, ?, ?, ?, ?, ?, julianday('now'))", told)
        base.execute("COMMIT")
