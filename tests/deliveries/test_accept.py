"""Accepting: what a wait saw is read, judged and verified again before anybody works on it."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import pytest

from airflow_landmark.deliveries import (
    Acceptance,
    BadDelivery,
    Progress,
    Stamp,
    Unavailable,
    accept,
    wait,
)
from airflow_landmark.markers import Interval, Taken, identity_of_document
from airflow_landmark.stores import _local_digest as digests

Make = Callable[..., Any]
AT_ONCE = Acceptance(again_seconds=())


@pytest.fixture
def terms(make_terms: Make, tmp_path: Path) -> Callable[..., Any]:
    """Return a function that makes terms for the test's folder, at the level of digests."""
    return lambda **more: make_terms(f"{tmp_path}/", **{"verify": "digests", **more})


@pytest.fixture
def stamped(terms: Make) -> Callable[[], Any]:
    """Return a function that waits for what lies there and gives the stamp of it."""

    async def stamp() -> Stamp:
        return (await wait(terms())).stamp  # type: ignore[return-value]

    return stamp


@pytest.fixture
def during(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], object]], None]:
    """Return a function that lets something happen, once, while the first file is digested."""

    def arrange(happens: Callable[[], object]) -> None:
        left, really = [happens], digests.DigestRun.__call__

        def disturbed(run: Any) -> Any:
            if left:
                left.pop()()
            return really(run)

        monkeypatch.setattr(digests.DigestRun, "__call__", disturbed)

    return arrange


async def test_what_was_seen_is_accepted(deliver: Make, terms: Make, stamped: Make) -> None:
    """The stamped marker with all its files becomes a delivery with a pin for every file."""
    uri = deliver(3)
    stamp = await stamped()
    accepted = await accept(terms(), stamp=stamp)
    assert accepted.delivery.stamp == stamp
    assert (accepted.delivery.version, accepted.delivery.level) == (3, "digests")
    assert accepted.report.ok
    assert not accepted.taken_before
    assert [f.uri for f in accepted.delivery.files()] == [
        uri.replace("_delivery.json", path) for path in ("a.csv", "sub/b.csv")
    ]
    assert all(f.pin is not None for f in accepted.delivery.files())


async def test_accepting_twice_gives_the_same(deliver: Make, terms: Make, stamped: Make) -> None:
    """The same stamp leads to the same delivery, however often."""
    deliver()
    stamp = await stamped()
    first, second = [await accept(terms(), stamp=stamp) for _ in range(2)]
    assert first.delivery == second.delivery
    assert first.delivery.to_xcom() == second.delivery.to_xcom()


async def test_without_a_stamp_what_lies_there_is_accepted(deliver: Make, terms: Make) -> None:
    """Without a wait the present marker is judged as a wait would judge it."""
    deliver(2)
    assert (await accept(terms())).delivery.version == 2
    with pytest.raises(BadDelivery) as caught:
        await accept(terms(min_version=3))
    assert caught.value.kind == "older version"


async def test_a_marker_that_is_not_there(terms: Make, tmp_path: Path) -> None:
    """Without a stamp an absent marker fails at once."""
    began = time.monotonic()
    with pytest.raises(BadDelivery) as caught:
        await accept(terms())
    assert caught.value.kind == "gone"
    assert time.monotonic() - began < 0.9


async def test_a_higher_version_takes_its_place(deliver: Make, terms: Make, stamped: Make) -> None:
    """A correction that came after the stamp is taken instead, and that is told."""
    deliver(1)
    stamp = await stamped()
    deliver(2, files={"c.csv": b"1\n"})
    told: list[str] = []
    accepted = await accept(terms(), stamp=stamp, tell=told.append)
    assert accepted.delivery.version == 2
    assert [f.path for f in accepted.delivery.files()] == ["c.csv"]
    assert len(told) == 1
    assert "version 1" in told[0]
    assert "version 2 has replaced it" in told[0]


async def test_a_higher_version_may_fail(deliver: Make, terms: Make, stamped: Make) -> None:
    """``on_replaced="fail"`` takes the stamped marker or none."""
    deliver(1)
    stamp = await stamped()
    deliver(2)
    with pytest.raises(BadDelivery) as caught:
        await accept(terms(), replace(AT_ONCE, on_replaced="fail"), stamp=stamp)
    assert caught.value.kind == "replaced"


async def test_other_bytes_under_the_stamped_version(deliver: Make, terms: Make, stamped: Make) -> None:
    """The same version with other bytes is a reused version."""
    deliver(2)
    stamp = await stamped()
    deliver(2, producer="another")
    with pytest.raises(BadDelivery) as caught:
        await accept(terms(), AT_ONCE, stamp=stamp)
    assert caught.value.kind == "reused version"


async def test_an_older_version_in_place_of_the_stamped(deliver: Make, terms: Make, stamped: Make) -> None:
    """A marker that fell back behind the stamp fails, although it would do by itself."""
    deliver(2)
    stamp = await stamped()
    deliver(1)
    with pytest.raises(BadDelivery) as caught:
        await accept(terms(), AT_ONCE, stamp=stamp)
    assert caught.value.kind == "older version"


@pytest.mark.parametrize(
    ("what", "kind"),
    [
        ({"interval": Interval.parse("2024-09-30T00:00:00Z/2024-10-01T00:00:00Z")}, "other interval"),
        ({"dataset": "other"}, "other dataset"),
        ({"status": "withdrawn"}, "withdrawn"),
    ],
)
async def test_what_is_not_ours_any_more(
    deliver: Make, terms: Make, stamped: Make, what: dict[str, Any], kind: str
) -> None:
    """A marker that was replaced by another one's, or recalled, fails with the verdict on it."""
    deliver(1)
    stamp = await stamped()
    deliver(2, **what)
    with pytest.raises(BadDelivery) as caught:
        await accept(terms(), AT_ONCE, stamp=stamp)
    assert caught.value.kind == kind


async def test_a_marker_that_is_gone(deliver: Make, terms: Make, stamped: Make) -> None:
    """A stamped marker that was removed fails after some more looks."""
    uri = deliver()
    stamp = await stamped()
    Path(uri).unlink()
    began = time.monotonic()
    with pytest.raises(BadDelivery, match="the marker is gone") as caught:
        await accept(terms(), Acceptance(again_seconds=(0.1, 0.2)), stamp=stamp)
    assert caught.value.kind == "gone"
    assert time.monotonic() - began >= 0.3


@pytest.mark.parametrize("half", [b"", b'{"spec": "landm'])
async def test_a_marker_that_is_being_rewritten(
    deliver: Make, terms: Make, stamped: Make, make_marker: Make, half: bytes
) -> None:
    """A stamped marker that is half written is looked at again; when it stays so that fails."""
    uri = deliver(1)
    stamp = await stamped()
    Path(uri).write_bytes(half)

    async def finish() -> None:
        await anyio.sleep(0.1)
        deliver(2)

    async with anyio.create_task_group() as group:
        group.start_soon(finish)
        accepted = await accept(terms(), Acceptance(again_seconds=(0.3, 0.3)), stamp=stamp)
    assert accepted.delivery.version == 2
    Path(uri).write_bytes(half)
    with pytest.raises(BadDelivery) as caught:
        await accept(terms(), AT_ONCE, stamp=stamp)
    assert caught.value.kind == "unreadable"
    assert caught.value.problems


async def test_a_correction_while_verifying(
    deliver: Make, terms: Make, stamped: Make, during: Make, tmp_path: Path, make_marker: Make
) -> None:
    """A marker that is replaced while its files are verified is not taken: the new one is."""
    deliver(1)
    stamp = await stamped()
    (tmp_path / "new.csv").write_bytes(b"1\n")
    during(lambda: (tmp_path / "_delivery.json").write_bytes(make_marker(2, files={"new.csv": b"1\n"})))
    told: list[str] = []
    accepted = await accept(terms(), AT_ONCE, stamp=stamp, tell=told.append)
    assert accepted.delivery.version == 2
    assert [f.path for f in accepted.delivery.files()] == ["new.csv"]
    assert len(told) == 1


async def test_a_marker_that_goes_while_verifying(
    deliver: Make, terms: Make, stamped: Make, during: Make
) -> None:
    """A marker that is removed while its files are verified announces nothing any more."""
    uri = deliver(1)
    stamp = await stamped()
    during(Path(uri).unlink)
    with pytest.raises(BadDelivery) as caught:
        await accept(terms(), AT_ONCE, stamp=stamp)
    assert caught.value.kind == "gone"


async def test_a_marker_that_never_rests(
    deliver: Make, terms: Make, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, make_marker: Make
) -> None:
    """A marker that is replaced again and again is passing trouble, not a loop for ever."""
    deliver(1, files={"a.csv": b"1\n"})
    versions, really = iter(range(2, 99)), digests.DigestRun.__call__

    def disturbed(run: Any) -> Any:
        (tmp_path / "_delivery.json").write_bytes(make_marker(next(versions), files={"a.csv": b"1\n"}))
        return really(run)

    monkeypatch.setattr(digests.DigestRun, "__call__", disturbed)
    with pytest.raises(Unavailable) as caught:
        await accept(terms(), AT_ONCE)
    assert caught.value.kind == "replaced"


async def test_a_file_that_changes_while_verifying(
    deliver: Make, terms: Make, during: Make, tmp_path: Path
) -> None:
    """Files that change while they are verified are passing trouble: a later try may find them at rest."""
    deliver()
    time.sleep(0.02)

    def change() -> None:
        for name in ("a.csv", "sub/b.csv"):
            (tmp_path / name).write_bytes((tmp_path / name).read_bytes())

    during(change)
    with pytest.raises(Unavailable):
        await accept(terms(), AT_ONCE)


async def test_bad_files_fail_with_the_report(deliver: Make, terms: Make, tmp_path: Path) -> None:
    """The failure carries all problems and its text names the first."""
    deliver(files={f"{n}.csv": b"123" for n in range(9)})
    for n in range(9):
        (tmp_path / f"{n}.csv").write_bytes(b"12X")
    with pytest.raises(BadDelivery) as caught:
        await accept(terms(), AT_ONCE)
    assert caught.value.kind == "corrupt"
    assert len(caught.value.problems) == 9
    assert "version 1: 9 corrupt among 9 files" in str(caught.value)
    assert "4.csv: expected sha256" in str(caught.value)
    assert "and 4 more" in str(caught.value)


async def test_the_level_is_kept_to(deliver: Make, terms: Make, tmp_path: Path) -> None:
    """No more is asked than the terms ask."""
    deliver()
    (tmp_path / "a.csv").write_bytes(b"id\nX\n")
    assert (await accept(terms(verify="files"))).delivery.level == "files"
    (tmp_path / "a.csv").unlink()
    assert (await accept(terms(verify="marker"))).delivery.level == "marker"


async def test_unexpected_files_are_told_or_fail(deliver: Make, terms: Make, tmp_path: Path) -> None:
    """Files that the manifest does not list are told in one sentence, or fail, by policy."""
    deliver()
    for n in range(70):
        (tmp_path / f"extra {n:02}").touch()
    told: list[str] = []
    await accept(terms(), replace(AT_ONCE, on_unexpected="warn"), tell=told.append)
    assert told == ["70 files that the manifest does not list, such as extra 00, extra 01, extra 02"]
    with pytest.raises(BadDelivery, match="70 unexpected"):
        await accept(terms(), replace(AT_ONCE, on_unexpected="fail"))


@pytest.mark.parametrize("on_taken", ["accept", "skip"])
async def test_what_was_taken_before_is_marked(deliver: Make, terms: Make, on_taken: str) -> None:
    """The very delivery that was taken before is accepted and marked as such."""
    taken = Taken(1, identity_of_document(Path(deliver(1)).read_bytes()))
    assert (await accept(terms(taken=taken, on_taken=on_taken))).taken_before


async def test_what_was_taken_before_may_fail(deliver: Make, terms: Make) -> None:
    """``on_taken="fail"`` refuses what was taken before; other bytes under its version are always refused."""
    taken = Taken(1, identity_of_document(Path(deliver(1)).read_bytes()))
    with pytest.raises(BadDelivery) as caught:
        await accept(terms(taken=taken, on_taken="fail"))
    assert caught.value.kind == "already taken"
    with pytest.raises(BadDelivery) as caught:
        await accept(terms(taken=Taken(1, "0" * 64)))
    assert caught.value.kind == "reused version"


async def test_progress_is_told(deliver: Make, terms: Make) -> None:
    """Progress goes to whoever asked for it."""
    deliver()
    told: list[Progress] = []
    await accept(terms(), progress=told.append)
    assert told[-1].files_done == told[-1].files == 2


async def test_by_pattern_the_stamped_marker_is_found_again(
    make_terms: Make, tmp_path: Path, make_marker: Make
) -> None:
    """Among the matches of a pattern the highest version is accepted, as it was seen."""
    for version in (1, 2):
        (tmp_path / f"v{version}.json").write_bytes(make_marker(version))
    terms = make_terms(str(tmp_path), pattern="v*.json", verify="digests")
    stamp = (await wait(terms)).stamp
    assert stamp.version == 2
    assert (await accept(terms, stamp=stamp)).delivery.stamp == stamp
    (tmp_path / "v3.json").write_bytes(make_marker(3))
    assert (await accept(terms, stamp=stamp)).delivery.version == 3
    (tmp_path / "v4.json").write_bytes(make_marker(4, status="withdrawn"))
    with pytest.raises(BadDelivery) as caught:
        await accept(terms, AT_ONCE, stamp=stamp)
    assert caught.value.kind == "withdrawn"
