"""The delivery: what a sensor returns and what downstream tasks open."""

from __future__ import annotations

import asyncio
import copy
import errno
import json
import re
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_landmark.deliveries import AccessTrouble, BadDelivery, Delivery, Stamp, Unavailable, accept, run
from airflow_landmark.markers import Interval
from airflow_landmark.stores import Pin
from airflow_landmark.stores import _local_files as files

Make = Callable[..., Any]
DAY = Interval.parse("2024-10-01T00:00:00Z/2024-10-02T00:00:00Z")
STAMP = Stamp(
    uri="/in/_delivery.json", sha256="ab" * 32, size=10, pin=Pin(inode="1:2"), dataset="sales/orders",
    interval=DAY, version=3, files=1, size_bytes=5, rows=None,
)  # fmt: skip
DOCUMENT: dict[str, Any] = {
    **Delivery(STAMP, "digests").to_xcom(),
    "files": [
        {
            "path": "a.csv",
            "uri": "/in/a.csv",
            "size": 5,
            "digests": {"sha256": "00"},
            "rows": None,
            "pin": {"inode": "1:3"},
        }
    ],
    "claim": {"owner": "orders/scheduled/wait/-1"},
}


@pytest.fixture
def accepted(deliver: Make, make_terms: Make) -> Callable[..., Delivery]:
    """Return a function that delivers into the test's folder and accepts that."""

    def make(**how: Any) -> Delivery:
        uri = deliver(**how)
        return run(lambda: accept(make_terms(uri, verify="files"))).delivery

    return make


def test_it_survives_xcom(accepted: Make) -> None:
    """A delivery is plain JSON and reads back as itself, pins included."""
    delivery = accepted()
    document = json.loads(json.dumps(delivery.to_xcom(), allow_nan=False))
    back = Delivery.from_xcom(document)
    assert back == delivery
    assert back.files() == delivery.files()
    assert back.to_xcom() == document
    assert (back.dataset, back.version, back.interval) == ("sales/orders", 1, DAY)


def test_it_tells_in_whose_name_it_is_held(accepted: Make) -> None:
    """The owner of a claim survives XCom, and is no part of what the work is named after."""
    delivery = accepted()
    held = delivery.claimed_by("orders/scheduled/wait/-1")
    assert delivery.owner is None
    assert Delivery.from_xcom(held.to_xcom()) == held
    assert held.to_xcom() == delivery.to_xcom() | {"claim": {"owner": "orders/scheduled/wait/-1"}}
    assert held.operation_id("1") == delivery.operation_id("1")


def test_documents_of_the_release_before_claims_are_read() -> None:
    """A document without a claim is of a delivery that nobody holds."""
    document = {key: value for key, value in DOCUMENT.items() if key != "claim"}
    assert Delivery.from_xcom(document).owner is None
    assert Delivery.from_xcom(DOCUMENT).owner == "orders/scheduled/wait/-1"


def test_files_can_be_opened(accepted: Make) -> None:
    """A file of the delivery opens for reading under its path in the manifest."""
    delivery = Delivery.from_xcom(accepted().to_xcom())
    with delivery.open("sub/b.csv") as file:
        assert file.read() == b"id\n2\n3\n"
    with pytest.raises(KeyError, match="is not a file of this delivery"):
        delivery.open("../x")


async def test_files_can_be_opened_beside_an_event_loop(
    deliver: Make, make_terms: Make, loop_guard: Any
) -> None:
    """In a notebook or an async task, where a loop runs, files open all the same."""
    loop_guard.deactivate()  # opening blocks, as it says
    delivery = (await accept(make_terms(deliver(), verify="files"))).delivery
    with delivery.open("a.csv") as file:
        assert file.read() == b"id\n1\n"
    with await asyncio.to_thread(delivery.open, "a.csv") as file:
        assert file.read() == b"id\n1\n"


def test_only_what_was_verified_is_opened(accepted: Make, tmp_path: Path) -> None:
    """A file that was replaced, changed, removed or linked since it was verified is not opened."""
    delivery = accepted()
    time.sleep(0.02)
    (tmp_path / "a.csv").write_bytes(b"id\n1\n")
    with pytest.raises(BadDelivery, match="not what was verified"):
        delivery.open("a.csv")
    (tmp_path / "a.csv").unlink()
    with pytest.raises(BadDelivery):
        delivery.open("a.csv")
    (tmp_path / "a.csv").symlink_to("/etc/passwd")
    with pytest.raises(BadDelivery):
        delivery.open("a.csv")


@pytest.mark.slow
def test_a_large_one_is_small_in_xcom(accepted: Make, entry: Make, tmp_path: Path) -> None:
    """With 10,000 files the document stays below 32 KiB, and the list is loaded from the marker again."""
    (tmp_path / "part-7.csv").write_bytes(b"7")
    delivery = run_marker_only(accepted, [entry(f"part-{n}.csv", b"7") for n in range(10_000)])
    document = delivery.to_xcom()
    assert len(json.dumps(document)) < 32 * 1024
    assert document["files"] is None
    assert document["manifest"]["files"] == 10_000
    back = Delivery.from_xcom(document)
    assert [f.path for f in back.files()] == [f.path for f in delivery.files()]
    with back.open("part-7.csv") as file:
        assert file.read() == b"7"


def run_marker_only(accepted: Make, entries: list[Any]) -> Delivery:
    """A delivery of files that need not be there."""
    from airflow_landmark.deliveries import _verify as module

    really = module._Run.check_presence

    async def nothing(_run: Any, _pauses: Any) -> None:
        """Look at no file."""

    module._Run.check_presence = nothing  # type: ignore[method-assign]
    try:
        return accepted(files={}, entries=entries)  # type: ignore[no-any-return]
    finally:
        module._Run.check_presence = really  # type: ignore[method-assign]


def test_a_loaded_list_opens_only_the_promised_bytes(accepted: Make, tmp_path: Path) -> None:
    """A file that came without a pin is digested before it is opened: other bytes are refused."""
    document = {**accepted(files={"a.csv": b"1"}).to_xcom(), "files": None}
    with Delivery.from_xcom(document).open("a.csv") as file:
        assert file.read() == b"1"
    (tmp_path / "a.csv").write_bytes(b"2")
    with pytest.raises(BadDelivery, match="not the one that was promised"):
        Delivery.from_xcom(document).open("a.csv")


def test_a_loaded_list_is_loaded_once(accepted: Make, entry: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """The marker is read for the first file and not for every other."""
    document = {**accepted().to_xcom(), "files": None}
    back, looks, really = Delivery.from_xcom(document), [], files.look_at

    def look(*args: Any, **named: Any) -> Any:
        looks.append(args)
        return really(*args, **named)

    monkeypatch.setattr("airflow_landmark.stores._local.look_at", look)
    for _ in range(3):
        back.open("a.csv").close()
    assert len(looks) == 1
    assert back.to_xcom()["files"] is not None


@pytest.mark.parametrize("change", ["replaced", "removed", "half"])
def test_a_replaced_marker_is_not_loaded(
    accepted: Make, tmp_path: Path, make_marker: Make, change: str
) -> None:
    """A list is loaded from the very marker that was accepted, or not at all."""
    back = Delivery.from_xcom({**accepted().to_xcom(), "files": None})
    marker = tmp_path / "_delivery.json"
    if change == "replaced":
        marker.write_bytes(make_marker(2))
    elif change == "half":
        marker.write_bytes(b"{")
    else:
        marker.unlink()
    with pytest.raises(BadDelivery, match="not the one any more"):
        back.files()


@pytest.mark.parametrize(("number", "error"), [(errno.EIO, Unavailable), (errno.EACCES, AccessTrouble)])
def test_a_list_that_cannot_be_loaded(
    accepted: Make, monkeypatch: pytest.MonkeyPatch, number: int, error: type[Exception]
) -> None:
    """Trouble of the store is no bad delivery."""
    back = Delivery.from_xcom({**accepted().to_xcom(), "files": None})

    def look(*_args: Any, **_named: Any) -> Any:
        raise files.sorted_error(files.Address("file", "", "/in", "m"), OSError(number, "x"))

    monkeypatch.setattr("airflow_landmark.stores._local.look_at", look)
    with pytest.raises(error):
        back.files()


def test_an_operation_has_a_safe_and_stable_name() -> None:
    """The name of an operation is the same for every attempt, and safe as table, key and file name."""
    name = Delivery(STAMP, "digests").operation_id("v1")
    assert name == Delivery(STAMP, "rows").operation_id("v1")
    assert re.fullmatch(r"op_[0-9a-f]{40}", name)
    assert name == "op_77d7bbd654c83ec6c15ce17a39a5a23962eb3681"


def test_an_operation_has_a_name_of_its_own() -> None:
    """Another dataset, interval, version, marker or code is another operation; another place is not."""
    other_day = Interval.parse("2024-10-02T00:00:00Z/2024-10-03T00:00:00Z")
    stamps = [
        STAMP, replace(STAMP, dataset="sales"), replace(STAMP, interval=other_day), replace(STAMP, version=4),
        replace(STAMP, sha256="cd" * 32),
    ]  # fmt: skip
    names = [Delivery(stamp, "digests").operation_id("v1") for stamp in stamps]
    names.append(Delivery(STAMP, "digests").operation_id("v2"))
    assert len(set(names)) == 6
    moved = replace(STAMP, uri="/elsewhere/_delivery.json", pin=Pin())
    assert Delivery(moved, "digests").operation_id("v1") == names[0]


def test_no_two_parts_run_together() -> None:
    """Text that moves from one part of the name to the next makes another name."""
    one = Delivery(replace(STAMP, dataset="a", version=11), "digests").operation_id("1")
    other = Delivery(replace(STAMP, dataset="a", version=1), "digests").operation_id("11")
    assert one != other


GARBAGE = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.binary(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


@given(GARBAGE)
def test_garbage_is_a_value_error(value: Any) -> None:
    """Whatever is no delivery document raises ValueError and nothing else."""
    with pytest.raises(ValueError, match="delivery document"):
        Delivery.from_xcom(value)


def _paths(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The places of all values inside a document."""
    children = (
        value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    )
    return [path, *(place for key, child in children for place in _paths(child, (*path, key)))]


@given(place=st.sampled_from(_paths(DOCUMENT)[1:]), value=GARBAGE, drop=st.booleans())
def test_a_damaged_document_is_a_value_error(place: tuple[Any, ...], value: Any, drop: bool) -> None:
    """A document with a part missing or replaced is read as what it then says, or raises ValueError."""
    document = copy.deepcopy(DOCUMENT)
    holder = document
    for key in place[:-1]:
        holder = holder[key]
    if drop:
        del holder[place[-1]]
    else:
        holder[place[-1]] = value
    try:
        delivery = Delivery.from_xcom(document)
    except ValueError as error:
        assert len(str(error)) < 400
        assert str(error).isascii()
        return
    assert Delivery.from_xcom(delivery.to_xcom()) == delivery


@pytest.mark.parametrize(
    "document",
    [
        None,
        {},
        [],
        "x",
        {"landmark_delivery": 2},
        {**DOCUMENT, "landmark_delivery": 2},
        {"landmark_delivery": 1},
    ],
)
def test_other_formats_are_refused(document: Any) -> None:
    """A document of another or a newer format is refused, and the text says what to pass."""
    with pytest.raises(ValueError, match="delivery document"):
        Delivery.from_xcom(document)


@pytest.mark.parametrize("path", ["../x", "/etc/passwd", "a\x00b"])
def test_a_document_names_only_files_of_its_folder(path: str) -> None:
    """A document with a path that leads out of the delivery's folder is none."""
    document = copy.deepcopy(DOCUMENT)
    document["files"][0]["path"] = path
    with pytest.raises(ValueError, match="refused"):
        Delivery.from_xcom(document)


def test_files_without_a_pin_open_as_they_are(accepted: Make) -> None:
    """A file whose state is not known is opened as it is; digests tell what it should be."""
    document = accepted().to_xcom()
    for file in document["files"]:
        file["pin"] = None
    with Delivery.from_xcom(document).open("a.csv") as file:
        assert file.read() == b"id\n1\n"
