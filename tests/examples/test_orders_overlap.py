"""The orders pipeline when attempts overlap: what the destination refuses, and what readers see meanwhile."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from concurrent.futures import Executor, Future, ThreadPoolExecutor, wait
from pathlib import Path
from typing import Any

import pytest
from orders_errors import PublishConflict, Superseded
from orders_guard import move_forward
from orders_operation import Operation
from orders_publish import Pointer, build, look, publish, swap
from orders_replace import replace
from orders_tables import POINTERS
from sqlalchemy import text, update
from sqlalchemy.exc import DBAPIError

from ordering import (
    CORRECTED,
    DAY,
    GOOD,
    STEPS,
    Destination,
    at_points,
    delivered,
    published,
    state_of,
    through,
)

Connect = Callable[[], Destination]
SECONDS = 60


def stood_still(
    pool: Executor, step: Callable[..., str], delivery: Any, destination: Destination, *, before: str
) -> tuple[Future[str], threading.Event]:
    """A step that stands still before the statement that holds this text, and what lets it go on."""
    inside, go_on = threading.Event(), threading.Event()

    def pause(_number: int, statement: str) -> None:
        if before in statement:
            inside.set()
            assert go_on.wait(SECONDS)

    def attempt() -> str:
        with at_points(destination, pause):
            return step(delivery=delivery, destination=destination)

    running = pool.submit(attempt)
    assert inside.wait(SECONDS)
    return running, go_on


def test_a_late_attempt_is_refused(connect: Connect, tmp_path: Path) -> None:
    """An attempt at version 1 that commits after version 2 changes nothing: 35, not 60."""
    first, second = delivered(tmp_path, GOOD), delivered(tmp_path, CORRECTED, version=2)
    destination = connect()
    through(first, destination, last="validate")
    through(second, connect())
    done = state_of(destination)
    for step in STEPS.values():
        with pytest.raises(Superseded, match="2026-05-01 version 1 "):
            step(delivery=first, destination=destination)
    assert state_of(destination) == done
    assert sum(done["orders"].values()) == 35


def test_other_bytes_of_the_same_version_are_refused(connect: Connect, tmp_path: Path) -> None:
    """A version that was used again is refused loudly, and the first stays."""
    first, again = delivered(tmp_path / "a", GOOD), delivered(tmp_path / "b", CORRECTED)
    destination = connect()
    through(first, destination)
    with pytest.raises(Superseded, match="the same version with other bytes"):
        through(again, destination)
    assert state_of(destination)["orders"] == GOOD


@pytest.mark.parametrize("last", ["stage", "replace"])
def test_mended_code_admits_no_other_bytes(
    connect: Connect, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, last: str
) -> None:
    """A version that was used again is refused by first step and write, whatever the code's version."""
    first, again = delivered(tmp_path / "a", GOOD), delivered(tmp_path / "b", CORRECTED)
    destination = connect()
    through(first, destination, last="validate")
    monkeypatch.setattr("orders_settings.CODE_VERSION", 2)
    if last == "replace":  # both are staged before either is written
        through(again, destination, last="validate")
    monkeypatch.setattr("orders_settings.CODE_VERSION", 1)
    replace(delivery=first, destination=destination)
    monkeypatch.setattr("orders_settings.CODE_VERSION", 2)
    with pytest.raises(Superseded, match="the same version with other bytes"):
        STEPS[last](delivery=again, destination=destination)
    assert state_of(destination)["orders"] == GOOD


def test_paused_before_its_guarded_write(connect: Connect, tmp_path: Path) -> None:
    """An attempt that stood still just before its guarded statement is refused by it."""
    first, second = delivered(tmp_path, GOOD), delivered(tmp_path, CORRECTED, version=2)
    destination, other = connect(), connect()
    through(first, destination, last="validate")
    through(second, other, last="validate")

    def pause(number: int, statement: str) -> None:
        # on SQLite the first statement takes the lock: the pause comes before it
        if number == 1:
            assert statement.startswith(("BEGIN", "INSERT INTO orders_days"))
            assert replace(delivery=second, destination=other) == "replaced"

    with at_points(destination, pause), pytest.raises(Superseded):
        replace(delivery=first, destination=destination)
    assert state_of(connect())["orders"] == CORRECTED


def test_paused_inside_its_transaction(connect: Connect, tmp_path: Path) -> None:
    """An attempt that stands still inside its transaction makes the newer one wait; the newer one stays."""
    first, second = delivered(tmp_path, GOOD), delivered(tmp_path, CORRECTED, version=2)
    destination, other = connect(), connect()
    through(first, destination, last="validate")
    through(second, other, last="validate")
    with ThreadPoolExecutor(2) as pool:
        slow, go_on = stood_still(pool, replace, first, destination, before="COMMIT")
        newer = pool.submit(replace, delivery=second, destination=other)
        assert state_of(connect())["orders"] == {}
        go_on.set()
        assert (slow.result(SECONDS), newer.result(SECONDS)) == ("replaced", "replaced")
    assert state_of(connect())["orders"] == CORRECTED


def test_attempts_at_the_same_moment(connect: Connect, tmp_path: Path) -> None:
    """Several attempts at the same delivery at once end as one does: the day once, one notice."""
    delivery = delivered(tmp_path, GOOD)
    with ThreadPoolExecutor(4) as pool:
        for name, step in STEPS.items():
            together = threading.Barrier(4)

            def attempt(step: Callable[..., Any] = step, together: threading.Barrier = together) -> Any:
                destination = connect()
                together.wait(SECONDS)
                return step(delivery=delivery, destination=destination)

            answers = [future.result(SECONDS) for future in [pool.submit(attempt) for _ in range(4)]]
            if name in ("replace", "notify"):
                assert sum(str(answer).startswith("already") for answer in answers) == 3
    state = state_of(connect())
    assert state == {"version": 1, "orders": GOOD, "published": (1, 3, 60), "notices": 1}


@pytest.mark.parametrize("corrected", [CORRECTED, {}], ids=["correction", "emptied"])
def test_readers_see_whole_days(connect: Connect, tmp_path: Path, corrected: dict[str, int]) -> None:
    """At every statement of every step, readers see the old day or the new one, and nothing between."""
    through(delivered(tmp_path, GOOD), connect())
    second = delivered(tmp_path, corrected, version=2)
    days = [(1, GOOD), (2, corrected)]
    reports = [(1, 3, 60), (2, len(corrected), sum(corrected.values()))]
    seen = []

    def read(_number: int, _statement: str) -> None:
        state = state_of(reader)
        assert (state["version"], state["orders"]) in days
        assert state["published"] in reports
        seen.append(state["version"])

    reader, writer = connect(), connect()
    with at_points(writer, read):
        through(second, writer)
    assert seen == sorted(seen)
    assert set(seen) == {1, 2}
    assert len(seen) > 20


LOOK, BUILD, SWAP = 1, 2, 3
"""The transactions of a publish, in their order."""


def after(transaction: int, destination: Destination, meanwhile: Callable[[], Any]) -> Any:
    """Break into a publish once, between one of its transactions and the next."""
    commits = 0
    done = False

    def arrive(_number: int, statement: str) -> None:
        nonlocal commits, done
        if commits == transaction and not done:
            done = True
            meanwhile()
        commits += statement == "COMMIT"

    return at_points(destination, arrive)


def move_pointer(destination: Destination, operation: Operation) -> None:
    """Move the pointer by hand, as for a roll-back: the orders stay as they are."""
    row = {"operation": operation.name, "version": operation.version, "code": operation.code}
    with destination.writing() as connection:
        connection.execute(update(POINTERS).values(revision=POINTERS.c.revision + 1, **row))


def test_a_lost_answer_is_reconciled(connect: Connect, tmp_path: Path) -> None:
    """A swap that another attempt made, or whose answer was lost, is recognised by the operation's name."""
    delivery = delivered(tmp_path, GOOD)
    destination, twin = connect(), connect()
    through(delivery, destination, last="replace")
    with after(LOOK, destination, lambda: publish(delivery=delivery, destination=twin)):
        assert publish(delivery=delivery, destination=destination) == "already published"
    report = published(destination, DAY)
    assert report is not None
    assert (report.version, report.revision) == (1, 1)


@pytest.mark.parametrize("gap", [LOOK, BUILD])
@pytest.mark.parametrize(("last", "seen"), [("replace", None), ("notify", (2, 2, 35))])
def test_newer_orders_while_publishing(
    connect: Connect, tmp_path: Path, gap: int, last: str, seen: tuple[int, int, int] | None
) -> None:
    """A report is not released over newer orders, wherever between its steps they come."""
    first, second = delivered(tmp_path, GOOD), delivered(tmp_path, CORRECTED, version=2)
    destination, live = connect(), connect()
    through(first, destination, last="replace")
    with after(gap, destination, lambda: through(second, live, last=last)), pytest.raises(Superseded):
        publish(delivery=first, destination=destination)
    for step in (publish, STEPS["notify"]):
        with pytest.raises(Superseded):
            step(delivery=first, destination=destination)
    assert state_of(destination)["published"] == seen


def test_a_swap_holds_the_day(connect: Connect, tmp_path: Path) -> None:
    """Newer orders that arrive inside the swap wait for its commit."""
    first, second = delivered(tmp_path, GOOD), delivered(tmp_path, CORRECTED, version=2)
    destination, other = connect(), connect()
    through(first, destination, last="replace")
    through(second, other, last="validate")
    with ThreadPoolExecutor(2) as pool:
        swapping, go_on = stood_still(pool, publish, first, destination, before="INTO orders_pointers")
        newer = pool.submit(replace, delivery=second, destination=other)
        waiting = wait([newer], timeout=1).not_done
        go_on.set()
        assert (swapping.result(SECONDS), newer.result(SECONDS)) == ("published", "replaced")
    assert waiting == {newer}
    assert publish(delivery=second, destination=other) == "published"


def test_a_conflict_is_never_swapped_again(connect: Connect, tmp_path: Path) -> None:
    """A pointer that somebody moves between look and swap is a conflict; the retry looks anew."""
    first, second = delivered(tmp_path, GOOD), delivered(tmp_path, CORRECTED, version=2)
    destination = connect()
    through(first, destination)
    through(second, destination, last="replace")
    moved = functools.partial(move_pointer, connect(), Operation.of(first))
    with after(LOOK, destination, moved), pytest.raises(PublishConflict):
        publish(delivery=second, destination=destination)
    assert state_of(destination)["published"] == (1, 3, 60)
    assert publish(delivery=second, destination=destination) == "published"
    assert look(destination=destination, day=DAY) == pointer_at(Operation.of(second), 3)


def test_a_pointer_that_came_back_is_noticed(connect: Connect, tmp_path: Path) -> None:
    """A pointer that moved away and back has the same version and another revision: the swap fails."""
    deliveries = [
        delivered(tmp_path, orders, version=version)
        for version, orders in ((1, GOOD), (2, CORRECTED), (3, {"o9": 90}))
    ]
    first, third = Operation.of(deliveries[0]), Operation.of(deliveries[2])
    destination = connect()
    through(deliveries[0], destination)
    basis = look(destination=destination, day=DAY)
    through(deliveries[1], destination)
    move_pointer(destination, first)  # somebody rolls back
    back = look(destination=destination, day=DAY)
    assert (basis, back) == (pointer_at(first, 1), pointer_at(first, 3))
    through(deliveries[2], destination, last="replace")
    assert not swap(destination=destination, operation=third, basis=basis)
    assert look(destination=destination, day=DAY) == back


def pointer_at(operation: Operation, revision: int) -> Pointer:
    """The pointer at an operation's report."""
    return Pointer(
        operation=operation.name, version=operation.version, code=operation.code, revision=revision
    )


def test_a_first_pointer_is_set_once(connect: Connect, tmp_path: Path) -> None:
    """Where nothing was published, of two swaps from nothing one succeeds."""
    delivery = delivered(tmp_path, GOOD)
    destination = connect()
    through(delivery, destination, last="replace")
    operation = Operation.of(delivery)
    answers = [swap(destination=destination, operation=operation, basis=None) for _ in range(2)]
    assert answers == [True, False]


@pytest.mark.parametrize("built", [False, True], ids=["not built", "built"])
def test_no_report_of_another_operation(connect: Connect, tmp_path: Path, built: bool) -> None:
    """A report is never built of orders that another operation has written, nor released over them."""
    first, second = delivered(tmp_path, GOOD), delivered(tmp_path, CORRECTED, version=2)
    destination = connect()
    through(first, destination, last="replace")
    if built:  # and killed before the swap
        build(destination=destination, operation=Operation.of(first))
    through(second, destination, last="replace")
    with pytest.raises(Superseded):
        publish(delivery=first, destination=destination)
    with pytest.raises(Superseded):
        STEPS["notify"](delivery=first, destination=destination)
    assert state_of(destination)["published"] is None
    assert state_of(destination)["notices"] == 0


@pytest.mark.parametrize(
    "destination_url", [pytest.param("postgresql", marks=pytest.mark.slow)], indirect=True
)
def test_an_attempt_that_hangs_loses_its_lock(
    connect: Connect, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """PostgreSQL ends the transaction of an attempt that hangs, and another attempt goes on."""
    delivery = delivered(tmp_path, GOOD)
    through(delivery, connect(), last="validate")
    monkeypatch.setattr("orders_destination.IDLE_SECONDS", 1)
    hung = connect()

    def hang() -> None:
        with hung.writing() as connection:
            move_forward(connection, hung, Operation.of(delivery))
            # waits for the lock until the server takes it away
            assert replace(delivery=delivery, destination=connect()) == "replaced"
            connection.execute(text("SELECT 1"))

    with pytest.raises(DBAPIError):
        hang()
    assert state_of(connect())["orders"] == GOOD
