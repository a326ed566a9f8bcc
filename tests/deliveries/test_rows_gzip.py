from __future__ import annotations

import gzip
import hashlib
import tracemalloc
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_landmark.deliveries import _rows_gzip
from airflow_landmark.deliveries._rows import NotCounted, RowCounter, row_counter
from airflow_landmark.deliveries._rows_gzip import FREE_BYTES, RATIO_LIMIT

LINE = b"12345678,abcdefgh\n"


def counter_of(path: str = "a.csv.gz") -> RowCounter:
    """What counts a file of this name."""
    counter = row_counter(path)
    assert isinstance(counter, RowCounter)
    return counter


def count(data: bytes, *, step: int | None = None) -> int | NotCounted:
    """The outcome of a file that is handed over in steps of so many bytes, or at once."""
    counter = counter_of()
    for start in range(0, len(data), step or len(data)):
        counter.update(data[start : start + (step or len(data))])
    return counter.finish()


def reason(result: object) -> str:
    """Why a file was not counted."""
    assert isinstance(result, NotCounted)
    return result.reason


@given(st.lists(st.binary(max_size=50).map(lambda data: data.hex().encode() + b"\n"), min_size=1))
def test_members_are_one_text(lines: list[bytes]) -> None:
    """The members of a file are joined before they are counted, whatever the chunks."""
    text = b"".join(lines)
    middle = len(text) // 2
    data = gzip.compress(text[:middle]) + gzip.compress(b"") + gzip.compress(text[middle:])
    expected = sum(1 for line in text.splitlines() if line)
    assert count(data) == count(data, step=1) == count(data, step=7) == expected


@pytest.mark.slow
@pytest.mark.parametrize("level", [0, 1, 9])
def test_large_members_over_many_blocks(level: int) -> None:
    """What inflates to many blocks is counted to the last record, at any compression."""
    noise = hashlib.shake_256(b"noise").hexdigest(60_000 * 9).encode()
    text = b"".join(b"%d,%s\n" % (number, noise[number * 18 :][:18]) for number in range(60_000))
    data = gzip.compress(text, level) + gzip.compress(LINE * 100_000, level)
    assert count(data) == count(data, step=50_021) == 160_000


@given(st.data())
def test_a_cut_file_is_not_counted(data: st.DataObject) -> None:
    """Wherever a file of one member is cut, it is not counted."""
    whole = gzip.compress(LINE * 20)
    assert isinstance(count(whole[: data.draw(st.integers(0, len(whole) - 1))] or b"\x1f"), NotCounted)


def test_an_empty_file_is_a_cut_one() -> None:
    """No byte at all is no gzip file."""
    assert "is cut" in reason(counter_of().finish())


@pytest.mark.parametrize(
    "tail", [b"\0", b"\0" * 512, b"garbage", LINE, gzip.compress(LINE)[:-1], b"\x1f\x8b"]
)
def test_what_follows_must_be_a_member(tail: bytes) -> None:
    """Bytes after the last member, zero padding too, are not counted."""
    assert isinstance(count(gzip.compress(LINE) + tail), NotCounted)


@given(st.integers(0, 10_000), st.integers(1, 255))
def test_a_damaged_byte_is_noticed_or_harmless(position: int, flip: int) -> None:
    """A changed byte is noticed by the checks of the format, unless it is in the header's free fields."""
    data = bytearray(gzip.compress(LINE * 50, mtime=0))
    position %= len(data)
    data[position] ^= flip
    result = count(bytes(data))
    is_free = position in range(4, 10)
    assert result == 50 if is_free else isinstance(result, NotCounted) or result == 50


@pytest.mark.parametrize("place", [-8, -4])
def test_crc_and_length_are_checked(place: int) -> None:
    """A member whose CRC-32 or length is wrong is not counted."""
    data = bytearray(gzip.compress(LINE))
    data[place] ^= 1
    assert "check" in reason(count(bytes(data)))


def test_zlib_without_gzip_header() -> None:
    """Deflated data under another header is not gzip."""
    assert "not gzip" in reason(count(zlib.compress(LINE)))


@pytest.mark.slow
def test_bomb_stops_at_the_ratio_in_bounded_memory() -> None:
    """A file that inflates beyond the ratio is given up early and never held."""
    packer = zlib.compressobj(9, wbits=31)
    block = b"1\n" * (1024 * 1024)
    bomb = b"".join([packer.compress(block) for _ in range(FREE_BYTES * 4 // len(block))] + [packer.flush()])
    assert RATIO_LIMIT * len(bomb) < FREE_BYTES * 4
    counter = counter_of()
    tracemalloc.start()
    counter.update(bomb)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert "ratio of 200:1" in reason(counter.outcome)
    assert peak < 64 * 1024 * 1024


def test_any_ratio_is_taken_below_the_free_size() -> None:
    """A small file may be as regular as it likes."""
    data = gzip.compress(b"1\n" * 4_000_000, 9)
    assert len(data) * RATIO_LIMIT < 8_000_000
    assert count(data) == 4_000_000


def test_absolute_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the ratio, a file inflates to a bounded size."""
    monkeypatch.setattr(_rows_gzip, "INFLATED_LIMIT_BYTES", 1000)
    assert count(gzip.compress(LINE * 50)) == 50
    assert "inflates to more than 1000 bytes" in reason(count(gzip.compress(LINE * 60)))


def test_inner_reason_is_passed_on_early() -> None:
    """What cannot be counted inside is told as soon as it is known."""
    counter = counter_of()
    counter.update(gzip.compress(hashlib.shake_256(b"noise").digest(600_000)))
    assert "NUL bytes" in reason(counter.outcome)


def test_open_quote_inside() -> None:
    """A whole gzip file of a half CSV is not counted."""
    assert "within quotes" in reason(count(gzip.compress(b'a\n"b')))


@given(st.binary(max_size=200), st.booleans())
def test_any_bytes_end_in_an_outcome(data: bytes, with_magic: bool) -> None:
    """Any bytes are counted or not, and never raise."""
    assert isinstance(count((b"\x1f\x8b\x08\x00" if with_magic else b"\x1f") + data), (int, NotCounted))
