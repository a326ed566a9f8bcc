"""What the partner delivers, as the project judges and verifies it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from airflow_landmark.deliveries import Check, Way, check, run
from airflow_landmark.markers import Interval, UnreadableMarker, read_marker
from airflow_landmark.testing import HOSTILE, Drop, Partner
from s3server import AWS_ENVIRONMENT, S3Server

DAY = Interval.parse("2026-05-02T00:00:00Z/2026-05-03T00:00:00Z")
FILES = {"orders.csv": "id,amount\n1,10\n2,20\n", "more/refunds.csv": b"id\n7\n"}


@pytest.fixture
def partner(tmp_path: Path) -> Partner:
    """Return a partner that delivers each day into a folder of that day."""
    return Partner(folder=f"{tmp_path}/{{start:%Y-%m-%d}}", dataset="shop/orders")


def checked(drop: Drop, *, min_version: int = 1, way: Way | None = None) -> Check:
    """What lies there, verified as a sensor would."""
    return run(
        lambda: check(
            drop.uri, dataset="shop/orders", interval=DAY, min_version=min_version, level="rows", way=way
        )
    )


@pytest.mark.parametrize(
    ("deliver", "verdict"),
    [
        (lambda partner: partner.good(DAY, FILES), "holds"),
        (lambda partner: partner.corrected(DAY, FILES), "holds"),
        (lambda partner: partner.stale(DAY, FILES), "other interval"),
        (lambda partner: partner.future(DAY, FILES), "other interval"),
        (lambda partner: partner.wrong_interval(DAY, FILES), "other interval"),
        (lambda partner: partner.wrong_dataset(DAY, FILES), "other dataset"),
        (lambda partner: partner.withdrawn(DAY), "withdrawn"),
        (lambda partner: partner.half(DAY, FILES), "unreadable"),
        (lambda partner: partner.corrupt(DAY, FILES), "does not hold"),
        (lambda partner: partner.short_file(DAY, FILES), "does not hold"),
        (lambda partner: partner.missing_file(DAY, FILES), "does not hold"),
    ],
    ids=lambda value: value if isinstance(value, str) else None,
)
def test_every_deed_is_judged_as_named(
    partner: Partner, deliver: Callable[[Partner], Drop], verdict: str
) -> None:
    """Each kind of delivery is what its name says, and the same call writes the same bytes again."""
    drop = deliver(partner)
    assert checked(drop).verdict == verdict
    assert deliver(partner) == drop


@pytest.mark.parametrize(
    ("name", "word"), [("corrupt", "corrupt"), ("short_file", "incomplete"), ("missing_file", "missing")]
)
def test_damage_is_of_its_kind(partner: Partner, name: str, word: str) -> None:
    """A damaged delivery has exactly the one damage that it was given."""
    found = checked(getattr(partner, name)(DAY, FILES))
    assert [problem.kind for problem in found.problems] == [word]


def test_older_version_takes_the_place_of_a_newer_one(partner: Partner) -> None:
    """A lower version lies where a higher one was, and is refused as that."""
    partner.good(DAY, FILES, version=7)
    assert checked(partner.older_version(DAY, FILES, version=6), min_version=7).verdict == "older version"


def test_duplicate_is_the_same_and_reused_version_is_not(partner: Partner) -> None:
    """A duplicate has the first delivery's bytes; a reused version has its number only."""
    first = partner.good(DAY, FILES)
    again = partner.duplicate(DAY, FILES)
    other = partner.reused_version(DAY, {"orders.csv": "id,amount\n1,11\n"})
    assert (again.sha256, again.version) == (first.sha256, 1)
    assert (other.sha256 == first.sha256, other.version) == (False, 1)
    assert checked(other).ok


def test_reused_version_differs_with_the_same_files_too(partner: Partner) -> None:
    """Bytes of a reused version differ even when the files are the same."""
    assert partner.reused_version(DAY, FILES).sha256 != partner.good(DAY, FILES).sha256


@pytest.mark.parametrize("kind", HOSTILE)
def test_hostile_markers_are_refused(partner: Partner, kind: str) -> None:
    """Every hostile marker is unreadable to the project's own reader."""
    drop = partner.hostile(DAY, kind=kind)
    with pytest.raises(UnreadableMarker):
        read_marker(Path(drop.uri).read_bytes())


def test_unknown_kind_is_refused(partner: Partner) -> None:
    """A kind of hostile marker that is not known is named, with those that are."""
    with pytest.raises(ValueError, match=r"'other' is no kind of hostile marker: there are 16 MiB, escaping"):
        partner.hostile(DAY, kind="other")


@pytest.mark.parametrize("name", ["corrupt", "short_file"])
def test_damage_needs_content(partner: Partner, name: str) -> None:
    """A file without content cannot be damaged unseen."""
    with pytest.raises(ValueError, match="give a first file with content"):
        getattr(partner, name)(DAY, {"orders.csv": ""})


def test_empty_day_is_meant(partner: Partner) -> None:
    """A delivery without files is a valid one: nothing happened that day."""
    assert checked(partner.good(DAY, {})).ok


def test_bucket(monkeypatch: pytest.MonkeyPatch) -> None:
    """A partner delivers into a bucket as well, by the environment's credentials and options."""
    for name, value in AWS_ENVIRONMENT.items():
        monkeypatch.setenv(name, value)
    with S3Server() as server:
        bucket = server.bucket()
        way = Way(options={"endpoint_url": server.url, "addressing_style": "path"})
        partner = Partner(folder=f"s3://{bucket}/{{start:%Y-%m-%d}}", dataset="shop/orders", way=way)
        drop = partner.corrupt(DAY, FILES)
        assert drop.uri == f"s3://{bucket}/2026-05-02/_delivery.json"
        assert checked(drop, way=way).verdict == "does not hold"


def test_web_servers_are_not_delivered_to() -> None:
    """A partner says what it can write to."""
    partner = Partner(folder="https://127.0.0.1:9/in", dataset="shop/orders")
    with pytest.raises(TypeError, match="a partner delivers on a disk or in a bucket"):
        partner.good(DAY, FILES)
