"""The benchmark of the triggers runs, and reports every figure of every case."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
WIDTH = 100
EVERYWHERE = {
    "cpu", "start_cpu_s", "memory", "memory_over_bare", "base_mib", "first_looks_s", "lines",
    "start_p50_ms", "start_p99_ms", "start_max_ms", "steady_p50_ms", "steady_p99_ms", "steady_max_ms",
}  # fmt: skip
SERVED = {"requests", "requests_per_poll", "sockets"}
STORES = {"local", "http", "s3", "mixed"}

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, dict[str, Any]]:
    """Run it once in its quick form; what it prints, and its report."""
    path = tmp_path_factory.mktemp("bench") / "figures" / "triggers.json"
    left_out = ("AIRFLOW", "PYTHONUNBUFFERED")  # with the latter nothing shows what is never flushed
    environment = {name: value for name, value in os.environ.items() if not name.startswith(left_out)}
    ended = subprocess.run(
        [sys.executable, str(ROOT / "benchmarks" / "triggers.py"), "--quick", "--json", str(path)],
        env=environment, capture_output=True, text=True, timeout=580, check=False,
    )  # fmt: skip
    assert ended.returncode == 0, ended.stdout + ended.stderr
    report: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return ended.stdout, report


def cases(report: dict[str, Any]) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Each case with its figures."""
    for comparison in report["comparisons"]:
        for side, case in comparison["cases"].items():
            yield case, comparison["figures"][side]


def test_every_case_has_every_figure(done: tuple[str, dict[str, Any]]) -> None:
    """No figure that a case must have is left out, and every store is measured on our side."""
    _, report = done
    for case, figures in cases(report):
        wanted = EVERYWHERE | (SERVED if case["store"] != "local" else set())
        assert {name for name in wanted if not isinstance(figures[name], (int, float))} == set(), case
    assert {case["store"] for case, _ in cases(report) if case["side"] == "ours"} == STORES
    assert {case["store"] for case, _ in cases(report) if case["side"] == "peer"} == STORES - {"mixed"}


def test_every_delivery_was_noticed(done: tuple[str, dict[str, Any]]) -> None:
    """Both sides do their work while they are measured: each delivery fires its event."""
    _, report = done
    delivered = [(case, figures) for case, figures in cases(report) if case["appear"]]
    assert {case["store"] for case, _ in delivered} == STORES - {"mixed"}
    assert [case for case, figures in delivered if figures["missed"] != 0] == []


def test_every_target_is_judged(done: tuple[str, dict[str, Any]]) -> None:
    """Whatever hangs on the peer or on the idle loop was measured; the floors are in the report."""
    _, report = done
    verdicts = [target["verdict"] for comparison in report["comparisons"] for target in comparison["targets"]]
    assert set(verdicts) <= {"met", "MISSED"}
    assert len(verdicts) > 15
    assert report["floors"]["bare_memory"] > 0
    assert report["floors"]["idle_share"] > 0
    assert report["machine"]["packages"]["apache-airflow-providers-amazon"]


def test_refusing_server_is_spared(done: tuple[str, dict[str, Any]]) -> None:
    """However short the run: ours asks a server that refuses once a poll at most, and logs nothing."""
    _, report = done
    (refused,) = [figures for case, figures in cases(report) if case["status"] == 403 and _ours(case)]
    assert refused["requests_per_poll"] <= 1
    assert refused["lines"] == 0


def test_table_fits_and_hides_nothing(done: tuple[str, dict[str, Any]]) -> None:
    """No line is wider than the table, and each comparison stands in it by its title."""
    printed, report = done
    table = printed.partition("ratio")[2].splitlines()[1:]
    assert [line for line in table if len(line) > WIDTH and not line.startswith("written")] == []
    assert [c["title"] for c in report["comparisons"] if c["title"] not in printed] == []
    missed = sum(t["verdict"] == "MISSED" for c in report["comparisons"] for t in c["targets"])
    assert printed.count("  MISSED: ") == missed


def _ours(case: dict[str, Any]) -> bool:
    return bool(case["side"] == "ours")
