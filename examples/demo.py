"""A wait, three wrong deliveries refused, the right one accepted: on a real Airflow, in about a minute.

Run it by ``make demo``. ``KEEP=1 make demo`` leaves the web server up until Ctrl-C.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from datetime import date, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

from airflow_landmark.testing import LocalAirflow, LocalAirflowError, Run, wait_until

HERE = Path(__file__).parent
LANDMARK = str(Path(sys.executable).with_name("landmark"))
BEGAN = time.monotonic()
DAG, SENSOR = "daily_orders", "wait_for_orders"


def main() -> int:
    """Run the demonstration; 0 when everything went as it should."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    with tempfile.TemporaryDirectory(prefix="landmark-demo-") as folder:
        landing = Path(folder) / "landing"
        landing.mkdir()
        settings = {"LANDING": str(landing), "LOOK_EVERY_SECONDS": "2"}
        say("Starting a real Airflow: API server, scheduler, Dag processor, triggerer (20 to 40 seconds).")
        with LocalAirflow(home=Path(folder) / "airflow", dags=HERE / "dags", environment=settings) as airflow:
            say(f"Airflow is up at {airflow.url}")
            show(airflow, landing)
            if os.environ.get("KEEP"):
                keep(airflow)
    say("Everything has ended, and the folder is gone.")
    return 0


def show(airflow: LocalAirflow, landing: Path) -> None:
    """The scenes, in their order."""
    yesterday = datetime.now(tz=timezone.utc).date() - timedelta(days=1)
    folder = landing / "orders" / str(yesterday)

    title(f"1. The run for {yesterday} starts. Nothing has been delivered.")
    run = scheduled_run(airflow)
    run.wait_task(task_id=SENSOR, states=["deferred"])
    state(run)
    quote(run, "the folder does not exist")

    title("2. The partner's script copies the marker of the day before: the wrong day.")
    folder.mkdir(parents=True)
    (folder / "orders.csv").write_text("id,amount\no1,10\no2,20\no3,30\n")
    marker = folder / "_delivery.json"
    landmark_deliver(folder, day=yesterday - timedelta(days=1), version=1)
    quote(run, "other interval")
    state(run)

    title("3. Somebody writes a marker by hand, and has not finished yet: half a document.")
    marker.write_text('{"spec": "landmark/1", "dataset": "shop/or')
    quote(run, "unreadable")
    state(run)

    title("4. The right delivery, by `landmark deliver`.")
    marker.unlink()
    landmark_deliver(folder, day=yesterday, version=1)
    run.wait(seconds=60)
    state(run)
    document = run.xcom(task_id=SENSOR)
    show_document(document)
    line(f"load returned {run.xcom(task_id='load')}: the same name at every attempt")

    title("5. Another day: a file is corrupted after it was announced.")
    other = yesterday - timedelta(days=2)
    folder = landing / "orders" / str(other)
    folder.mkdir(parents=True)
    (folder / "orders.csv").write_text("id,amount\no1,10\no2,20\n")
    (folder / "refunds.csv").write_text("id,amount\nr1,5\n")
    landmark_deliver(folder, day=other, version=1)
    (folder / "refunds.csv").write_text("id,amount\nr1,9\n")
    line("refunds.csv now says 9 where it said 5; its size and its marker are the same")
    start, end = interval(other)
    bad = airflow.api.start_run(dag_id=DAG, logical_date=start, interval=(start, end))
    bad.wait(states=["failed"], seconds=60)
    state(bad)
    quote(bad, "corrupt: refunds.csv")
    line(f"tries: {bad.task(task_id=SENSOR)['try_number']} (a retry could not help, so there was none)")


def scheduled_run(airflow: LocalAirflow) -> Run:
    """The run that the scheduler makes once the Dag is unpaused."""
    airflow.api.wait_dag(dag_id=DAG)
    airflow.api.pause(dag_id=DAG, paused=False)

    def newest() -> str:
        runs = airflow.api.call(method="GET", path=f"dags/{DAG}/dagRuns")["dag_runs"]
        return str(runs[0]["dag_run_id"]) if runs else ""

    return airflow.api.run(dag_id=DAG, run_id=wait_until(check=newest, what="a run", seconds=60))


def landmark_deliver(folder: Path, *, day: date, version: int) -> None:
    """Announce a folder with the command that partners use."""
    command = [
        LANDMARK, "deliver", str(folder), "--dataset", "shop/orders", "--interval", str(day),
        "--timezone", "UTC", "--version", str(version), "--rows", "auto", "--header-rows", "1",
    ]  # fmt: skip
    line("$ landmark deliver " + " ".join(command[2:]).replace(str(folder.parent.parent), "..."))
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"landmark deliver failed: {done.stderr}")


def interval(day: date) -> tuple[str, str]:
    """A day in UTC as two instants."""
    return f"{day}T00:00:00Z", f"{day + timedelta(days=1)}T00:00:00Z"


def quote(run: Run, text: str) -> None:
    """Show the first line of the task's log with that text, once it is there."""

    def find() -> str:
        return next((entry for entry in run.log(task_id=SENSOR).splitlines() if text in entry), "")

    found = wait_until(check=find, what=f"{text!r} in the log of {SENSOR}", seconds=60, every=0.5)
    shown = found.replace(str(run_folder(found)), "")
    line(f"log: {shown.strip()[:300]}")


def run_folder(entry: str) -> str:
    """The temporary folder's part of a path in a log line: it would only hide the rest."""
    start = entry.find("/tmp/landmark-demo-")  # noqa: S108 - found in a text, not used
    return entry[start : entry.find("/landing", start)] if start >= 0 else "\0"


def show_document(document: dict[str, Any]) -> None:
    """The part of a delivery document that a person reads."""
    line(f"XCom: version {document['version']}, interval {json.dumps(document['interval'])}")
    for file in document["files"]:
        digest = file["digests"]["sha256"][:16]
        line(f"      {file['path']}: {file['size']} bytes, {file['rows']} rows, sha256 {digest}...")


def state(run: Run) -> None:
    """Show the states of the run's tasks."""
    tasks = {task["task_id"]: task["state"] or "waiting" for task in run.tasks()}
    held = " (no worker is held)" if tasks[SENSOR] == "deferred" else ""
    line("tasks: " + ", ".join(f"{name}: {state}" for name, state in tasks.items()) + held)


def keep(airflow: LocalAirflow) -> None:
    """Stay until Ctrl-C."""
    title(f"Open {airflow.url} in a browser; no login is needed. Ctrl-C ends everything.")
    try:
        signal.pause()
    except KeyboardInterrupt:
        print()


def title(text: str) -> None:
    """A scene begins."""
    print(f"\n{text}", flush=True)


def line(text: str) -> None:
    """Something that happened."""
    print(f"   {text}", flush=True)


def say(text: str) -> None:
    """Something about the demonstration itself, with the seconds since its start."""
    print(f"[{time.monotonic() - BEGAN:3.0f} s] {text}", flush=True)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit("interrupted: everything has ended")
    except LocalAirflowError as error:
        sys.exit(f"the demonstration failed: {error}")
