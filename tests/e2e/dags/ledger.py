"""Wait, load, commit: with a ledger in a file, in Airflow and in a bucket. What for comes with the conf."""

import os
import signal
from datetime import timedelta
from pathlib import Path
from typing import Any, get_args

from airflow.sdk import DAG, Asset, task

from airflow_landmark.deliveries import OnTaken, S3Ledger, SqlLedger
from airflow_landmark.sensors import (
    AssetLedger,
    CommitDelivery,
    Delivery,
    MarkerSensor,
    commit_delivery,
)

CONF = "{{ dag_run.conf['%s'] }}"
WAIT: dict[str, Any] = {
    "task_id": "wait",
    "uri": CONF % "uri",
    "dataset": "shop/orders",
    "interval": (CONF % "start", CONF % "end"),
    "poke_interval": 0.5,
    "timeout": 240,
    "first_event_delay": 1,
}
LANDING = Path(os.environ.get("LANDING", "/"))
IN_A_FILE = SqlLedger(f"sqlite:///{LANDING}/ledger.db")
ORDERS = Asset("e2e_ledger")
IN_AIRFLOW = AssetLedger(ORDERS)
IN_A_BUCKET = S3Ledger("s3://e2e-ledger/orders/", conn_id="partner_bucket")


@task
def load(document: dict[str, Any]) -> int:
    """Note that the work was done."""
    delivery = Delivery.from_xcom(document)
    with (LANDING / f"loads_{delivery.interval.start:%Y%m%d}").open("a") as notes:
        notes.write(f"{delivery.version}\n")
    return delivery.version


def chain(ledger: Any, on_taken: OnTaken = "accept", **changes: Any) -> None:
    """The tasks of a Dag."""
    wait = MarkerSensor(ledger=ledger, on_taken=on_taken, **WAIT | changes)
    load(wait.output) >> CommitDelivery(task_id="commit", delivery=wait.output, ledger=ledger)


for policy in get_args(OnTaken):
    with DAG(f"ledger_{policy}", schedule=None):
        chain(IN_A_FILE, policy)

with DAG("ledger_impatient", schedule=None):
    chain(IN_A_FILE, timeout=3)

with DAG("ledger_held", schedule=None):
    # Nobody commits here: a test holds the claim for as long as it likes.
    MarkerSensor(ledger=IN_A_FILE, retries=20, retry_delay=timedelta(seconds=1), **WAIT)

with DAG("ledger_dying", schedule=None):

    @task(retries=1, retry_delay=timedelta(seconds=0.1))
    def dies_once(document: dict[str, Any], **context: Any) -> None:
        load.function(document)
        if context["ti"].try_number == 1:
            os.kill(os.getpid(), signal.SIGKILL)

    wait = MarkerSensor(ledger=IN_A_FILE, **WAIT)
    dies_once(wait.output) >> CommitDelivery(task_id="commit", delivery=wait.output, ledger=IN_A_FILE)

with DAG("ledger_in_airflow", schedule=None):
    wait = MarkerSensor(ledger=IN_AIRFLOW, on_taken="skip", inlets=[ORDERS], **WAIT)
    load(wait.output) >> CommitDelivery(
        task_id="commit", delivery=wait.output, ledger=IN_AIRFLOW, outlets=[ORDERS]
    )

with DAG("ledger_in_a_bucket", schedule=None):

    @task
    def commit(document: dict[str, Any]) -> dict[str, Any]:
        return commit_delivery(document, ledger=IN_A_BUCKET)

    wait = MarkerSensor(ledger=IN_A_BUCKET, on_taken="skip", **WAIT)
    load(wait.output) >> commit(wait.output)
