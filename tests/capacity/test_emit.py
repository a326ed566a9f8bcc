"""Ready settings from an answer."""

from __future__ import annotations

from typing import Any

import pytest
import sqlalchemy as sa
import yaml

from airflow_landmark.capacity import (
    Answer,
    Cron,
    Deployment,
    Estimate,
    Fixed,
    Inputs,
    Partition,
    Wait,
    alert_rules,
    check,
    helm_values,
    keda_query,
    keda_values,
)
from airflow_landmark.capacity._emit import triggers_each
from metadata import Metadata

GIB = 2**30
FILE = "airflow.providers.standard.triggers.file.FileTrigger"
S3 = "airflow.providers.amazon.aws.triggers.s3.S3KeyTrigger"
NASTY = "q'; {{ .Values.secret }}"


def _inputs(*deployments: Deployment, queue: str = "", width: float = 2_500.0, kind: str = "a.B") -> Inputs:
    wait = Wait(
        name="d.w",
        kind=kind,
        arrivals=Cron("0 0 * * *"),
        duration=Fixed(1_200.0),
        width=Estimate(width),
        poll_interval=60.0,
        queue=queue,
    )
    return Inputs(waits=(wait,), deployments=deployments)


def _answer(inputs: Inputs) -> Answer:
    return check(inputs, begin=0.0, seconds=7 * 86_400.0)


def _documents(text: str) -> list[dict[str, Any]]:
    return list(yaml.safe_load_all(text))


def test_helm_values() -> None:
    """The replicas of the answer, the capacity and memory they were computed with."""
    inputs = _inputs(Deployment(name="main", replicas=2, memory_bytes=2 * GIB, cpu=0.5, spare=2))
    answer = _answer(inputs)
    (found,) = _documents(helm_values(answer, inputs))
    triggerer = found["triggerer"]
    assert triggerer["replicas"] == answer.partitions[0].worst.with_spare
    assert triggerer["args"] == ["bash", "-c", "exec airflow triggerer --capacity 1000"]
    assert triggerer["resources"]["limits"] == {"memory": "2048Mi"}
    assert triggerer["resources"]["requests"] == {"memory": "2048Mi", "cpu": "500m"}
    assert triggerer["podDisruptionBudget"]["config"]["maxUnavailable"] == 2


def test_memory_that_nobody_stated_follows_from_the_load() -> None:
    """S3 waits need far more than bare ones."""
    plain, heavy = (_inputs(Deployment(name="main", replicas=3), kind=kind) for kind in (FILE, S3))
    sizes = []
    for inputs in (plain, heavy):
        (found,) = _documents(helm_values(_answer(inputs), inputs))
        sizes.append(int(found["triggerer"]["resources"]["limits"]["memory"].removesuffix("Mi")))
    assert sizes[1] > sizes[0] >= 512
    assert sizes[1] % 256 == 0


def test_one_document_a_deployment() -> None:
    """The chart knows one triggerer; queues and team go into its command."""
    deployments = (
        Deployment(name="plain", replicas=2),
        Deployment(name="special", replicas=2, queues=("a", NASTY), team="blue"),
    )
    inputs = _inputs(*deployments)
    plain, special = _documents(helm_values(_answer(inputs), inputs))
    assert "--queues" not in plain["triggerer"]["args"][2]
    command = special["triggerer"]["args"][2]
    assert "--team-name 'blue'" in command
    assert "{{ .Values" not in command
    assert """--queues 'a,q'"'"'; """ in command


def test_what_nobody_serves_gets_triggerers_of_its_own() -> None:
    """A queue that no deployment names is not forgotten."""
    inputs = _inputs(queue="lost")
    (found,) = _documents(helm_values(_answer(inputs), inputs))
    assert "--queues 'lost'" in found["triggerer"]["args"][2]


def test_keda_values() -> None:
    """Never fewer than usual days need, up to what twice the waits need."""
    inputs = _inputs(Deployment(name="main", replicas=4))
    answer = _answer(inputs)
    (found,) = _documents(keda_values(answer, inputs))
    keda, part = found["triggerer"]["keda"], answer.partitions[0]
    assert keda["minReplicaCount"] == part.usual.with_spare == 4
    assert keda["maxReplicaCount"] == part.doubling.needed + 1 == 7
    assert "FROM trigger" in keda["query"]


def test_keda_query_counts_right(metadata: Metadata) -> None:
    """On a real metadata database: its queue and team only, with headroom and spare."""
    for count, values in ((2_500, {}), (30, {"queue": "q"}), (1, {"queue": NASTY})):
        for _ in range(min(count, 60)):
            metadata.trigger(**values)
    for partitions, triggers, expected in (
        ([Partition()], 20, 60 * 1.2 / 20 + 1),
        ([Partition("q")], 20, 2 + 1),
        ([Partition(NASTY)], 20, 1 + 1),
        ([Partition(), Partition("q")], 20, 6 + 1),
        ([Partition("none")], 20, 1),
    ):
        sql = keda_query(partitions, triggers=triggers, headroom=0.2, spare=1)
        with sa.create_engine(metadata.url, poolclass=sa.pool.NullPool).connect() as connection:
            found = connection.execute(sa.text(sql.replace(":", r"\:"))).scalar_one()
        assert float(found) == -(-expected // 1)


def test_triggers_each_by_the_limit_that_binds() -> None:
    """Capacity where it binds, memory where that does."""
    roomy = _answer(_inputs(Deployment(name="main", replicas=4), kind=S3)).partitions[0]
    tight = _answer(_inputs(Deployment(name="main", replicas=4, memory_bytes=GIB), kind=S3)).partitions[0]
    assert triggers_each(roomy) == 1_000
    assert triggers_each(tight) == pytest.approx(460, abs=10)


def test_alert_rules() -> None:
    """A file of rules, each with what Prometheus asks for."""
    inputs = _inputs(Deployment(name="main", replicas=4))
    found = yaml.safe_load(alert_rules(_answer(inputs), inputs, prefix="af"))
    (group,) = found["groups"]
    assert len(group["rules"]) == 6
    for rule in group["rules"]:
        assert set(rule) == {"alert", "expr", "for", "labels", "annotations"}
        assert rule["labels"]["severity"] in ("warning", "critical")
        assert rule["alert"].startswith("Landmark")
    expressions = {rule["alert"]: rule["expr"] for rule in group["rules"]}
    assert "af_triggerer_heartbeat[5m]" in expressions["LandmarkTriggerersMissing"]
    assert expressions["LandmarkTriggerersMissing"].endswith("< 3.5")
    assert "min(af_triggerer_capacity_left) < 100" in expressions["LandmarkTriggererNearlyFull"]
