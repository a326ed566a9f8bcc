"""Foreign formats when the Dag is parsed: what is refused, what is left for the run, what is stored."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from airflow.sdk import DAG, BaseOperator
from airflow.serialization.serialized_objects import DagSerialization

from airflow_landmark.sensors import MarkerSensor, WaitMisconfigured
from parcels import DATASET, END, START, put
from sensing import context_of, sensor_of

ABOUT = {"dataset": DATASET, "interval": "2024-05-01", "timezone": "UTC", "version": "1"}
SUMS = "sums", {**ABOUT, "algorithm": "sha256", "complete": "rename"}
PAIR = "sums", {**ABOUT, "algorithm": "sha256", "complete": "sidecar", "sidecar": "{name}.sha256"}
CONTROL = "control", {**ABOUT, "grammar": "key=value", "file": "a.csv"}


def sentinel(folder: Path) -> None:
    """A file, and an empty one that says so."""
    put(folder / "a.csv", "id\n")
    put(folder / "a.ok", "")


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"format": "sentinel"}, r'declare dataset and interval and version too.*"path": r"/dt='),
    ({"format": "sums", "declare": ABOUT}, r'declare complete too.*"complete": "rename"'),
    ({"format": "control", "declare": ABOUT}, r'declare grammar too.*"grammar": "key=value"'),
    ({"format": "redshift", "declare": ABOUT}, r'declare allow too.*"allow": "s3://bucket/out/"'),
    ({"format": "_SUCCESS"}, r"no format '_SUCCESS' \(known: bagit, "),
    ({"format": "{{ params.format }}", "declare": ABOUT}, "no format"),
    ({"format": 7}, "format must be a name"),
    ({"format": "sentinel", "declare": ["version"]}, "declare must be keys and texts"),
    ({"format": "sentinel", "declare": {**ABOUT, "version": 1}}, "version must be text"),
    ({"format": "sentinel", "declare": {**ABOUT, "version": "0"}}, "version"),
    ({"format": "sentinel", "declare": {**ABOUT, "interval": "{day}"}}, r"\{day\} is not a group of path"),
    (
        {"format": "sentinel", "declare": {**ABOUT, "path": "{{ ds }}"}},
        "regular expression without a template",
    ),
    ({"format": "sentinel", "declare": {**ABOUT, "colour": "red"}}, "'colour' is not known"),
    ({"format": "cloudevents", "declare": ABOUT}, "needs no declaration"),
    ({"declare": ABOUT}, "needs no declaration"),
    ({"uri": "/in/", "format": CONTROL[0], "declare": CONTROL[1]}, "no usual file name: name the file"),
]


@pytest.mark.parametrize(("change", "text"), REFUSED)
def test_what_could_never_be_read_is_refused_when_parsed(change: dict[str, Any], text: str) -> None:
    """What is missing or cannot be meant fails the Dag, where something is missing with an example."""
    with pytest.raises(ValueError, match=text):
        MarkerSensor(**{"task_id": "wait", "uri": "/in/a.ok", "dataset": DATASET} | change)


class Upstream(BaseOperator):
    """A task whose result is declared."""

    def execute(self, context: Any) -> Any:
        """Return a version."""


@pytest.mark.parametrize("whole", [False, True])
def test_results_of_other_tasks_are_left_for_the_run(whole: bool) -> None:
    """A value of a declaration, or all of it, may be another task's result, which then comes first."""
    with DAG("orders", schedule=None):
        upstream = Upstream(task_id="upstream")
        declare: Any = upstream.output if whole else {**ABOUT, "version": upstream.output}
        sensor = MarkerSensor(
            task_id="wait", uri="/in/a.ok", dataset=DATASET, format="sentinel", declare=declare
        )
    assert sensor.upstream_task_ids == {"upstream"}


def test_the_format_is_checked_beside_another_tasks_result() -> None:
    """A name of no format fails the Dag even where the declaration is known only when the task runs."""
    with DAG("orders", schedule=None):
        declare = Upstream(task_id="upstream").output
        with pytest.raises(ValueError, match="no format 'sentinal'"):
            MarkerSensor(task_id="wait", uri="/in/", dataset=DATASET, format="sentinal", declare=declare)


def rendered(folder: Path, **declare: str) -> MarkerSensor:
    """A sensor whose templates were rendered as Airflow does it."""
    with DAG("orders", schedule=None):
        sensor = sensor_of(
            folder, "poke", uri=f"{folder}/a.ok", format="sentinel", declare={**ABOUT, **declare}, timeout=0
        )
    sensor.render_template_fields({"params": {"version": 7, "day": "2024-05-01", "nothing": ""}})  # type: ignore[arg-type]
    return sensor


def test_templates_of_a_declaration_are_rendered(tmp_path: Path) -> None:
    """Each value may be a template, with placeholders of the declaration beside it."""
    sentinel(tmp_path)
    sensor = rendered(
        tmp_path,
        version="{{ params.version }}",
        interval="{{ params.day }}T00:00:00Z/+24h",
        path=r"/(?P<name>[a-z]{1,3})\.ok$",
        dataset=DATASET,
    )
    document = sensor.execute(context_of())
    assert document["version"] == 7
    assert document["format"]["declared"]["version"] == "7"


@pytest.mark.parametrize("version", ["{{ params.day }}", "{{ params.nothing }}"])
def test_templates_that_come_to_nothing_are_refused(version: str, tmp_path: Path) -> None:
    """What a template was rendered to is checked when the task starts, before any wait."""
    sentinel(tmp_path)
    with pytest.raises(WaitMisconfigured, match="version"):
        rendered(tmp_path, version=version).execute(context_of())


def test_a_declaration_is_serialized_and_shown() -> None:
    """The scheduler can store the Dag, and the page of a task shows what was declared."""
    with DAG("orders", schedule=None) as dag:
        MarkerSensor(
            task_id="wait", uri="/in/", dataset=DATASET, interval=(START, END), format="sums", declare=SUMS[1]
        )
        MarkerSensor.partial(
            task_id="mapped", dataset=DATASET, interval=(START, END), format="sums", uri="/in/"
        ).expand(declare=[SUMS[1], PAIR[1]])
    stored = DagSerialization.from_dict(
        json.loads(json.dumps(DagSerialization.to_dict(dag), allow_nan=False))
    )
    assert stored.get_task("wait").declare == SUMS[1]
    assert stored.get_task("mapped").is_mapped
    element = dag.get_task("mapped").unmap({"declare": PAIR[1]})
    assert (element.format, element.declare) == PAIR
