"""Trailer rows, delimiters and sums of columns, held against a manifest."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from airflow_landmark.deliveries import Form, Report, check, verify
from airflow_landmark.markers import FileEntry, Interval, Manifest, Marker
from airflow_landmark.stores import LocalStore, parse_uri

DAY = Interval.parse("2024-10-01T00:00:00Z/2024-10-02T00:00:00Z")


async def verified(folder: Path, data: bytes, name: str = "a.csv", **declared: Any) -> Report:
    """The report on one file at the level of rows."""
    (folder / name).write_bytes(data)
    entry = FileEntry(name, len(data), **declared)
    marker = Marker("shop/orders", DAY, 1, Manifest.of((entry,)), "x" * 64)
    store = await LocalStore().start()
    try:
        return await verify(store, parse_uri(f"{folder}/"), marker, level="rows", recheck_seconds=())
    finally:
        await store.aclose()


async def test_a_sum_that_is_right(tmp_path: Path) -> None:
    """Rows and sums that are right are proven, and 5.50 is 5.5."""
    declared = {"header_rows": 1, "trailer_rows": 1, "delimiter": ";"}
    report = await verified(tmp_path, b"n\n2.5\n3\nT\n", rows=2, column_sums={"n": "5.50"}, **declared)
    assert report.ok
    assert report.rows_counted == 1


async def test_a_sum_that_is_wrong(tmp_path: Path) -> None:
    """A wrong sum is a problem of its own beside a wrong number of rows."""
    report = await verified(tmp_path, b"n\n2.5\n", header_rows=1, rows=2, column_sums={"n": "2.50001"})
    assert [(problem.kind, problem.text) for problem in report.problems] == [
        ("rows", "a.csv: expected 2 rows, found 1 rows"),
        ("sum", "a.csv: expected 2.50001 as the sum of column 'n', found 2.5"),
    ]
    assert not report.undecided


async def test_a_sum_without_a_number_of_rows(tmp_path: Path) -> None:
    """A sum is proven where no number of rows is promised."""
    assert (await verified(tmp_path, b"1\n2\n", column_sums={"1": "3"})).ok
    report = await verified(tmp_path, b"1\n2\n", column_sums={"1": "4"})
    assert [problem.kind for problem in report.problems] == ["sum"]


async def test_a_sum_that_cannot_be_told(tmp_path: Path) -> None:
    """Where a cell is no number, that is neither right nor wrong."""
    report = await verified(tmp_path, b"1\nx\n", rows=2, column_sums={"1": "4"})
    assert [(problem.expected, problem.found) for problem in report.problems] == [
        ("2 rows, sum 4 of '1'", "record 2, column '1': no plain number with . before its decimals")
    ]
    assert report.undecided


ABOUT = {"dataset": "shop/orders", "interval": "2024-10-01", "timezone": "UTC", "version": "1"}
CONTROL = {
    **ABOUT,
    "interval": "{/date}",
    "version": "{/SEQ}",
    "grammar": "key=value",
    "path": r"/(?P<stem>[^/]+)\.ctl$",
    "file": "{stem}.dat",
    "field.records": "RECCOUNT",
    "field.sum": "TOTAL",
    "sum_column": "amount",
    "field.date": "DAY",
    "date_format": "%d%m%Y",
    "header_rows": "1",
    "trailer_rows": "1",
    "data_delimiter": "|",
}
TRAILER = {
    **ABOUT,
    "trailer": r"^TRL;(?P<N>\d+);(?P<SUM>[\d,]+)$",
    "field.records": "N",
    "field.sum": "SUM",
    "sum_column": "n",
    "header_rows": "1",
    "data_delimiter": ";",
    "decimal": ",",
}
# Made before any event loop runs: formats and time zones are loaded from disk.
FORMS = {
    name: Form.of(name, declared)
    for name, declared in {"control": CONTROL, "trailer": TRAILER, "sentinel": ABOUT}.items()
}
DATA = b"id|amount\n1|1.10\n2|2.20\nEOF|2\n"


@pytest.mark.parametrize(
    ("data", "kinds"),
    [
        (DATA, []),
        (DATA.replace(b"2.20", b"2.21"), ["sum"]),
        (DATA.replace(b"2|2.20\n", b""), ["rows", "sum"]),
        (DATA.replace(b"EOF|2\n", b""), ["rows", "sum"]),
        (DATA.replace(b"1.10", b"1,10"), ["not counted"]),
        (None, ["missing"]),
    ],
)
async def test_a_control_file_from_end_to_end(tmp_path: Path, data: bytes | None, kinds: list[str]) -> None:
    """A data file is held against what its control file says of rows and sums."""
    if data is not None:
        (tmp_path / "orders.dat").write_bytes(data)
    (tmp_path / "orders.ctl").write_bytes(b"DAY=01102024\nSEQ=0007\nRECCOUNT=2\nTOTAL=3.3\n")
    found = await check(f"{tmp_path}/orders.ctl", level="rows", form=FORMS["control"])
    assert [problem.kind for problem in found.problems] == kinds
    assert found.ok is (not kinds)
    assert found.marker is not None
    assert (found.marker.version, found.marker.interval) == (7, DAY)


@pytest.mark.parametrize(
    ("data", "verdict", "kinds"),
    [
        (b"id;n\n1;1,5\nTRL;1;1,50\n", "holds", []),
        (b"id;n\n1;1,5\n2;1\nTRL;1;1,50\n", "does not hold", ["rows", "sum"]),
        (b"id;n\n1;1,5\n", "unreadable", ["incomplete"]),
    ],
)
async def test_a_trailer_from_end_to_end(tmp_path: Path, data: bytes, verdict: str, kinds: list[str]) -> None:
    """A data file is held against what its own last row says of the rows before it."""
    (tmp_path / "orders.csv").write_bytes(data)
    found = await check(f"{tmp_path}/orders.csv", level="rows", form=FORMS["trailer"])
    assert found.verdict == verdict
    assert [problem.kind for problem in found.problems] == kinds


async def test_a_sentinel_from_end_to_end(tmp_path: Path) -> None:
    """What lies beside a sentinel is a delivery; without a file it is not one yet."""
    (tmp_path / "_SUCCESS").touch()
    assert (await check(f"{tmp_path}/", form=FORMS["sentinel"])).verdict == "unreadable"
    (tmp_path / "x=1").mkdir()
    (tmp_path / "x=1" / "part-0").write_bytes(b"abc")
    found = await check(f"{tmp_path}/", form=FORMS["sentinel"], on_unexpected="fail")
    assert found.ok
    assert found.marker is not None
    assert found.marker.manifest.counts() == {"files": 1, "bytes": 3, "rows": None}
