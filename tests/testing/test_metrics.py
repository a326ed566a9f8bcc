"""The receiver of Airflow's metrics, sent to by the client that Airflow itself uses."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from urllib.error import HTTPError
from urllib.request import ProxyHandler, Request, build_opener

import pytest
from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.sdk.metrics import Meter, MeterProvider
from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader

from airflow_landmark.testing import Metrics, StarvingAlert
from airflow_landmark.testing import _metrics as module


@pytest.fixture
def metrics() -> Iterator[Metrics]:
    """Return a receiver."""
    with Metrics() as running:
        yield running


@contextmanager
def meter(metrics: Metrics) -> Iterator[Meter]:
    """Send to the receiver what is measured in the block, at its end."""
    endpoint = metrics.environment["OTEL_EXPORTER_OTLP_ENDPOINT"]
    exporter = OTLPMetricExporter(endpoint=f"{endpoint}/v1/metrics")
    provider = MeterProvider(metric_readers=[PeriodicExportingMetricReader(exporter, 3_600_000)])
    yield provider.get_meter("test")
    provider.shutdown()


def test_latest_value_by_name_and_tags(metrics: Metrics) -> None:
    """The newest value of a metric is told by its name and some of its tags; None when there is none."""
    for value in (3, 5):
        with meter(metrics) as measured:
            gauge = measured.create_gauge("airflow.pool.starving_tasks")
            gauge.set(value, {"pool_name": "small", "team_name": "a"})
            gauge.set(0.5, {"pool_name": "large"})
            measured.create_counter("airflow.scheduler.heartbeat").add(2)
    assert metrics.latest("pool.starving_tasks", pool_name="small") == 5
    assert metrics.latest("pool.starving_tasks", pool_name="large") == 0.5
    assert metrics.latest("scheduler.heartbeat") == 2
    assert metrics.latest("pool.starving_tasks", pool_name="none") is None


def test_alert_names_pools_that_starve(metrics: Metrics) -> None:
    """The alert tells the watched pools with starving tasks, until they have none."""
    alert = StarvingAlert(metrics=metrics, pools=["small", "large"])
    assert alert() == []
    told = "pool small: 2 tasks starve: they ask for more slots than are open"
    for count, expected in ((2, [told]), (0, [])):
        with meter(metrics) as measured:
            gauge = measured.create_gauge("airflow.pool.starving_tasks")
            gauge.set(count, {"pool_name": "small"})
            gauge.set(7, {"pool_name": "not watched"})
        assert alert() == expected


@pytest.mark.parametrize(
    ("slots", "alerted"),
    [
        ({"scheduled": 3, "open": 0}, True),
        ({"scheduled": 3, "open": 0, "deferred": 2}, True),
        ({"scheduled": 3, "open": 1}, False),
        ({"scheduled": 3, "open": 0, "running": 8}, False),
        ({"scheduled": 3, "open": 0, "queued": 1}, False),
        ({"scheduled": 0, "open": 0}, False),
    ],
)
def test_alert_sees_a_pool_without_slots(metrics: Metrics, slots: dict[str, int], alerted: bool) -> None:
    """Tasks of a pool in which no slot is open and nothing runs starve too; the scheduler counts none."""
    with meter(metrics) as measured:
        for name, count in slots.items():
            measured.create_gauge(f"airflow.pool.{name}_slots").set(count, {"pool_name": "small"})
    found = StarvingAlert(metrics=metrics, pools=["small"])()
    assert found == (
        ["pool small: tasks wait for 3 slots, none is open, and nothing runs"] if alerted else []
    )


def test_environment_is_of_the_block() -> None:
    """Outside its block nothing is received, and no address is told."""
    with pytest.raises(RuntimeError, match="within the block only"):
        _ = Metrics().environment


def test_large_requests_are_refused(metrics: Metrics, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is larger than any real request is refused unread."""
    monkeypatch.setattr(module, "MAX_BYTES", 10)
    request = Request(f"{metrics.environment['OTEL_EXPORTER_OTLP_ENDPOINT']}/v1/metrics", data=b"x" * 11)  # noqa: S310
    with pytest.raises(HTTPError) as caught:
        build_opener(ProxyHandler({})).open(request)
    caught.value.close()
    assert caught.value.code == 413
