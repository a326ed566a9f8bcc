"""The interval and its instants."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from airflow_landmark.markers import Interval, InvalidInterval, format_instant, parse_instant

UTC = timezone.utc
DAY = "2024-05-01T00:00:00Z/2024-05-02T00:00:00Z"

offsets = st.integers(-23 * 60 - 59, 23 * 60 + 59).map(lambda minutes: timezone(timedelta(minutes=minutes)))
instants = st.datetimes(datetime(2, 1, 1), datetime(9998, 12, 31), timezones=offsets)  # noqa: DTZ001


@pytest.mark.parametrize(
    "text",
    [
        "2024-05-01T00:00:00Z",
        "2024-05-01T00:00:00+00:00",
        "2024-05-01T00:00:00-00:00",
        "2024-05-01T00:00:00.000Z",
        "2024-05-01T00:00:00.000000000Z",
        "2024-05-01T02:00:00+02:00",
        "2024-04-30T18:30:00-05:30",
    ],
)
def test_spellings(text: str) -> None:
    """Spellings of one instant are equal."""
    assert parse_instant(text) == datetime(2024, 5, 1, tzinfo=UTC)
    assert parse_instant(text).tzinfo is UTC


@pytest.mark.parametrize("text", ["2024-05-01T00:00:00", "2024-05-01T00:00:00.5"])
def test_offset_required(text: str) -> None:
    """An instant without an offset is refused, and the text says so."""
    with pytest.raises(InvalidInterval, match="has no offset"):
        parse_instant(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "2024-05-01",
        "20240501T000000Z",
        "2024-W18-3T00:00:00Z",
        "2024-05-01 00:00:00Z",
        "2024-05-01t00:00:00z",
        "2024-05-01T00:00Z",
        "2024-05-01T00:00:00+02",
        "2024-05-01T00:00:00+0200",
        "2024-05-01T00:00:00 +02:00",
        "2024-05-01T00:00:00Z\n",
        " 2024-05-01T00:00:00Z",
        "2024-05-01T00:00:00,5Z",
        "2024-05-01T00:00:00.Z",
        "٢٠٢٤-05-01T00:00:00Z",
        "1714521600",
        "P1D",
        "2024-05-01T00:00:00Z" + "0" * 10_000_000,
    ],
)
def test_only_rfc_3339(text: str) -> None:
    """Dates, epochs, durations, basic forms and local digits are refused, in a short text."""
    with pytest.raises(InvalidInterval) as caught:
        parse_instant(text)
    assert len(str(caught.value)) < 300
    assert str(caught.value).isprintable()


@pytest.mark.parametrize(
    "text",
    [
        "2024-02-30T00:00:00Z",
        "2023-02-29T00:00:00Z",
        "2024-13-01T00:00:00Z",
        "2024-05-01T24:00:00Z",
        "2024-05-01T23:59:60Z",
        "2024-05-01T00:00:00+24:00",
        "2024-05-01T00:00:00+23:60",
        "0000-01-01T00:00:00Z",
        "0001-01-01T00:00:00+01:00",
        "9999-12-31T23:59:59-01:00",
    ],
)
def test_impossible_instants(text: str) -> None:
    """Days, hours, leap seconds, offsets and years that no datetime has are refused."""
    with pytest.raises(InvalidInterval):
        parse_instant(text)


def test_year_bounds() -> None:
    """The first and the last instant of the calendar can be told."""
    assert parse_instant("0001-01-01T00:00:00Z") == datetime.min.replace(tzinfo=UTC)
    assert parse_instant("9999-12-31T23:59:59.999999Z") == datetime.max.replace(tzinfo=UTC)


def test_finer_than_microseconds() -> None:
    """A fraction that would be lost is refused; zeros at its end are not lost."""
    assert parse_instant("2024-05-01T00:00:00.123456000Z").microsecond == 123456
    with pytest.raises(InvalidInterval):
        parse_instant("2024-05-01T00:00:00.123456001Z")


@given(instants)
@settings(max_examples=200, deadline=None)
def test_instant_round_trip(instant: datetime) -> None:
    """What is written is read back as the same instant."""
    assert parse_instant(format_instant(instant)) == instant
    assert parse_instant(instant.isoformat()) == instant


@given(instants, instants)
@settings(max_examples=200, deadline=None)
def test_interval_round_trip(start: datetime, end: datetime) -> None:
    """An interval survives its text and its JSON, whatever the offsets were; reversed ones are refused."""
    if end <= start:
        with pytest.raises(InvalidInterval):
            Interval(start, end)
        return
    interval = Interval(start, end)
    assert Interval.parse(str(interval)) == interval
    assert {name: parse_instant(text) for name, text in interval.to_json().items()} == {
        "start": start,
        "end": end,
    }
    assert interval.start.tzinfo is UTC


def test_equal_across_offsets() -> None:
    """Intervals are equal, and hash alike, when their instants are."""
    local = Interval.parse("2024-05-01T02:00:00+02:00/2024-05-01T20:00:00-04:00")
    assert local == Interval.parse(DAY)
    assert hash(local) == hash(Interval.parse(DAY))
    assert str(local) == DAY


def test_subclasses_become_plain() -> None:
    """An instant of a datetime subclass is kept as a plain datetime."""

    class Moment(datetime):
        pass

    interval = Interval(Moment(2024, 5, 1, tzinfo=UTC), Moment(2024, 5, 2, tzinfo=UTC))
    assert type(interval.start) is datetime
    assert interval == Interval.parse(DAY)


@pytest.mark.parametrize(
    ("start", "end"),
    [
        ("2024-05-02T00:00:00Z", "2024-05-01T00:00:00Z"),
        ("2024-05-01T00:00:00Z", "2024-05-01T00:00:00Z"),
        ("2024-05-01T00:00:00Z", "2024-05-01T02:00:00+02:00"),
    ],
)
def test_end_after_start(start: str, end: str) -> None:
    """Reversed and zero-length intervals are refused."""
    with pytest.raises(InvalidInterval, match="end must be after start"):
        Interval.parse(f"{start}/{end}")


def test_naive_datetimes() -> None:
    """Instants without an offset are refused, and so is what is no instant."""
    naive = datetime(2024, 5, 1)  # noqa: DTZ001
    with pytest.raises(InvalidInterval, match="start must be a datetime with an offset"):
        Interval(naive, naive)
    with pytest.raises(InvalidInterval, match="start"):
        Interval("2024-05-01", "2024-05-02")  # type: ignore[arg-type]


def test_outside_the_calendar() -> None:
    """An instant whose UTC form has no year is refused."""
    early = datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=1)))
    with pytest.raises(InvalidInterval, match="outside the years"):
        Interval(early, datetime(2024, 1, 1, tzinfo=UTC))


@pytest.mark.parametrize(
    ("day", "zone", "hours"),
    [
        ("2024-03-31", "Europe/Berlin", 23),
        ("2024-10-27", "Europe/Berlin", 25),
        ("2024-05-01", "Europe/Berlin", 24),
        ("2024-03-10", "America/New_York", 23),
        ("2018-11-04", "America/Sao_Paulo", 23),
        ("2024-10-06", "Australia/Lord_Howe", 23.5),
        ("2024-05-01", "UTC", 24),
    ],
)
def test_local_days(day: str, zone: str, hours: float) -> None:
    """A local day is as long as its clock changes make it."""
    interval = Interval.parse(day, timezone_name=zone)
    assert interval.end - interval.start == timedelta(hours=hours)


def test_local_days_follow_each_other() -> None:
    """A local day ends where the next one starts, also where midnight does not exist."""
    first, second = (Interval.parse(f"2018-11-0{day}", timezone_name="America/Sao_Paulo") for day in (3, 4))
    assert first.end == second.start


@pytest.mark.parametrize(
    ("text", "zone"),
    [
        ("2024-05-01", None),
        ("2024-02-30", "UTC"),
        ("9999-12-31", "UTC"),
        ("0001-01-01", "Europe/Berlin"),
        ("2011-12-30", "Pacific/Apia"),
        ("2024-05-01", "Mars/Olympus"),
        ("2024-05-01", "../../etc/passwd"),
        ("2024-05-01", ""),
        ("2024-05-01", "Europe"),
        ("2024-05-01", "a\0b"),
        ("2024-05-01/2024-05-02", "UTC"),
        ("2024-05", "UTC"),
        ("2024-05-01T00:00:00Z", "UTC"),
        ("2024-05-01T00:00:00Z/P1D", "UTC"),
        (f"{DAY}/2024-05-03T00:00:00Z", None),
    ],
)
def test_what_is_no_interval(text: str, zone: str | None) -> None:
    """Labels, durations, days that do not exist and zones that nobody knows are refused."""
    with pytest.raises(InvalidInterval):
        Interval.parse(text, timezone_name=zone)


@given(st.text(max_size=80))
@settings(max_examples=200, deadline=None)
def test_any_text(text: str) -> None:
    """Any text is an instant or refused, never another error."""
    for parse in (parse_instant, Interval.parse):
        with pytest.raises(InvalidInterval) as caught:
            parse(text)
        assert str(caught.value).isascii()
