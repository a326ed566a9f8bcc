"""What a wait costs while nothing comes, next to Airflow's own file trigger in the same run.

Run: ``python benchmarks/waits.py [--quick]``. For so many waits in one folder and in a folder each: memory
(Python's own allocations, and resident), how late a task comes that wants to run every 10 ms, and CPU per
wait and minute. Each case has a process of its own. Machines differ: the ratios are what to look at.

The peer is ``FileTrigger`` of ``apache-airflow-providers-standard``. It looks for a file by glob; our waits
are the ones that ``MarkerSensor`` defers to, which read, judge and share their looks.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import math
import resource
import subprocess
import sys
import tempfile
import time
import tracemalloc
from collections.abc import Awaitable, Callable
from contextlib import suppress
from datetime import datetime, timedelta, timezone
from importlib.metadata import version
from pathlib import Path
from typing import Any

POLL_SECONDS = 5.0
BEAT_SECONDS = 0.01
SETTLE_SECONDS = 3.0
COUNTS = (100, 1000, 5000)
LEAST = 0.05
PEER = "apache-airflow-providers-standard"


def main() -> None:
    """Run all cases and print them side by side."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="fewer waits for a shorter time")
    parser.add_argument("--case", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.case:
        print(json.dumps(measure(**json.loads(options.case))))
        return
    counts, seconds = ((100, 1000), 6.0) if options.quick else (COUNTS, 20.0)
    print(f"poll every {POLL_SECONDS:g} s, {seconds:g} s each; peer: {PEER} {version(PEER)} FileTrigger")
    heads = {"KiB/wait": 10, "RSS KiB": 10, "late p50": 10, "p99": 8, "max ms": 8, "CPU ms/wait-min": 17}
    print(" " * 28 + "".join(f"{head:>{width}}" for head, width in heads.items()), flush=True)
    for folders in (1, None):
        for count in counts:
            place = "one folder" if folders else "a folder each"
            ours, peer = (run_case(kind, count, folders or count, seconds) for kind in ("ours", "peer"))
            for name, case in ((f"{count} waits, {place}", ours), ("  FileTrigger", peer)):
                print(f"{name:28}{columns(case)}")
            print(f"{'  ours / FileTrigger':28}{columns(ratios(ours, peer), digits=2)}", flush=True)


def columns(case: dict[str, float], *, digits: int = 1) -> str:
    """The figures of one case in a line."""
    widths = {"traced": 10, "resident": 10, "p50": 10, "p99": 8, "max": 8, "cpu": 17}
    texts = {key: "-" if math.isnan(figure) else f"{figure:.{digits}f}" for key, figure in case.items()}
    return "".join(f"{texts[key]:>{width}}" for key, width in widths.items())


def ratios(ours: dict[str, float], peer: dict[str, float]) -> dict[str, float]:
    """Each figure of ours by the peer's, where that is more than noise."""
    return {key: ours[key] / peer[key] if peer[key] >= LEAST else math.nan for key in ours}


def run_case(kind: str, count: int, folders: int, seconds: float) -> dict[str, float]:
    """One case in fresh processes: one for time and resident memory, one for traced memory."""
    case = {"kind": kind, "count": count, "folders": folders, "seconds": seconds}
    timed = _in_process({**case, "traced": False})
    return {**timed, "traced": _in_process({**case, "traced": True})["traced"]}


def _in_process(case: dict[str, Any]) -> dict[str, float]:
    command = [sys.executable, __file__, "--case", json.dumps(case)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)  # noqa: S603 - itself
    figures: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return figures


def measure(*, kind: str, count: int, folders: int, seconds: float, traced: bool) -> dict[str, float]:
    """The figures of one case."""
    with tempfile.TemporaryDirectory() as root:
        for number in range(folders):
            (Path(root) / str(number)).mkdir()
        paths = [f"{root}/{number % folders}/{number}.json" for number in range(count)]
        start = our_waits() if kind == "ours" else peer_triggers()
        return asyncio.run(_measure(start, paths, seconds=seconds, traced=traced))


def our_waits() -> Callable[[str], Awaitable[object]]:
    """What starts one wait of ours."""
    # Imported here, so that a case of the peer's does not hold our modules, nor the other way round.
    from airflow_landmark.deliveries import Target, Terms, wait  # noqa: PLC0415
    from airflow_landmark.markers import Expectation, Interval  # noqa: PLC0415

    day = datetime(2024, 10, 1, tzinfo=timezone.utc)
    expectation = Expectation("sales/orders", Interval(day, day + timedelta(days=1)))
    far = datetime(2100, 1, 1, tzinfo=timezone.utc)

    def start(path: str) -> Awaitable[object]:
        return wait(Terms(Target.of(path), expectation, poll_interval=POLL_SECONDS, deadline=far))

    return start


def peer_triggers() -> Callable[[str], Awaitable[object]]:
    """What starts one of Airflow's own."""
    from airflow.providers.standard.triggers.file import FileTrigger  # noqa: PLC0415

    async def start(path: str) -> object:
        return await anext(FileTrigger(filepath=path, poke_interval=POLL_SECONDS).run())

    return start


async def _measure(
    start: Callable[[str], Awaitable[object]], paths: list[str], *, seconds: float, traced: bool
) -> dict[str, float]:
    await _one_beforehand(start, paths[0] + ".none")  # what is imported and built once
    gc.collect()
    if traced:
        tracemalloc.start()
    late: list[float] = []
    beat = asyncio.ensure_future(_beat(late))
    idle = await _busy_share(2.0)
    resident = _resident_bytes()
    tasks = []
    for number, path in enumerate(paths):
        tasks.append(asyncio.ensure_future(start(path)))
        if number % 50 == 0:
            await asyncio.sleep(0)  # a triggerer does not start them all in one step either
    await asyncio.sleep(SETTLE_SECONDS)
    late.clear()
    busy = await _busy_share(1.0 if traced else seconds)
    gc.collect()
    grown = tracemalloc.get_traced_memory()[0] if traced else 0
    figures = {
        "traced": grown / len(paths) / 1024,
        "resident": (_resident_bytes() - resident) / len(paths) / 1024,
        "cpu": max(0.0, busy - idle) / len(paths) * 60 * 1000,
        **_quantiles(late),
    }
    for task in (*tasks, beat):
        task.cancel()
    await asyncio.gather(*tasks, beat, return_exceptions=True)
    return figures


async def _one_beforehand(start: Callable[[str], Awaitable[object]], path: str) -> None:
    task = asyncio.ensure_future(start(path))
    await asyncio.sleep(0.5)
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task


async def _busy_share(seconds: float) -> float:
    """CPU seconds per second, over so many seconds."""
    cpu, began = time.process_time(), time.monotonic()
    await asyncio.sleep(seconds)
    return (time.process_time() - cpu) / (time.monotonic() - began)


async def _beat(late: list[float]) -> None:
    while True:
        before = time.monotonic()
        await asyncio.sleep(BEAT_SECONDS)
        late.append((time.monotonic() - before - BEAT_SECONDS) * 1000)


def _quantiles(late: list[float]) -> dict[str, float]:
    late.sort()
    return {"p50": late[len(late) // 2], "p99": late[len(late) * 99 // 100], "max": late[-1]}


def _resident_bytes() -> int:
    return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * resource.getpagesize()


if __name__ == "__main__":
    main()
