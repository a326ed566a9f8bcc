from __future__ import annotations

import gzip
import io
import sys
import tracemalloc
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from airflow_landmark.deliveries._rows import NotCounted, RowCounter, row_counter
from airflow_landmark.deliveries._rows_base import BLOCK_BYTES
from airflow_landmark.deliveries._rows_parquet import FOOTER_LIMIT_BYTES

pyarrow: Any = pytest.importorskip("pyarrow")
parquet: Any = pytest.importorskip("pyarrow.parquet")


def file_of(rows: int, **options: object) -> bytes:
    """A Parquet file of so many rows."""
    table = pyarrow.table({"a": list(range(rows)), "b": [f"name {row}" for row in range(rows)]})
    out = io.BytesIO()
    parquet.write_table(table, out, **options)
    return out.getvalue()


WHOLE = file_of(1000, row_group_size=300)
FOOTER_BYTES = int.from_bytes(WHOLE[-8:-4], "little")


def counter_of(**declared: Any) -> RowCounter:
    """What counts a file of this declaration."""
    counter = row_counter(declared.pop("path", "a.parquet"), **declared)
    assert isinstance(counter, RowCounter)
    return counter


def count(data: bytes, *, step: int = 1 << 20, **declared: Any) -> int | NotCounted:
    """The outcome of a file that is handed over in steps of so many bytes."""
    counter = counter_of(**declared)
    for start in range(0, len(data), step):
        counter.update(data[start : start + step])
    return counter.finish()


def reason(result: object) -> str:
    """Why a file was not counted."""
    assert isinstance(result, NotCounted)
    return result.reason


@pytest.mark.parametrize("rows", [0, 1, 1000])
@pytest.mark.parametrize("step", [1, 7, 100_000])
def test_footer_tells_the_rows(rows: int, step: int) -> None:
    """The number in the footer is the count, whatever the chunks."""
    assert count(file_of(rows), step=step) == rows


def test_row_groups_and_declarations() -> None:
    """Row groups are summed; a media type declares Parquet, and gzip may be around it."""
    assert count(WHOLE, path="part-0", media_type="application/vnd.apache.parquet") == 1000
    assert count(gzip.compress(WHOLE), path="a.parquet.gz") == 1000


def test_only_the_end_is_held() -> None:
    """A large file is read through in the memory of its longest possible footer."""
    filler = bytes(BLOCK_BYTES)
    counter = counter_of()
    tracemalloc.start()
    counter.update(b"PAR1")
    for _ in range(3 * FOOTER_LIMIT_BYTES // BLOCK_BYTES):
        counter.update(filler)
    counter.update(WHOLE)
    assert counter.finish() == 1000
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < FOOTER_LIMIT_BYTES + 8 * BLOCK_BYTES


def test_a_footer_over_several_blocks() -> None:
    """A footer longer than a block is put together again."""
    names = [f"column {number} {'x' * 50}" for number in range(3000)]
    out = io.BytesIO()
    parquet.write_table(pyarrow.table({name: [1, 2, 3] for name in names}), out)
    data = out.getvalue()
    assert int.from_bytes(data[-8:-4], "little") > 2 * BLOCK_BYTES
    assert count(data, step=99_991) == 3


@given(st.integers(0, len(WHOLE) - 1))
def test_a_cut_file_is_not_counted(length: int) -> None:
    """Wherever a file is cut, it is not counted."""
    assert isinstance(count(WHOLE[:length]), NotCounted)


@pytest.mark.parametrize(
    ("data", "part"),
    [
        (b"", "is cut"),
        (b"PAR1", "is cut"),
        (b"PAR1PAR1", "is cut"),
        (b"PAR1\0\0\0\0PAR1", "damaged"),
        (b"PAR1\xff\xff\xff\xffPAR1", "does not fit"),
        (b"a,b\n1,2\n", "does not begin with PAR1"),
        (b"PARE" + bytes(100) + b"PARE", "encrypted"),
    ],
)
def test_what_is_no_whole_parquet_file(data: bytes, part: str) -> None:
    """Other files, impossible lengths and encrypted footers are told apart."""
    assert part in reason(count(data))


def test_footer_beyond_the_limit() -> None:
    """A footer longer than what is held is not counted."""
    length = FOOTER_LIMIT_BYTES + 1
    data = b"PAR1" + bytes(length) + length.to_bytes(4, "little") + b"PAR1"
    assert "longer than" in reason(count(data))


@settings(max_examples=300)
@given(st.lists(st.tuples(st.integers(1, FOOTER_BYTES), st.integers(0, 255)), min_size=1, max_size=8))
def test_hostile_footers_never_raise(changes: list[tuple[int, int]]) -> None:
    """A footer with changed bytes gives a number of rows or a reason, and nothing else."""
    data = bytearray(WHOLE)
    for place, value in changes:
        data[-8 - place] = value
    result = count(bytes(data))
    assert isinstance(result, NotCounted) or result >= 0


def test_a_footer_that_contradicts_itself() -> None:
    """A number of rows that is not the sum of the row groups' is not believed."""
    five, six = 10, 12  # as Thrift's compact protocol writes them: zigzag
    whole = file_of(5)
    footer = range(len(whole) - 8 - int.from_bytes(whole[-8:-4], "little"), len(whole) - 8)
    places = [place for place in footer if whole[place] == five]
    results = [count(whole[:place] + bytes([six]) + whole[place + 1 :]) for place in places]
    refused = [result.reason for result in results if isinstance(result, NotCounted)]
    assert 6 not in results
    assert sum("contradicts itself" in text for text in refused) == 2


def test_pyarrow_that_cannot_be_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    """A pyarrow that is there but broken gives a reason at the end."""
    counter = counter_of()
    counter.update(WHOLE)
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    assert "cannot be imported" in reason(counter.finish())
