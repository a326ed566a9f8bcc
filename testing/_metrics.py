"""The metrics that Airflow's components send, received on this machine."""

from __future__ import annotations

import threading
from collections.abc import Collection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any

__all__ = ["Metrics", "StarvingAlert"]

MAX_BYTES = 8 * 1024 * 1024
_PREFIX = "airflow."


class Metrics:
    """Receives gauges and counters by OpenTelemetry's protocol (OTLP over HTTP); use it as a block.

    Airflow 3.3 needs no package more for it, while its StatsD client is one that is not installed with it.

    :param interval_seconds: how often components send.
    """

    def __init__(self, *, interval_seconds: float = 1.0) -> None:
        self._interval = interval_seconds
        self._latest: dict[tuple[str, frozenset[tuple[str, str]]], float] = {}
        self._lock = threading.Lock()
        self._server: ThreadingHTTPServer | None = None
        self._thread: threading.Thread | None = None

    def __enter__(self) -> Metrics:
        handler = type("Handler", (_Handler,), {"metrics": self})
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self._thread = threading.Thread(target=self._server.serve_forever, args=[0.05], daemon=True)
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._server is not None and self._thread is not None:
            self._server.shutdown()
            self._thread.join()
            self._server.server_close()
            self._server = None

    @property
    def environment(self) -> dict[str, str]:
        """The variables by which Airflow's components send their metrics here.

        :raises RuntimeError: outside the block.
        """
        if self._server is None:
            raise RuntimeError("metrics are received within the block only")
        return {
            "AIRFLOW__METRICS__OTEL_ON": "True",
            "AIRFLOW__METRICS__METRICS_ALLOW_LIST": "pool,scheduler.tasks",
            "OTEL_EXPORTER_OTLP_ENDPOINT": f"http://127.0.0.1:{self._server.server_address[1]}",
            "OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf",
            "OTEL_METRIC_EXPORT_INTERVAL": str(int(self._interval * 1000)),
        }

    def latest(self, name: str, **tags: str) -> float | None:
        """Return the newest value of a metric; None: it was never sent.

        :param name: without the prefix ``airflow.``: ``"pool.starving_tasks"``.
        :param tags: those it must have, ``pool_name="backfill"`` for instance.
        """
        wanted = frozenset(tags.items())
        with self._lock:
            found = [value for (told, has), value in self._latest.items() if told == name and has >= wanted]
        return found[-1] if found else None

    def receive(self, body: bytes) -> None:
        """Take one request of the protocol."""
        from opentelemetry.proto.collector.metrics.v1 import metrics_service_pb2  # noqa: PLC0415 - with Airflow

        request = metrics_service_pb2.ExportMetricsServiceRequest.FromString(body)
        scopes = [scope for resource in request.resource_metrics for scope in resource.scope_metrics]
        with self._lock:
            for metric in [metric for scope in scopes for metric in scope.metrics]:
                self._take(metric)

    def _take(self, metric: Any) -> None:
        for point in [*metric.gauge.data_points, *metric.sum.data_points]:
            tags = frozenset((tag.key, tag.value.string_value) for tag in point.attributes)
            value = point.as_double if point.HasField("as_double") else float(point.as_int)
            key = (metric.name.removeprefix(_PREFIX), tags)
            self._latest.pop(key, None)  # the newest one lies last
            self._latest[key] = value


class StarvingAlert:
    """Tells which pools have tasks that do not fit: Airflow itself never fails them, and never says so.

    Such tasks are counted in ``pool.starving_tasks`` only while their pool has an open slot. Of a pool that
    has none the scheduler does not look at the tasks: where none runs there either, they wait for nothing.
    Deferred tasks run nowhere. In a pool that counts them, waits that hold all slots are told too.

    :param metrics: where the scheduler's metrics come in.
    :param pools: the pools that are watched.
    """

    def __init__(self, *, metrics: Metrics, pools: Collection[str]) -> None:
        self._metrics = metrics
        self._pools = tuple(pools)

    def __call__(self) -> list[str]:
        """Return one sentence for each pool in which tasks starve now."""
        return [told for pool in self._pools for told in self._told(pool)]

    def _told(self, pool: str) -> list[str]:
        starving = self._metric(pool, "starving_tasks")
        if starving > 0:
            return [f"pool {pool}: {starving:g} tasks starve: they ask for more slots than are open"]
        scheduled = self._metric(pool, "scheduled_slots")
        busy = sum(self._metric(pool, f"{word}_slots") for word in ("open", "queued", "running"))
        if scheduled > 0 >= busy:
            return [f"pool {pool}: tasks wait for {scheduled:g} slots, none is open, and nothing runs"]
        return []

    def _metric(self, pool: str, name: str) -> float:
        return self._metrics.latest(f"pool.{name}", pool_name=pool) or 0.0


class _Handler(BaseHTTPRequestHandler):
    metrics: Metrics

    def do_POST(self) -> None:
        length = int(self.headers.get("Content-Length") or 0)
        status = 413 if length > MAX_BYTES else 200
        if status == 200:
            self.metrics.receive(self.rfile.read(length))
        self.send_response(status)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass
