"""A trigger fires exactly one event, whatever it sees, and makes no look after it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

from airflow_landmark.stores import LocalStore
from airflow_landmark.triggers import MAX_EVENT_BYTES, MarkerTrigger, parse_event
from parcels import DAY_BEFORE, FILES, deliver, marker_of, put

Drain = Callable[..., Awaitable[list[Any]]]


def soon(seconds: float) -> str:
    """An instant shortly after now."""
    return (datetime.now(tz=timezone.utc) + timedelta(seconds=seconds)).isoformat().replace("+00:00", "Z")


async def after(seconds: float, act: Callable[[], Any]) -> None:
    """Do something while a wait is running."""
    await asyncio.sleep(seconds)
    act()


async def test_marker_that_lies_there_is_reported(
    tmp_path: Path, arguments: dict[str, Any], drain: Drain
) -> None:
    """A delivery that is there gives one arrival with its identity and counts."""
    path = deliver(tmp_path)
    (event,) = await drain(MarkerTrigger(**arguments))
    stamp = parse_event(event).stamp
    assert stamp is not None
    assert (event["outcome"], stamp.uri, stamp.version, stamp.files) == ("arrived", str(path), 1, 2)
    assert stamp.size == path.stat().st_size
    assert event["looks"]["count"] == 1


async def test_marker_that_comes_is_reported(tmp_path: Path, arguments: dict[str, Any], drain: Drain) -> None:
    """A delivery that comes while it is waited for gives one arrival, which tells of the looks before."""
    coming = asyncio.create_task(after(0.25, lambda: deliver(tmp_path)))
    (event,) = await drain(MarkerTrigger(**arguments))
    await coming
    assert event["outcome"] == "arrived"
    assert event["looks"]["seen"]["absent"] == event["looks"]["count"] - 1 >= 2


@pytest.mark.parametrize(
    ("before", "word"),
    [
        ({"version": 1}, "older version"),
        ({"version": 3, "status": "withdrawn"}, "withdrawn"),
        ({"version": 3, "interval": DAY_BEFORE}, "other interval"),
        ({"version": 3, "dataset": "sales/returns"}, "other dataset"),
        ({"version": 0}, "unreadable"),
    ],
)
async def test_wrong_marker_is_waited_out(
    before: dict[str, Any], word: str, tmp_path: Path, arguments: dict[str, Any], drain: Drain
) -> None:
    """A marker that is not the one waited for is no event: the wait goes on until the right one comes."""
    deliver(tmp_path, **before)
    coming = asyncio.create_task(after(0.25, lambda: deliver(tmp_path, version=4)))
    (event,) = await drain(MarkerTrigger(**arguments, min_version=2))
    await coming
    assert (event["outcome"], event["version"]) == ("arrived", 4)
    assert event["looks"]["seen"][word] >= 2


async def test_half_written_marker_is_waited_out(
    tmp_path: Path, arguments: dict[str, Any], drain: Drain
) -> None:
    """A marker that is being written is unreadable for a while, which is no failure."""
    text = json.dumps(marker_of())
    (tmp_path / "_delivery.json").write_text(text[:20])
    for name, data in FILES.items():
        put(tmp_path / name, data)

    async def go_on() -> None:
        await asyncio.sleep(0.2)
        (tmp_path / "_delivery.json").write_text("")
        await asyncio.sleep(0.2)
        (tmp_path / "_delivery.json").write_text(text)

    writing = asyncio.create_task(go_on())
    (event,) = await drain(MarkerTrigger(**arguments))
    await writing
    assert event["outcome"] == "arrived"


async def test_missing_and_short_files_are_waited_for(
    tmp_path: Path, arguments: dict[str, Any], drain: Drain
) -> None:
    """A marker whose files are not all there in full length is not yet a delivery."""
    deliver(tmp_path, written={"a.csv": FILES["a.csv"][:2]})

    async def go_on() -> None:
        await asyncio.sleep(0.2)
        put(tmp_path / "b.csv", FILES["b.csv"])
        await asyncio.sleep(0.2)
        put(tmp_path / "a.csv", FILES["a.csv"])

    writing = asyncio.create_task(go_on())
    (event,) = await drain(MarkerTrigger(**arguments))
    await writing
    assert event["outcome"] == "arrived"
    assert event["looks"]["seen"]["incomplete"] >= 3


@pytest.mark.parametrize(
    "change", [{"on_incomplete": "fail"}, {"verify": "marker"}], ids=["on_incomplete=fail", "verify=marker"]
)
async def test_files_are_left_to_the_worker_where_asked(
    change: dict[str, Any], tmp_path: Path, arguments: dict[str, Any], drain: Drain
) -> None:
    """Where files are not waited for, the marker alone is an arrival: the worker judges the rest."""
    deliver(tmp_path, written={})
    (event,) = await drain(MarkerTrigger(**arguments | change))
    assert event["outcome"] == "arrived"


@pytest.mark.parametrize(
    ("marker", "change_and_kind"),
    [
        ({"interval": DAY_BEFORE}, ({"on_mismatch": "fail"}, "other interval")),
        ({"dataset": "sales/returns"}, ({"on_mismatch": "fail"}, "other dataset")),
        ({"version": 2}, ({"taken": {"version": 2, "identity": "ab" * 32}}, "reused version")),
        ({"version": "two"}, ({"unreadable_looks": 3}, "unreadable")),
    ],
)
async def test_marker_that_cannot_become_right_fails(
    marker: dict[str, Any], change_and_kind: Any, tmp_path: Path, arguments: dict[str, Any], drain: Drain
) -> None:  # fmt: skip
    """What waiting does not mend ends the wait with one event that names the verdict."""
    change, kind = change_and_kind
    deliver(tmp_path, **marker)
    (event,) = await drain(MarkerTrigger(**arguments | change))
    assert (event["outcome"], event["error"]["kind"]) == ("failed", kind)
    assert event["looks"]["count"] == change.get("unreadable_looks", 1)
    assert "marker" not in event


@pytest.mark.parametrize(
    ("on_taken", "outcome"), [("accept", "arrived"), ("skip", "arrived"), ("fail", "failed")]
)
async def test_delivery_that_was_taken_before(
    on_taken: str, outcome: str, tmp_path: Path, arguments: dict[str, Any], drain: Drain
) -> None:
    """A delivery that the ledger knows is fired to the worker or failed, as asked."""
    deliver(tmp_path)
    (first,) = await drain(MarkerTrigger(**arguments))
    taken = {"version": 1, "identity": first["marker"]["sha256"]}
    (event,) = await drain(MarkerTrigger(**arguments, taken=taken, on_taken=on_taken))
    assert event["outcome"] == outcome
    assert event.get("error", {"kind": "already taken"})["kind"] == "already taken"


async def test_unreadable_marker_tells_where_it_is_wrong(
    tmp_path: Path, arguments: dict[str, Any], drain: Drain
) -> None:
    """The event of an unreadable marker names size and place, and none of its content."""
    put(tmp_path / "_delivery.json", '{"spec": "landmark/1", "pw-EXAMPLE-1')
    (event,) = await drain(MarkerTrigger(**arguments, unreadable_looks=2))
    assert event["error"]["kind"] == "unreadable"
    assert "bytes" in event["error"]["text"]
    assert "pw-EXAMPLE-1" not in json.dumps(event)


async def test_deadline_tells_what_was_seen_last(
    tmp_path: Path, arguments: dict[str, Any], drain: Drain
) -> None:
    """A wait that ends without its delivery says what lies there instead, with both intervals."""
    deliver(tmp_path, interval=DAY_BEFORE)
    (event,) = await drain(MarkerTrigger(**arguments, deadline=soon(0.35)))
    assert (event["outcome"], event["error"]["kind"]) == ("deadline", "other interval")
    for day in ("2024-04-30", "2024-05-01", "2024-05-02"):
        assert day in event["error"]["text"]
    assert event["looks"]["seen"]["other interval"] == event["looks"]["count"] >= 3


async def test_deadline_names_missing_files(tmp_path: Path, arguments: dict[str, Any], drain: Drain) -> None:
    """What of the manifest is missing at the deadline stands in the event, by count and name."""
    deliver(tmp_path, written={"a.csv": FILES["a.csv"]})
    (event,) = await drain(MarkerTrigger(**arguments, deadline=soon(0.25)))
    assert event["error"]["kind"] == "incomplete"
    assert "1 of 2 files" in event["error"]["text"]
    assert "b.csv" in event["error"]["text"]


async def test_first_look_comes_before_any_deadline(
    tmp_path: Path, arguments: dict[str, Any], drain: Drain
) -> None:
    """A delivery that lies there is taken, however long ago the deadline was."""
    deliver(tmp_path)
    (event,) = await drain(MarkerTrigger(**arguments, deadline="2024-05-03T00:00:00Z"))
    assert event["outcome"] == "arrived"


async def test_deadline_long_ago_gives_one_look(arguments: dict[str, Any], drain: Drain) -> None:
    """A deadline that has passed ends the wait after its one look."""
    (event,) = await drain(MarkerTrigger(**arguments, deadline="2024-05-03T00:00:00Z"))
    assert (event["outcome"], event["looks"]["count"]) == ("deadline", 1)


async def test_lasting_trouble_fails_after_some_looks(
    tmp_path: Path, arguments: dict[str, Any], drain: Drain
) -> None:
    """A path that leads through a file is not waited on for ever."""
    put(tmp_path / "blocked", "a file")
    uri = f"{tmp_path}/blocked/_delivery.json"
    (event,) = await drain(MarkerTrigger(**arguments | {"uri": uri}), seconds=30)
    assert (event["outcome"], event["error"]["kind"]) == ("failed", "access")
    assert event["looks"]["count"] > 1


async def test_link_in_place_of_the_marker_fails(
    tmp_path: Path, arguments: dict[str, Any], drain: Drain
) -> None:
    """A marker that is a link is refused, with the reason."""
    deliver(tmp_path, name="elsewhere.json")
    (tmp_path / "_delivery.json").symlink_to("elsewhere.json")
    (event,) = await drain(MarkerTrigger(**arguments), seconds=30)
    assert (event["outcome"], event["error"]["kind"]) == ("failed", "access")
    assert "link" in event["error"]["text"]


async def test_pattern_takes_the_highest_version(
    tmp_path: Path, arguments: dict[str, Any], drain: Drain
) -> None:
    """Of the markers that a pattern matches the highest version wins, whatever the names' order."""
    for version in (2, 10, 9):
        deliver(tmp_path, version=version, name=f"v{version}.json")
    deliver(tmp_path, version=11, interval=DAY_BEFORE, name="v11.json")
    put(tmp_path / "v12.json", "{")
    (event,) = await drain(MarkerTrigger(**arguments | {"uri": str(tmp_path), "pattern": "v*.json"}))
    assert (event["outcome"], event["version"]) == ("arrived", 10)
    assert event["marker"]["uri"] == f"{tmp_path}/v10.json"


async def test_name_with_pattern_characters_is_taken_literally(
    tmp_path: Path, arguments: dict[str, Any], drain: Drain
) -> None:
    """Without a pattern every character of a name stands for itself."""
    deliver(tmp_path, name="part[1]*.json")
    (event,) = await drain(MarkerTrigger(**arguments | {"uri": f"{tmp_path}/part[1]*.json"}))
    assert event["outcome"] == "arrived"


async def test_event_of_ten_thousand_files_is_small(
    tmp_path: Path, arguments: dict[str, Any], drain: Drain
) -> None:
    """The event of a large manifest is as small as any other."""
    files = {f"part-{n:05}.parquet": b"" for n in range(10_001)}
    deliver(tmp_path, files=files, written={})
    (event,) = await drain(MarkerTrigger(**arguments))
    assert (event["outcome"], event["manifest"]["files"]) == ("arrived", 10_001)
    assert len(json.dumps(event)) < MAX_EVENT_BYTES / 4


async def test_no_look_follows_the_event(
    tmp_path: Path, arguments: dict[str, Any], drain: Drain, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After its event a trigger asks the store for nothing more."""
    asked: list[int] = []
    look_many = LocalStore.look_many

    async def counted(self: LocalStore, wanted: Any, **named: Any) -> Any:
        asked.append(len(wanted))
        return await look_many(self, wanted, **named)

    monkeypatch.setattr(LocalStore, "look_many", counted)
    deliver(tmp_path)
    (event,) = await drain(MarkerTrigger(**arguments))
    looks = len(asked)
    deliver(tmp_path, version=2)
    await asyncio.sleep(0.25)
    assert looks == len(asked) == event["looks"]["count"]


async def test_copies_give_equal_events(tmp_path: Path, arguments: dict[str, Any], drain: Drain) -> None:
    """Two triggerers may run the same wait: what they fire differs in their looks at most."""
    deliver(tmp_path)
    kept = MarkerTrigger(**arguments).serialize()[1]
    (one,), (other,) = await asyncio.gather(drain(MarkerTrigger(**kept)), drain(MarkerTrigger(**kept)))
    assert one.pop("looks")
    assert other.pop("looks")
    assert one == other


async def test_nothing_is_written_at_the_source(
    tmp_path: Path, arguments: dict[str, Any], drain: Drain
) -> None:
    """Waiting leaves no lock, mark or temporary file behind, and changes no time."""
    deliver(tmp_path)

    def state() -> list[tuple[str, int, int]]:
        paths = [tmp_path, *sorted(tmp_path.iterdir())]
        return [(p.name, p.stat().st_mtime_ns, p.stat().st_ctime_ns) for p in paths]

    before = state()
    await drain(MarkerTrigger(**arguments))
    await drain(MarkerTrigger(**arguments, min_version=2, deadline=soon(0.25)))
    assert state() == before
