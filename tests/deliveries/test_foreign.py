"""Markers of foreign formats: several documents and a listing make one marker, read at one moment."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio.to_thread
import pytest

from airflow_landmark.deliveries import (
    Acceptance,
    BadDelivery,
    Delivery,
    Form,
    Target,
    Terms,
    accept,
    check,
    look_at,
    wait,
)
from airflow_landmark.deliveries import _target as targets
from airflow_landmark.deliveries._target import State
from airflow_landmark.markers import (
    Expectation,
    FileEntry,
    Format,
    Interval,
    Listed,
    Manifest,
    Marker,
    Problem,
    UnreadableMarker,
    identity_of_documents,
    identity_of_listing,
)
from airflow_landmark.stores import LastingTrouble

Make = Callable[..., Any]
DAY = Interval.parse("2024-10-01T00:00:00Z/2024-10-02T00:00:00Z")
URI = "/in/list.txt"


def _unreadable(documents: Mapping[str, bytes]) -> UnreadableMarker:
    problem = Problem("syntax", "list.ok", "ok", "something else")
    return UnreadableMarker(
        [problem], total=1, identity=identity_of_documents(documents), size=sum(map(len, documents.values()))
    )


def _read_pair(
    documents: Mapping[str, bytes], listing: Sequence[Listed], declared: Mapping[str, str]
) -> Marker:
    if documents.get("list.ok", b"ok") == b"boom":
        raise ZeroDivisionError("secret-of-the-reader" * 10)
    if documents.get("list.ok") != b"ok":
        raise _unreadable(documents)
    assert declared["uri"].endswith("/list.txt")
    files = tuple(FileEntry(line) for line in documents["list.txt"].decode().split())
    return Marker(
        "shop/orders", DAY, int(declared["version"]), Manifest.of(files), identity_of_documents(documents)
    )


def _read_all(
    _documents: Mapping[str, bytes], listing: Sequence[Listed], _declared: Mapping[str, str]
) -> Marker:
    files = tuple(FileEntry(name, size) for name, size, _ in listing if name != "list.txt")
    return Marker("shop/orders", DAY, 1, Manifest.of(files), identity_of_listing(listing))


PAIR = Format(
    "pair",
    documents=lambda uri, _listing, declared: [
        uri.rpartition("/")[2],
        *declared.get("beside", "list.ok").split(),
    ],
    read=_read_pair,
    check=lambda _declared: None,
    default_name="list.txt",
)
TREE = Format(
    "tree",
    documents=lambda uri, _listing, _declared: [uri.rpartition("/")[2]],
    read=_read_all,
    listing="tree",
    default_name="list.txt",
)
END = replace(PAIR, name="end", documents=TREE.documents, read=_read_all, tail_bytes=4)


@pytest.fixture(autouse=True)
def known(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the formats of this module be known by their names."""
    monkeypatch.setattr(targets, "format_of", {"pair": PAIR, "tree": TREE, "end": END}.__getitem__)


def terms(name: str = "pair", uri: str = URI, pattern: str | None = None, **declared: str) -> Terms:
    """What is waited for."""
    form = Form.of(name, {"version": "1", **declared} if name == "pair" else {})
    return Terms(
        Target.of(uri, pattern, form=form),
        Expectation("shop/orders", DAY),
        verify="marker",
        poll_interval=10.0,
    )


async def test_all_documents_are_waited_for(fake: Any, clock: Any, started: Any) -> None:
    """The marker counts once its second document is there; the stamp's identity is that of both."""
    task = started.add(wait(terms(), clock=clock, tell=started.told.append))
    fake.files[URI] = b"a b"
    await clock.advance(25)
    assert not task.done()
    fake.files["/in/list.ok"] = b"ok"
    await clock.advance(15)
    stamp = task.result().stamp
    assert stamp.sha256 == identity_of_documents({"list.txt": b"a b", "list.ok": b"ok"})
    assert (stamp.uri, stamp.files) == (URI, 2)


async def test_what_stays_is_not_read_again(fake: Any, clock: Any, started: Any) -> None:
    """While nothing changes, no document is read again and no line is told."""
    fake.files |= {URI: b"a", "/in/list.ok": b"not yet"}
    started.add(wait(terms(), clock=clock, tell=started.told.append))
    await clock.advance(5)
    first = len(fake.looks)
    await clock.advance(30)
    assert len(fake.looks) - first == 2 * 3
    assert len(started.told) == 1


async def test_documents_that_stay_wrong_fail(fake: Any, clock: Any, started: Any) -> None:
    """The same unreadable documents, look after look, end the wait as one unreadable document does."""
    fake.files |= {URI: b"a", "/in/list.ok": b"wrong"}
    task = started.add(wait(terms(), clock=clock))
    await clock.advance(500)
    assert (task.result().kind, task.result().word) == ("failed", "unreadable")


async def test_a_document_that_changes_between_two_looks_is_not_taken(fake: Any, make_marker: Make) -> None:
    """The first document is looked at again at the end: what was read belongs to one moment."""
    fake.files |= {URI: b"b", "/in/list.ok": b"ok"}
    fake.script[URI] = deque([b"a", b"b"])
    target = terms().target
    state = (await look_at(fake, {target: State()}))[target]
    assert "changes while it is read" in str(state.trouble)
    state = (await look_at(fake, {target: state}))[target]
    assert state.trouble is None
    assert [entry.path for entry in state.readings[0].found.manifest.files] == ["b"]  # type: ignore[union-attr]


async def test_a_listing_makes_the_identity(fake: Any) -> None:
    """A format that stands for a listing is another sighting when a file comes."""
    fake.files |= {URI: b"", "/in/x": b"1"}
    target = terms("tree").target
    first = (await look_at(fake, {target: State()}))[target]
    same = (await look_at(fake, {target: first}))[target]
    assert same.readings[0] is first.readings[0]
    fake.files["/in/deep/y"] = b"22"
    more = (await look_at(fake, {target: same}))[target]
    assert not more.same_as(same)
    assert [e.path for e in more.readings[0].found.manifest.files] == ["deep/y", "x"]  # type: ignore[union-attr]


async def test_a_reader_with_a_defect_ends_no_other_wait(fake: Any, clock: Any, started: Any) -> None:
    """Another package's reader that fails is trouble of its own target, told shortly."""
    fake.files |= {URI: b"a", "/in/list.ok": b"boom", "/ok/list.txt": b"", "/ok/x": b""}
    bad = started.add(wait(terms(), clock=clock))
    good = started.add(wait(terms("tree", "/ok/list.txt"), clock=clock))
    await clock.advance(2)
    assert good.result().kind == "arrived"
    await clock.advance(200)
    assert (bad.result().kind, bad.result().word) == ("failed", "access")
    assert "ZeroDivisionError" in bad.result().text
    assert len(bad.result().text) < 250


@pytest.mark.parametrize("beside", ["../list.ok", "/etc/passwd", " ".join(f"d{n}" for n in range(64))])
async def test_what_a_format_asks_for_is_bounded(fake: Any, beside: str) -> None:
    """Documents out of the folder, and too many of them, are refused before anything is read."""
    fake.files[URI] = b"a"
    target = terms(beside=beside).target
    state = (await look_at(fake, {target: State()}))[target]
    assert isinstance(state.trouble, LastingTrouble)
    assert [uri for _, uri in fake.looks] == [URI]


async def test_a_pattern_finds_foreign_markers(fake: Any, clock: Any, started: Any) -> None:
    """A pattern matches foreign markers too: each is read in its own right."""
    fake.files |= {"/in/list.txt": b"a", "/in/list.ok": b"ok"}
    task = started.add(wait(terms(uri="/in/", pattern="list.t*"), clock=clock))
    await clock.advance(2)
    assert task.result().stamp.uri == URI


def test_a_folder_stands_for_the_formats_own_name() -> None:
    """A trailing slash takes the name that the format gives its marker."""
    form = Form.of("pair", {})
    assert Target.of("/in/", form=form).text == URI
    assert Target.of("s3://bucket/in/", form=form).text == "s3://bucket/in/list.txt"


async def test_only_the_end_of_a_large_file_is_read(tmp_path: Path) -> None:
    """A format that asks for the end of a file reads that, and sees the file change."""
    (tmp_path / "list.txt").write_bytes(b"x" * 10_000 + b"TAIL")
    target = terms("end", str(tmp_path / "list.txt")).target
    found = await check(f"{tmp_path}/list.txt", level="marker", form=target.form)
    assert found.ok
    assert found.sighting is not None
    assert found.sighting.size == 10_004


async def test_the_resume_reads_all_documents_again(tmp_path: Path) -> None:
    """What replaced a document under the same version since the event is refused."""
    (tmp_path / "list.txt").write_bytes(b"a")
    (tmp_path / "list.ok").write_bytes(b"ok")
    (tmp_path / "a").write_bytes(b"1")
    wanted = terms(uri=f"{tmp_path}/list.txt")
    accepted = await accept(wanted)
    stamp = accepted.delivery.stamp
    assert (await accept(wanted, stamp=stamp)).delivery == accepted.delivery
    (tmp_path / "list.txt").write_bytes(b"a b")
    with pytest.raises(BadDelivery, match="other bytes"):
        await accept(wanted, Acceptance(again_seconds=()), stamp=stamp)


async def test_a_delivery_document_tells_the_format(tmp_path: Path) -> None:
    """The list of files is loaded again in the format in which it was read."""
    (tmp_path / "list.txt").write_bytes(b"a")
    (tmp_path / "list.ok").write_bytes(b"ok")
    (tmp_path / "a").write_bytes(b"1")
    accepted = await accept(terms(uri=f"{tmp_path}/list.txt"))
    document = {**accepted.delivery.to_xcom(), "files": None}
    assert document["format"] == {"name": "pair", "declared": {"version": "1"}}
    again = Delivery.from_xcom(document)
    files = await anyio.to_thread.run_sync(again.files)
    assert [file.path for file in files] == ["a"]
    assert again.form == Form.of("pair", {"version": "1"})


async def test_unlisted_files_are_told_and_documents_are_none(tmp_path: Path) -> None:
    """The documents of a format are no files that the manifest should list."""
    (tmp_path / "list.txt").write_bytes(b"a")
    (tmp_path / "list.ok").write_bytes(b"ok")
    (tmp_path / "a").write_bytes(b"1")
    form = Form.of("pair", {"version": "1"})
    found = await check(f"{tmp_path}/list.txt", form=form, on_unexpected="fail")
    assert found.ok
    (tmp_path / "extra").write_bytes(b"")
    found = await check(f"{tmp_path}/list.txt", form=form, on_unexpected="fail")
    assert [problem.place for problem in found.problems] == ["extra"]
