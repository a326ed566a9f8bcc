"""How fast rows are counted, next to a sha256 over the same bytes in the same run.

Run: ``python benchmarks/count_rows.py [MEGABYTES]``. Speeds are in stored bytes; for a gzip file the
inflated ones are told beside them. Best of three; bytes come in chunks of 1 MiB, as stores read them.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import sys
from collections.abc import Callable, Iterator
from functools import partial
from time import perf_counter

from airflow_landmark.deliveries._rows import NotCounted, row_counter

CHUNK_BYTES = 1024 * 1024
ROUNDS = 3


def lines(pattern: str, size_bytes: int) -> bytes:
    """Lines of a pattern with the number ``{0}`` and the changing texts ``{1}`` and ``{2}``."""
    out = io.BytesIO()
    number = 0
    while out.tell() < size_bytes:
        number += 1
        mixed = number * 2654435761 % 4294967296
        out.write(pattern.format(number, mixed, f"{mixed:08x}").encode())
    return out.getvalue()


def cases(size_bytes: int) -> Iterator[tuple[str, str, bytes]]:
    """What is measured: a label, a file name, the stored bytes."""
    plain = lines("{0},name-{2},0.{1},2024-01-01T00:00:00Z,some more text\n", size_bytes)
    yield "csv, no quotes", "a.csv", plain
    yield "csv, no quotes, CRLF", "a.csv", plain.replace(b"\n", b"\r\n")
    yield "csv, no quotes, blank lines", "a.csv", plain.replace(b"1\n", b"\n\n")
    yield "csv, one field quoted", "a.csv", lines('{0},name-{2},0.{1},"text, {2}",more\n', size_bytes)
    every = '"{0}","name-{2}","0.{1}","2024-01-01T00:00:00Z","some more text"\n'
    yield "csv, all fields quoted", "a.csv", lines(every, size_bytes)
    yield "csv, quotes in odd places", "a.csv", lines('{0},name "{2}", "0.{1}","text"\n', size_bytes)
    records = lines('{{"id": {0}, "name": "name-{2}", "value": 0.{1}, "on": "2024-01-01"}}\n', size_bytes)
    yield "JSON lines", "a.jsonl", records
    yield "JSON lines, CRLF", "a.jsonl", records.replace(b"\n", b"\r\n")
    yield "csv.gz", "a.csv.gz", gzip.compress(plain, compresslevel=6)
    yield "jsonl.gz", "a.jsonl.gz", gzip.compress(records, compresslevel=6)


def best_seconds(run: Callable[[], object]) -> float:
    """The shortest of several runs."""
    spans = []
    for _ in range(ROUNDS):
        start = perf_counter()
        run()
        spans.append(perf_counter() - start)
    return min(spans)


def hash_all(chunks: list[bytes]) -> None:
    """One pass over a file that takes its sha256."""
    digest = hashlib.sha256()
    for chunk in chunks:
        digest.update(chunk)


def count(name: str, chunks: list[bytes]) -> int:
    """The rows of a file that can be counted."""
    counter = row_counter(name)
    assert not isinstance(counter, NotCounted), counter.reason
    for chunk in chunks:
        counter.update(chunk)
    rows = counter.finish()
    assert not isinstance(rows, NotCounted), rows.reason
    return rows


def main() -> None:
    """Print the table."""
    size_bytes = int(sys.argv[1] if len(sys.argv) > 1 else 64) * 1024 * 1024
    print(f"{'':30}{'rows':>10}{'count MB/s':>12}{'sha256 MB/s':>13}{'count/sha256 time':>19}")
    for label, name, stored in cases(size_bytes):
        chunks = [stored[start : start + CHUNK_BYTES] for start in range(0, len(stored), CHUNK_BYTES)]
        rows = count(name, chunks)
        counting = best_seconds(partial(count, name, chunks))
        hashing = best_seconds(partial(hash_all, chunks))
        speed = len(stored) / counting / 1e6
        note = f"  ({size_bytes / counting / 1e6:.0f} MB/s inflated)" if name.endswith(".gz") else ""
        ratio = counting / hashing
        print(f"{label:30}{rows:>10}{speed:>12.0f}{len(stored) / hashing / 1e6:>13.0f}{ratio:>19.2f}{note}")


if __name__ == "__main__":
    main()
