"""A shop's daily orders: nothing lost, nothing twice, whatever is repeated.

Each task's work is a function of a module beside this file, without Airflow: the order of the tasks and
what is done when one of them fails is all that stands here. `docs/orders.md` explains each step.
"""

from datetime import datetime, timedelta
from typing import Any

import orders_clean_up
import orders_notify
import orders_publish
import orders_replace
import orders_settings
import orders_stage
import orders_validate
from airflow.sdk import DAG, Asset, CronDataIntervalTimetable, task
from orders_destination import Destination
from orders_retry import OrdersRetryPolicy

from airflow_landmark.deliveries import open_ledger
from airflow_landmark.sensors import CommitDelivery, Delivery, MarkerSensor

LEDGER = open_ledger(orders_settings.ledger())
DAY = f"{{{{ data_interval_start.in_timezone('{orders_settings.TIMEZONE}') | ds }}}}"


def inputs(document: Any) -> dict[str, Any]:
    """What every step works with: the delivery that the sensor accepted, and the destination."""
    return {"delivery": Delivery.from_xcom(document), "destination": Destination.from_settings()}


with DAG(
    "orders",
    # A plain cron string would give each run a data interval without a length, and nothing to wait for.
    schedule=CronDataIntervalTimetable("0 0 * * *", timezone=orders_settings.TIMEZONE),
    start_date=datetime(2026, 1, 1),
    catchup=False,
    # Two runs of one day never harm each other; this bounds how many days wait at once.
    max_active_runs=16,
    default_args={"retries": 3, "retry_policy": OrdersRetryPolicy(first=orders_settings.retry_first())},
    doc_md=__doc__,
):
    wait_for_orders = MarkerSensor(
        task_id="wait_for_orders",
        uri=f"{orders_settings.landing()}/{DAY}/_delivery.json",
        conn_id=orders_settings.connection(),
        dataset=orders_settings.DATASET,
        verify="rows",
        poke_interval=orders_settings.look_every(),
        deadline=timedelta(hours=36),
        ledger=LEDGER,
        outlets=[Asset("shop_orders")],
    )

    @task
    def stage(document: Any) -> int:
        """The verified files go into a staging table of this operation's own."""
        return orders_stage.stage(**inputs(document))

    @task
    def validate(document: Any) -> int:
        """Counts, keys and dates, before anybody can see the day."""
        return orders_validate.validate(**inputs(document))

    @task
    def replace(document: Any) -> str:
        """The day's partition, in one transaction, unless a newer version is there."""
        return orders_replace.replace(**inputs(document))

    @task
    def publish(document: Any) -> str:
        """The pointer to the day's report, by compare-and-swap."""
        return orders_publish.publish(**inputs(document))

    @task
    def notify(document: Any) -> str:
        """One notice, in a task of its own: a failed mail must not repeat the load."""
        return orders_notify.notify(**inputs(document))

    @task
    def clean_up() -> list[str]:
        """Staging tables that nothing needs any more, of failed runs too."""
        return orders_clean_up.clean_up(destination=Destination.from_settings())

    document = wait_for_orders.output
    commit = CommitDelivery(task_id="commit", delivery=document, ledger=LEDGER)
    steps = [stage(document), validate(document), replace(document), publish(document), notify(document)]
    for before, after in zip(steps, [*steps[1:], commit], strict=True):
        before >> after
    # A teardown runs however the run went, and does not decide what the run's state is.
    commit >> clean_up().as_teardown()
