"""Reading a marker of the largest size: CPU seconds and peak memory, beside plain ``json.loads``.

Run: ``python benchmarks/read_marker.py``.
"""

from __future__ import annotations

import hashlib
import json
import time
import tracemalloc
from collections.abc import Callable
from typing import Any

from airflow_landmark.markers import MAX_DOCUMENT_BYTES, MAX_FILES, SPEC, read_marker

RUNS = 5


def document() -> bytes:
    """A valid marker of ``MAX_FILES`` files and, but for a few bytes, ``MAX_DOCUMENT_BYTES``."""
    files = ",\n".join(_file(index) for index in range(MAX_FILES))
    head = (
        f'{{"spec": "{SPEC}", "dataset": "sales/orders", "version": 1, '
        '"interval": {"start": "2024-10-01T00:00:00Z", "end": "2024-10-02T00:00:00Z"}, "files": [\n'
    )
    data = f"{head}{files}\n]}}\n".encode()
    return data + b" " * (MAX_DOCUMENT_BYTES - len(data))


def _file(index: int) -> str:
    sha256 = hashlib.sha256(str(index).encode()).hexdigest()
    path = f"2024/10/01/orders-part-{index:05d}.csv.gz"
    counts = f'"size":{index * 7919},"rows":{index % 5000}'
    return f'{{"path":"{path}",{counts},"digests":{{"sha256":"{sha256}"}}}}'


def cpu_seconds(read: Callable[[bytes], Any], data: bytes) -> float:
    """The least CPU time of a few runs, in seconds: other load on the machine only adds."""
    times = []
    for _ in range(RUNS):
        start = time.process_time()
        read(data)
        times.append(time.process_time() - start)
    return min(times)


def peak_ratio(read: Callable[[bytes], Any], data: bytes) -> float:
    """The most memory allocated while reading, over the document's size; the document not counted."""
    tracemalloc.start()
    read(data)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return peak / len(data)


def main() -> None:
    """Print one line a reader, and the ratios."""
    data = document()
    print(f"{len(data):,} bytes, {MAX_FILES:,} files, least of {RUNS} runs")
    figures = {read: (cpu_seconds(read, data), peak_ratio(read, data)) for read in (json.loads, read_marker)}
    for read, (seconds, ratio) in figures.items():
        print(f"{read.__name__:<12} {seconds:6.3f} s CPU, peak memory {ratio:4.1f} times the document")
    (base, base_peak), (ours, our_peak) = figures[json.loads], figures[read_marker]
    print(f"{'ratio':<12} {ours / base:6.2f}         {our_peak / base_peak:16.2f}")


if __name__ == "__main__":
    main()
