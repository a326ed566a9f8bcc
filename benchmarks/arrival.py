"""How long after the rename the task succeeds, on a real Airflow, beside Airflow's own FileSensor.

Both wait in the triggerer with the same poll interval, one after the other in the same installation.
Ours reads the marker again on the worker and hashes the file; the peer goes on with the name alone.

Run: ``python benchmarks/arrival.py [--runs 5] [--poll 5]``
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from datetime import datetime, timezone
from importlib.metadata import version
from pathlib import Path

from airflow_landmark.deliveries import Announcement, announce, run
from airflow_landmark.markers import Expectation, Interval
from airflow_landmark.testing import LocalAirflow

SPAN = "2026-05-01T00:00:00Z/2026-05-02T00:00:00Z"
DAGS = f"""
from airflow.providers.standard.sensors.filesystem import FileSensor
from airflow.sdk import DAG
from airflow_landmark.sensors import MarkerSensor

with DAG("ours", schedule=None):
    MarkerSensor(
        task_id="wait",
        uri="{{{{ dag_run.conf['uri'] }}}}",
        dataset="d",
        interval="{SPAN}",
        poke_interval=POLL,
    )
with DAG("peer", schedule=None):
    FileSensor(
        task_id="wait", filepath="{{{{ dag_run.conf['uri'] }}}}", deferrable=True, poke_interval=POLL
    )
"""


def seconds_to_success(
    airflow: LocalAirflow, *, dag_id: str, folder: Path, poll: float, number: int
) -> float:
    """Seconds from the rename of the marker to the end of the task."""
    folder.mkdir(parents=True)
    started = airflow.api.start_run(dag_id=dag_id, conf={"uri": str(folder / "_delivery.json")})
    started.wait_task(task_id="wait", states=["deferred"])
    time.sleep(8 + poll * (number + 0.5) / 5)  # after the first moments, at another phase each time
    (folder / "data.csv").write_text("id\n1\n")
    expectation = Expectation("d", Interval.parse(SPAN), 1)
    run(lambda: announce(str(folder), Announcement(expectation)))
    renamed = datetime.now(tz=timezone.utc)
    started.wait()
    ended = datetime.fromisoformat(started.task(task_id="wait")["end_date"].replace("Z", "+00:00"))
    return (ended - renamed).total_seconds()


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--poll", type=float, default=5.0)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        place = Path(temporary)
        (place / "dags").mkdir()
        (place / "dags" / "both.py").write_text(DAGS.replace("POLL", str(options.poll)))
        settings = {"AIRFLOW_CONN_FS_DEFAULT": "fs://"}
        found: dict[str, list[float]] = {"ours": [], "peer": []}
        with LocalAirflow(home=place / "home", dags=place / "dags", environment=settings) as airflow:
            for number in range(options.runs):
                for dag_id, times in found.items():
                    folder = place / "landing" / f"{dag_id}{number}"
                    times.append(
                        seconds_to_success(
                            airflow, dag_id=dag_id, folder=folder, poll=options.poll, number=number
                        )
                    )
    peer = f"FileSensor, apache-airflow-providers-standard {version('apache-airflow-providers-standard')}"
    print(f"rename to success, poll {options.poll:g} s, {options.runs} runs each")
    for name, dag_id in (("MarkerSensor", "ours"), (peer, "peer")):
        times = sorted(found[dag_id])
        print(f"  {name}: median {statistics.median(times):.1f} s, {times[0]:.1f} to {times[-1]:.1f} s")
    print(f"  ratio of medians {statistics.median(found['ours']) / statistics.median(found['peer']):.2f}")


if __name__ == "__main__":
    main()
