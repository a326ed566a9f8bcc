"""The orders pipeline for tests: deliveries of a shop, the steps in their order, points to break in."""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import date, timedelta
from pathlib import Path
from typing import Any

from sqlalchemy import event

from airflow_landmark.deliveries import Announcement, Delivery, Target, Terms, accept, announce, run
from airflow_landmark.markers import Expectation, Interval

ORDERS = Path(__file__).resolve().parents[2] / "examples" / "orders"
DAGS = ORDERS / "dags"
if str(DAGS) not in sys.path:
    sys.path.insert(0, str(DAGS))  # as Airflow does with its Dags folder

import orders_notify  # noqa: E402 - found by the line above
import orders_publish  # noqa: E402
import orders_replace  # noqa: E402
import orders_stage  # noqa: E402
import orders_validate  # noqa: E402
from orders_destination import Destination  # noqa: E402
from orders_read import notices, orders_of, published  # noqa: E402

DAY = "2026-05-01"
HEADER = "order_id,ordered_at,amount_cents\n"
GOOD = {"o1": 10, "o2": 20, "o3": 30}
CORRECTED = {"o1": 10, "o2": 25}
STEPS: dict[str, Callable[..., Any]] = {
    "stage": orders_stage.stage,
    "validate": orders_validate.validate,
    "replace": orders_replace.replace,
    "publish": orders_publish.publish,
    "notify": orders_notify.notify,
}


def interval_of(day: str) -> Interval:
    """A day in UTC."""
    after = date.fromisoformat(day) + timedelta(days=1)
    return Interval.parse(f"{day}T00:00:00Z/{after}T00:00:00Z")


def csv_of(orders: Mapping[str, int], *, day: str = DAY) -> str:
    """A file of orders, all made at noon."""
    return HEADER + "".join(f"{key},{day}T12:00:00Z,{cents}\n" for key, cents in orders.items())


def announced(folder: Path, texts: Mapping[str, str], *, version: int = 1, day: str = DAY) -> str:
    """Write files, announce them, and return the marker's address."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in texts.items():
        (folder / name).write_text(text)
    expectation = Expectation("shop/orders", interval_of(day), version)
    announcement = Announcement(expectation, count_rows=True, header_rows=1, allow_empty=True)
    return run(lambda: announce(str(folder), announcement)).stamp.uri


def delivered(folder: Path, orders: Mapping[str, int] | str, *, version: int = 1, day: str = DAY) -> Delivery:
    """Deliver orders, or a text, into a folder of the version's own, and accept that as the sensor does."""
    place = folder / day / f"v{version}"
    text = orders if isinstance(orders, str) else csv_of(orders, day=day)
    uri = announced(place, {"orders.csv": text}, version=version, day=day)
    return accepted(uri, version=version, day=day)


def accepted(uri: str, *, version: int = 1, day: str = DAY) -> Delivery:
    """The delivery there, by way of the document that tasks hand on."""
    terms = Terms(
        Target.of(uri, None), Expectation("shop/orders", interval_of(day), version), verify="digests"
    )
    return Delivery.from_xcom(json.loads(json.dumps(run(lambda: accept(terms)).delivery.to_xcom())))


def through(delivery: Delivery, destination: Destination, *, last: str = "notify") -> list[Any]:
    """Run the steps up to the last one, and return what they returned."""
    names = list(STEPS)
    wanted = names[: names.index(last) + 1]
    return [STEPS[name](delivery=delivery, destination=destination) for name in wanted]


def state_of(destination: Destination, *, day: str = DAY) -> dict[str, Any]:
    """What readers see of a day."""
    held, report = orders_of(destination, day), published(destination, day)
    return {
        "version": held.version,
        "orders": {order.order_id: order.amount_cents for order in held.orders},
        "published": None if report is None else (report.version, report.order_count, report.amount_cents),
        "notices": len(notices(destination, day)),
    }


@contextmanager
def at_points(destination: Destination, then: Callable[[int, str], None]) -> Iterator[list[str]]:
    """Call a function before each statement and each commit, with its number from 1 and its text."""
    seen: list[str] = []

    def arrive(text: str) -> None:
        seen.append(text)
        then(len(seen), text)

    def statement(_c: Any, _cursor: Any, text: str, *_rest: Any) -> None:
        arrive(text)

    def commit(_c: Any) -> None:
        arrive("COMMIT")

    engine = destination._engine
    event.listen(engine, "before_cursor_execute", statement)
    event.listen(engine, "commit", commit)
    try:
        yield seen
    finally:
        event.remove(engine, "before_cursor_execute", statement)
        event.remove(engine, "commit", commit)


def dies(name: str, url: str, document: dict[str, Any], point: int) -> bool:
    """Run a step in a process of its own that is killed at a point; False when it came to its end first.

    At its end it is killed too: after the work, before the answer.
    """
    ended = _CONTEXT.Event()
    child = _CONTEXT.Process(target=_die, args=(name, url, document, point, ended))
    child.start()
    child.join(60)
    assert child.exitcode == -signal.SIGKILL, f"{name} at point {point}: exit {child.exitcode}"
    return not ended.is_set()


def _die(name: str, url: str, document: dict[str, Any], point: int, ended: Any) -> None:
    def arrive(number: int, _text: str) -> None:
        if number == point:
            os.kill(os.getpid(), signal.SIGKILL)

    destination = Destination(url)
    with at_points(destination, arrive):
        STEPS[name](delivery=Delivery.from_xcom(document), destination=destination)
    ended.set()
    os.kill(os.getpid(), signal.SIGKILL)


# a server that has imported everything: a child costs milliseconds, and no thread of the tests is forked
_CONTEXT = multiprocessing.get_context("forkserver")
_CONTEXT.set_forkserver_preload(["ordering"])
