"""Waiting for whichever marker of a folder matches a pattern."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

import pytest

from airflow_landmark.deliveries import LASTING_LOOKS, Action, Target, look_once, wait
from airflow_landmark.markers import Interval, Taken, identity_of_document
from airflow_landmark.stores import InvalidAddress, LastingTrouble, PassingTrouble, Refused

Make = Callable[..., Any]
OTHER = Interval.parse("2024-09-30T00:00:00Z/2024-10-01T00:00:00Z")


@pytest.fixture
def look(fake: Any, make_terms: Make) -> Callable[..., Any]:
    """Return a function that puts markers into the folder and looks once by pattern."""

    async def once(files: dict[str, bytes], **terms: Any) -> Any:
        fake.files = {f"/in/{name}": data for name, data in files.items()}
        return await look_once(make_terms("/in", pattern="*.json", **terms))

    return once


async def test_the_highest_version_wins_by_number(look: Any, make_marker: Make) -> None:
    """Of several acceptable markers the highest version is taken, whatever their names."""
    found = await look({"a.json": make_marker(9), "b.json": make_marker(10), "c.json": make_marker(2)})
    assert found.word == "arrived"
    assert found.reading.sighting.address.name == "b.json"


async def test_neighbours_do_not_matter(look: Any, make_marker: Make) -> None:
    """Unreadable, foreign, older and withdrawn neighbours keep nobody from an acceptable marker."""
    found = await look(
        {
            "a.json": b"{",
            "b.json": make_marker(7, interval=OTHER),
            "c.json": make_marker(8, dataset="other"),
            "d.json": make_marker(2, status="withdrawn"),
            "e.json": make_marker(3),
            "e.json.tmp": make_marker(4),
        }
    )
    assert found.reading.sighting.address.name == "e.json"


async def test_neighbours_do_not_end_the_wait(look: Any, make_marker: Make) -> None:
    """With ``on_mismatch="fail"`` another day's marker beside the awaited name is still a neighbour."""
    found = await look({"a.json": make_marker(7, interval=OTHER)}, on_mismatch="fail")
    assert (found.action, found.word) == (Action.WAIT, "other interval")


async def test_a_recall_beside_the_recalled_is_obeyed(look: Any, make_marker: Make) -> None:
    """A withdrawn higher version in another file keeps the lower one from being taken."""
    found = await look({"v1.json": make_marker(1), "v2.json": make_marker(2, status="withdrawn")})
    assert found.word == "withdrawn"
    assert found.reading.found.version == 2


async def test_a_recall_of_what_was_taken_is_obeyed(look: Any, make_marker: Make) -> None:
    """What was taken before is not handed on again when a recall lies beside it."""
    taken = make_marker(1)
    files = {"v1.json": taken, "v2.json": make_marker(2, status="withdrawn")}
    assert (await look(files, taken=Taken(1, identity_of_document(taken)))).word == "withdrawn"
    files["v3.json"] = make_marker(3)
    assert (await look(files, taken=Taken(1, identity_of_document(taken)))).word == "arrived"


async def test_two_documents_of_one_version_fail(look: Any, make_marker: Make) -> None:
    """Two different markers under the highest version are a conflict; two equal ones are not."""
    files = {"a.json": make_marker(2), "b.json": make_marker(2, producer="another")}
    found = await look(files)
    assert (found.word, found.action.value) == ("reused version", "fail")
    files["b.json"] = files["a.json"]
    assert (await look(files)).word == "arrived"
    files |= {"b.json": make_marker(2, producer="another"), "c.json": make_marker(3)}
    assert (await look(files)).reading.found.version == 3


async def test_nothing_matches_yet(look: Any, make_marker: Make) -> None:
    """A folder without a match is an absent marker."""
    found = await look({"x.json.tmp": make_marker(), "sub/x.json": make_marker()})
    assert (found.word, found.action.value) == ("absent", "wait")
    assert "nothing matches" in found.text


async def test_an_unreadable_neighbour_never_ends_a_wait(
    fake: Any, clock: Any, started: Any, make_terms: Make, make_marker: Make
) -> None:
    """However long an unreadable file lies among the matches, the right marker is waited for."""
    fake.files["/in/a.json"] = b"{"
    task = started.add(wait(make_terms("/in", pattern="*.json"), clock=clock))
    await clock.advance(1000)
    assert not task.done()
    fake.files["/in/b.json"] = make_marker()
    await clock.advance(13)
    assert task.result().stamp.uri == "/in/b.json"


async def test_a_link_among_the_matches_never_ends_a_wait(
    fake: Any, clock: Any, started: Any, make_terms: Make, make_marker: Make
) -> None:
    """A match that is never opened is passed over."""
    fake.files["/in/link.json"] = b""
    fake.script["/in/link.json"] = deque([Refused("/in/link.json", "a symbolic link")] * 1000)
    task = started.add(wait(make_terms("/in", pattern="*.json"), clock=clock))
    await clock.advance(1000)
    assert not task.done()
    fake.files["/in/b.json"] = make_marker()
    await clock.advance(13)
    assert task.result().kind == "arrived"


@pytest.mark.parametrize(
    ("error", "kind"),
    [(PassingTrouble("/in", "slow"), "arrived"), (LastingTrouble("/in", "denied"), "failed")],
)
async def test_trouble_with_the_folder(
    fake: Any,
    clock: Any,
    started: Any,
    make_terms: Make,
    make_marker: Make,
    monkeypatch: pytest.MonkeyPatch,
    error: Exception,
    kind: str,
) -> None:
    """A folder that cannot be listed is trouble like a marker that cannot be read."""
    really, left = fake.listing, [LASTING_LOOKS]

    async def listing(*args: Any, **named: Any) -> Any:
        if left[0]:
            left[0] -= 1
            raise error
        return await really(*args, **named)

    monkeypatch.setattr(fake, "listing", listing)
    fake.files["/in/b.json"] = make_marker()
    task = started.add(wait(make_terms("/in", pattern="*.json"), clock=clock))
    await clock.advance(2000)
    assert task.result().kind == kind


async def test_names_that_no_manifest_could_hold_are_passed_over(look: Any, make_marker: Make) -> None:
    """A match with an unsafe name is no marker."""
    assert (await look({"a\\b.json": make_marker(), "\udcff.json": make_marker()})).word == "absent"


async def test_only_changed_matches_are_read_again(
    fake: Any, clock: Any, started: Any, make_terms: Make, make_marker: Make
) -> None:
    """Each match is compared with what was seen of it, under a pattern as by name."""
    fake.files |= {"/in/a.json": b"{", "/in/b.json": make_marker(1)}
    task = started.add(wait(make_terms("/in", pattern="*.json", min_version=2), clock=clock))
    named = started.add(wait(make_terms("/in/b.json", min_version=2), clock=clock))
    await clock.advance(30)
    assert not task.done()
    fake.files["/in/b.json"] = make_marker(2)
    await clock.advance(13)
    assert task.result().stamp == named.result().stamp


@pytest.mark.parametrize("pattern", ["", "a/b", "*/x.json", "a\x00b"])
def test_a_pattern_is_a_file_name(pattern: str) -> None:
    """Patterns do not reach into other folders."""
    with pytest.raises(InvalidAddress):
        Target.of("/in", pattern)


def test_a_name_without_pattern_is_literal() -> None:
    """Without a pattern every character of a name means itself."""
    target = Target.of("/in/part[1]*.json")
    assert (target.pattern, target.address.name, target.text) == (None, "part[1]*.json", "/in/part[1]*.json")
    assert Target.of("/in/", "*.json").text == "/in/*.json"
