"""One case in this process: ``python -m side_by_side._case CASE`` prints its figures as JSON."""

from __future__ import annotations

import asyncio
import gc
import json
import os
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from typing import Any

from ._meter import Beat, Lines, TextLines, busy_share, resident_kib
from ._places import Place, opened
from ._plan import Case
from ._waits import Waits

__all__: list[str] = []


async def _measure(case: Case, places: Sequence[Place], lines: Lines) -> dict[str, Any]:
    waits = Waits(case, places, lines)
    await waits.warm_up()
    gc.collect()
    base, cpu, beat = resident_kib(), time.process_time(), Beat()
    first_looks = await waits.start()
    start_cpu = time.process_time() - cpu
    await asyncio.sleep(case.settle)
    lag = {"start": beat.take()}
    await waits.counts(reset=True)
    told = lines.count
    busy = await busy_share(case.seconds)
    told, counts = lines.count - told, await waits.counts()
    resident, lag["steady"] = resident_kib(), beat.take()
    delays = await waits.deliver() if case.appear else {}
    await beat.aclose()
    await waits.cancel()
    return {
        "base_mib": base / 1024,
        "memory": _each(resident - base, case.waits),
        "busy_share": busy,
        "start_cpu_s": start_cpu,
        "first_looks_s": first_looks,
        "lines": told * 60 / case.seconds,
        "lag": lag,
        **_served(case, counts),
        **delays,
    }


def _served(case: Case, counts: Mapping[str, float]) -> dict[str, float | None]:
    if not counts:
        return {}
    polls = int(case.seconds / case.poll) + 1
    requests, connections = counts["requests"], counts["connections"]
    return {
        "requests": _each(requests, case.waits) * 60 / case.seconds,
        # The S3 server closes each connection after its answer: there this would say nothing.
        "connections_per_request": connections / requests if requests and case.store == "http" else None,
        "sockets": counts["sockets_peak"],
        "requests_per_poll": requests / polls / (case.places or case.waits),
        "latest_poll_s": max(0.0, counts["longest_gap"] - case.poll) if case.store != "mixed" else None,
    }


def _each(amount: float, waits: int) -> float:
    return amount / max(1, waits)


def _prepare_airflow(home: str) -> None:
    """An empty home, and no setting or credential of the surrounding process."""
    for name in [name for name in os.environ if name.startswith(("AIRFLOW_", "AWS_"))]:
        del os.environ[name]
    os.environ |= {"AIRFLOW_HOME": home, "AIRFLOW__CORE__LOAD_EXAMPLES": "False"}


def _log_into(lines: Lines) -> None:
    """Build log lines as the triggerer does."""
    from airflow.sdk.log import configure_logging, reset_logging  # noqa: PLC0415

    reset_logging()
    configure_logging(json_output=True, output=lines, sending_to_supervisor=True)


def _main() -> None:
    case = Case(**json.loads(sys.argv[1]))
    answer, lines = sys.stdout, Lines()
    with tempfile.TemporaryDirectory() as home:
        _prepare_airflow(home)
        with opened(case) as places:
            _log_into(lines)
            sys.stdout = TextLines(lines)
            figures = asyncio.run(_measure(case, places, lines))
    print(json.dumps(figures), file=answer, flush=True)  # at the end only sys.stdout is flushed


if __name__ == "__main__":
    _main()
