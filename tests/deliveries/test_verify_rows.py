"""Verifying rows: counted from the bytes that are read for the digest."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from airflow_landmark.deliveries import Report, verify
from airflow_landmark.markers import read_marker
from airflow_landmark.stores import LocalStore, parse_uri

Make = Callable[..., Any]
CSV = b'id,name\n1,"a\nb"\n2,c\n'


@pytest.fixture
def check(tmp_path: Path, make_marker: Make, entry: Make) -> Callable[..., Any]:
    """Return a function that verifies one file at the level of rows."""

    async def run(name: str, data: bytes, **declared: Any) -> Report:
        (tmp_path / name).write_bytes(data)
        marker = read_marker(make_marker(entries=[entry(name, data, **declared)]))
        store = await LocalStore().start()
        try:
            return await verify(store, parse_uri(f"{tmp_path}/"), marker, level="rows", recheck_seconds=())
        finally:
            await store.aclose()

    return run


@pytest.mark.parametrize(
    ("name", "data", "declared"),
    [
        ("a.csv", CSV, {"rows": 2, "header_rows": 1}),
        ("a.csv", CSV, {"rows": 3}),
        ("a.csv.gz", gzip.compress(CSV), {"rows": 2, "header_rows": 1}),
        ("data", CSV, {"rows": 2, "header_rows": 1, "media_type": "text/csv"}),
        ("a.jsonl", b"{}\n{}\n", {"rows": 2}),
        ("empty.csv", b"", {"rows": 0}),
    ],
)
async def test_rows_that_are_right(check: Make, name: str, data: bytes, declared: dict[str, Any]) -> None:
    """A file with the promised number of data records is proven in digest and rows."""
    report = await check(name, data, **declared)
    assert report.ok
    assert (report.rows_counted, report.digests) == (1, {"sha256": 1})


async def test_rows_that_are_wrong(check: Make) -> None:
    """Another number of data records is a problem that names both."""
    report = await check("a.csv", CSV, rows=5, header_rows=1)
    assert [problem.text for problem in report.problems] == ["a.csv: expected 5 rows, found 2 rows"]
    assert report.problems[0].kind == "rows"
    assert not report.undecided


@pytest.mark.parametrize(
    ("name", "declared"),
    [("a.bin", {}), ("a.csv", {"content_encoding": "br"}), ("a.jsonl", {"header_rows": 1})],
)
async def test_rows_that_cannot_be_counted(check: Make, name: str, declared: dict[str, Any]) -> None:
    """Where rows cannot be counted that is neither right nor wrong."""
    report = await check(name, b"x\n", rows=1, **declared)
    assert [problem.kind for problem in report.problems] == ["not counted"]
    assert report.undecided


async def test_rows_that_are_not_promised(check: Make) -> None:
    """A file without a promised number of rows has none to be counted."""
    report = await check("a.bin", b"x\n")
    assert report.ok
    assert report.rows_counted == 0


async def test_a_corrupt_file_has_no_rows(
    check: Make, tmp_path: Path, entry: Make, make_marker: Make
) -> None:
    """Of a file with other bytes only that is reported."""
    report = await check("a.csv", CSV, rows=5, digests={"sha256": "0" * 64})
    assert [problem.kind for problem in report.problems] == ["corrupt"]
