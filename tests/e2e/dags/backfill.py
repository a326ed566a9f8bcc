"""Daily Dags that are filled up afterwards: one sensor, one load that refuses an older version.

Each Dag has a folder and a dataset of its own below ``LANDING``; they share the destination.
"""

import os
import sqlite3
import time
from contextlib import closing
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from airflow.sdk import DAG, CronDataIntervalTimetable, task
from airflow.sdk.exceptions import AirflowFailException

from airflow_landmark.deliveries import SqlLedger
from airflow_landmark.sensors import CommitDelivery, Delivery, MarkerSensor

ZONE = "Europe/Berlin"
LANDING = Path(os.environ.get("LANDING", "/nowhere"))
LOCAL_DAY = f"{{{{ data_interval_start.in_timezone('{ZONE}').strftime('%Y-%m-%d') }}}}"
HELD_SECONDS = 600
COMMON: dict[str, Any] = {"task_id": "wait", "poke_interval": 0.5, "first_event_delay": 1}
LATEST = """
    insert into day values (:dataset, :starts, :ends, :version, :sha256, :run)
    on conflict (dataset, starts) do update
    set version = :version, sha256 = :sha256, run = :run where day.version <= :version
"""


def write(delivery: Delivery, run_id: str) -> str:
    """Replace the day in one transaction, unless a higher version is stored; say what it was to the day."""
    stamp = delivery.stamp
    values = {
        "dataset": stamp.dataset,
        "starts": stamp.interval.start.isoformat(),
        "ends": stamp.interval.end.isoformat(),
        "version": stamp.version,
        "sha256": stamp.sha256,
        "run": run_id,
    }
    with closing(sqlite3.connect(LANDING / "backfill.db", timeout=60)) as destination, destination:
        destination.execute("begin immediate")
        stored = destination.execute(
            "select version, sha256 from day where dataset = :dataset and starts = :starts", values
        ).fetchone()
        if not destination.execute(LATEST, values).rowcount:
            raise AirflowFailException(
                f"{stamp.dataset} {stamp.interval}: version {stored[0]} is stored, this run has version "
                f"{stamp.version}; nothing was written"
            )
    if stored is None:
        return "new"
    return "same" if stored == (stamp.version, stamp.sha256) else "corrected"


@task
def load(document: dict[str, Any], run_id: str | None = None) -> str:
    """Write the delivery; while a file ``held-VERSION`` lies beside the folder, wait with what was read."""
    delivery = Delivery.from_xcom(document)
    folder = Path(delivery.stamp.uri.removeprefix("file://")).parent
    held = folder.with_name(f"held-{delivery.version}")
    end = time.monotonic() + HELD_SECONDS
    while held.exists() and time.monotonic() < end:
        time.sleep(0.2)
    return write(delivery, run_id or "")


def daily(
    dag_id: str, *, last: datetime | None = None, ledger: SqlLedger | None = None, **waiting: Any
) -> None:
    """A Dag of one day a run, local days of a zone that changes its clocks.

    :param last: no scheduled run after that; None: they go on, as in production.
    """
    with DAG(
        dag_id,
        schedule=CronDataIntervalTimetable("0 0 * * *", timezone=ZONE),
        start_date=datetime(2026, 1, 1, tzinfo=ZoneInfo(ZONE)),
        end_date=last,
        max_active_runs=1,
        is_paused_upon_creation=True,
        default_args={"retries": 2},
    ):
        wait = MarkerSensor(
            uri=f"{LANDING}/{dag_id}/{LOCAL_DAY}/",
            dataset=f"shop/{dag_id}",
            ledger=ledger,
            **COMMON,
            **waiting,
        )
        loaded = load(wait.output)
        if ledger is not None:
            loaded >> CommitDelivery(task_id="commit", delivery=wait.output, ledger=ledger)


SPRING = datetime(2026, 4, 30, tzinfo=ZoneInfo(ZONE))

daily("backfill_ninety", timeout=1800)
daily("backfill_blocked", timeout=1800, last=SPRING)
daily("backfill_late", deadline=timedelta(hours=12), last=SPRING)
daily("backfill_soft", deadline=timedelta(hours=12), soft_fail=True, last=SPRING)
daily(
    "backfill_ledger",
    deadline=timedelta(hours=12),
    last=SPRING,
    ledger=SqlLedger(f"sqlite:///{LANDING}/backfill-ledger.db"),
)

with DAG("backfill_correction", schedule=None):
    load(
        MarkerSensor(
            uri="{{ dag_run.conf['uri'] }}",
            dataset="{{ dag_run.conf['dataset'] }}",
            interval="{{ dag_run.conf['interval'] }}",
            timeout=240,
            **COMMON,
        ).output
    )
