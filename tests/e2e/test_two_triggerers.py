"""Two triggerers on PostgreSQL: one is lost, and hostile values meet a database that refuses them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from airflow_landmark.testing import LocalAirflow, LocalPostgres, Run, wait_until
from drops import DAY, deliver, drop, hostile_documents, instants

HERE = Path(__file__).parent


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalAirflow]:
    """Return an Airflow on PostgreSQL with two triggerers."""
    home = tmp_path_factory.mktemp("pair")
    with (
        LocalPostgres() as postgres,
        LocalAirflow(
            home=home,
            dags=HERE / "dags",
            database=postgres.url,
            triggerers=2,
            # Small claims, so that each of the two gets a share of the waits.
            environment={"AIRFLOW__TRIGGERER__MAX_TRIGGER_TO_SELECT_PER_LOOP": "3"},
        ) as running,
    ):
        yield running


def start(airflow: LocalAirflow, folders: list[Path]) -> Run:
    """Start one mapped wait for each folder, and wait until all of them are deferred and owned."""
    begin, end = instants(DAY)
    uris = [f"{folder}/_delivery.json" for folder in folders]
    run = airflow.api.start_run(dag_id="wait_mapped", conf={"uris": uris, "start": begin, "end": end})
    wait_until(
        check=lambda: states(airflow, run).get("deferred", 0) == len(folders), what="the waits", seconds=90
    )
    wait_until(check=lambda: None not in airflow.database.trigger_owners(), what="their owners", seconds=60)
    return run


def states(airflow: LocalAirflow, run: Run) -> dict[str, int]:
    """How many task instances of the run are in which state."""
    return airflow.database.task_states(dag_id=run.dag_id, run_id=run.run_id)


def test_lost_triggerer_hands_its_waits_over(pair: LocalAirflow, landing: Path) -> None:
    """When one of two triggerers is killed the other takes its waits, and each is resumed once."""
    folders = [landing / "pair" / str(number) for number in range(40)]
    run = start(pair, folders)
    pair.kill(name="triggerer-1")
    for number, folder in enumerate(folders):
        deliver(folder, version=number + 1)
    run.wait(seconds=120)
    assert states(pair, run) == {"success": 41}
    for index in (0, 20, 39):
        assert run.xcom(task_id="wait", map_index=index)["version"] == index + 1
        assert run.log(task_id="wait", map_index=index).count("Accepted ") == 1
    pair.start_triggerer(name="triggerer-1")


def test_hostile_markers_end_no_triggerer(pair: LocalAirflow, landing: Path) -> None:
    """What PostgreSQL cannot store never gets there: tasks fail, triggerers live, neighbours go on."""
    documents = hostile_documents()
    folders = [landing / "pair-hostile" / str(number) for number in range(len(documents) + 1)]
    run = start(pair, folders)
    for folder, document in zip(folders, documents, strict=False):
        drop(folder, document)
    wait_until(
        check=lambda: states(pair, run).get("failed", 0) == len(documents), what="the refusals", seconds=120
    )
    deliver(folders[-1])
    run.wait(states=["failed"], seconds=60)
    assert states(pair, run) == {"success": 2, "failed": len(documents)}
    assert {"triggerer-1", "triggerer-2"} <= set(pair.components)
    assert all(pair.process_tree(name=name) for name in pair.components)
