"""One store for each place and event loop, closed with its last user."""

from __future__ import annotations

import threading

import anyio
import anyio.lowlevel
import pytest

from airflow_landmark.stores import LocalStore, PassingTrouble, Store, open_store, parse_uri
from airflow_landmark.stores import _registry as registry

HERE = parse_uri("/data/m.json")
ELSEWHERE = parse_uri("/other/m.json")


class Counting(LocalStore):
    """A store that counts how often it was made and closed."""

    made = closed = 0

    async def start(self) -> Counting:
        """Take a moment, as real stores do."""
        type(self).made += 1
        await anyio.sleep(0.01)
        return self

    async def aclose(self) -> None:
        """Take a moment too."""
        await anyio.sleep(0.01)
        type(self).closed += 1


@pytest.fixture
def counting(monkeypatch: pytest.MonkeyPatch) -> type[Counting]:
    """Return the class of the stores that are opened."""

    class Fresh(Counting):
        pass

    async def factory(_address: object) -> Store:
        return await Fresh().start()

    monkeypatch.setitem(registry._FACTORIES, "file", factory)
    return Fresh


async def test_users_at_the_same_time_share_one_store(counting: type[Counting]) -> None:
    """However many come together, a store is built once and closed once, after the last."""
    stores = set()

    async def use() -> None:
        async with open_store(HERE) as store:
            stores.add(store)
            await anyio.sleep(0.02)
            assert counting.closed == 0

    async with anyio.create_task_group() as group:
        for _ in range(50):
            group.start_soon(use)
    assert len(stores) == 1
    assert (counting.made, counting.closed) == (1, 1)


async def test_all_local_folders_share_one_store(counting: type[Counting]) -> None:
    """Two folders of the same machine are the same place."""
    async with open_store(HERE) as one, open_store(ELSEWHERE) as other:
        assert one is other


async def test_who_comes_later_gets_a_new_one(counting: type[Counting]) -> None:
    """A closed store is not handed out again, not even while it closes."""
    async with open_store(HERE) as first:
        pass
    async with open_store(HERE) as second:
        assert second is not first
    async with anyio.create_task_group() as group:

        async def short() -> None:
            async with open_store(HERE):
                pass

        group.start_soon(short)
        await anyio.sleep(0.015)  # it is closing now
        async with open_store(HERE):
            assert counting.closed < counting.made
    assert counting.made == counting.closed


async def test_a_store_that_cannot_be_opened(monkeypatch: pytest.MonkeyPatch) -> None:
    """When opening fails every user is told, and the next one tries again."""
    tries = []

    async def factory(_address: object) -> Store:
        tries.append(1)
        await anyio.lowlevel.checkpoint()
        if len(tries) <= 2:
            raise PassingTrouble("/data", "no")
        return await LocalStore().start()

    monkeypatch.setitem(registry._FACTORIES, "file", factory)
    for _ in range(2):
        with pytest.raises(PassingTrouble):
            async with open_store(HERE):
                pass
    async with open_store(HERE) as store:
        assert isinstance(store, LocalStore)


async def test_a_user_that_fails_closes_the_store(counting: type[Counting]) -> None:
    """A user that ends with an error is a user that ends."""
    with pytest.raises(ZeroDivisionError):
        async with open_store(HERE):
            raise ZeroDivisionError
    assert counting.closed == 1


@pytest.mark.parametrize("after", [0.0, 0.005, 0.012, 0.03])
async def test_cancelling_closes_the_store(counting: type[Counting], after: float) -> None:
    """Users that are cancelled while they open, wait or close leave no open store."""

    async def use() -> None:
        async with open_store(HERE):
            await anyio.sleep(0.01)

    async with anyio.create_task_group() as group:
        for _ in range(5):
            group.start_soon(use)
        await anyio.sleep(after)
        group.cancel_scope.cancel()
    assert counting.closed <= counting.made
    async with open_store(HERE) as store:
        assert isinstance(store, counting)


def test_each_event_loop_has_its_own(counting: type[Counting]) -> None:
    """Two loops in two threads at the same time have a store each."""
    stores, barrier = [], threading.Barrier(2)

    async def use() -> None:
        async with open_store(HERE) as store:
            stores.append(store)
            await anyio.to_thread.run_sync(barrier.wait)

    threads = [threading.Thread(target=anyio.run, args=(use,)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(stores)) == 2
    assert counting.made == counting.closed == 2


async def test_the_local_store_opens(no_descriptor_left: None) -> None:
    """A real store knows the mounts, and nothing is open when it has been closed."""
    async with open_store(HERE) as store:
        assert isinstance(store, Store)
        assert (await store.look(HERE)).sighting is None
