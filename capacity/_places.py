"""The places that are read: a folder of Dags, a metadata database, a REST API; opened, and closed again."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path

from ._errors import CannotTell
from ._read_api import read_live_api, read_past_waits_api
from ._read_database import Database, configured_url, open_database
from ._read_history import PastWaits, read_past_waits, read_timeouts
from ._read_live import live_kinds, read_live
from ._read_rest import RestApi
from ._values import LiveState

__all__ = ["Opened", "Sources", "live_reader", "opened"]


@dataclass(frozen=True, kw_only=True)
class Sources:
    """Where to read from; each may be missing.

    :ivar dags: a folder of Dags.
    :ivar database: an SQLAlchemy URL; ``airflow``: the one that Airflow is configured with here.
    :ivar api: the REST API's address; used when there is no database.
    :ivar token: its bearer token.
    :ivar history_seconds: how far back to read; None: no history.
    :ivar begin: the horizon's begin, seconds since 1970.
    :ivar seconds: how long it is.
    :ivar queues_enabled: ``[triggerer] queues_enabled``.
    :ivar awake: Dags that are meant although they may be paused.
    """

    dags: Path | None = None
    database: str | None = None
    api: str | None = None
    token: str | None = None
    history_seconds: float | None = None
    begin: float
    seconds: float
    queues_enabled: bool = False
    awake: frozenset[str] = frozenset()

    def __repr__(self) -> str:
        return f"Sources(dags={self.dags}, begin={self.begin}, seconds={self.seconds})"  # never URL or token


@dataclass(frozen=True)
class Opened:
    """The places that were opened."""

    database: Database | None = None
    api: RestApi | None = None

    def live(self) -> LiveState | None:
        """The present state."""
        if self.database is not None:
            return read_live(self.database)
        return None if self.api is None else read_live_api(self.api)

    def now(self) -> float:
        """The moment by the database's clock, else by this machine's."""
        return time.time() if self.database is None else self.database.now()

    def kinds(self) -> dict[str, str]:
        """The trigger that each waiting task has now; the API does not tell them by task."""
        return {} if self.database is None else live_kinds(self.database)

    def timeouts(self, since: float) -> dict[str, float]:
        """Time-outs that were seen; the API does not tell them."""
        if self.database is None:
            return {}
        return read_timeouts(self.database, since=datetime.fromtimestamp(since, tz=timezone.utc))

    def past(
        self, since: float, from_trigger: set[tuple[str, str]], tell: Callable[[int, int], None]
    ) -> PastWaits | None:
        """The past waits."""
        moment = datetime.fromtimestamp(since, tz=timezone.utc)
        if self.database is not None:
            return read_past_waits(self.database, since=moment, from_trigger=from_trigger, tell=tell)
        return None if self.api is None else read_past_waits_api(self.api, since=moment, tell=tell)


@contextmanager
def opened(sources: Sources) -> Iterator[Opened]:
    """Database or API, for as long as the block lasts.

    :raises CannotTell: when the database cannot be opened.
    """
    with ExitStack() as stack:
        if sources.database is not None:
            url = configured_url() if sources.database == "airflow" else sources.database
            yield Opened(database=stack.enter_context(open_database(url)))
        elif sources.api is not None:
            yield Opened(api=RestApi(url=sources.api, token=sources.token))
        else:
            yield Opened()


@contextmanager
def live_reader(sources: Sources) -> Iterator[Callable[[], LiveState]]:
    """What reads the present state, again and again, for as long as the block lasts.

    :raises CannotTell: when the database cannot be opened; when it is called: when it cannot be read.
    """
    with opened(sources) as places:

        def read() -> LiveState:
            found = places.live()
            if found is None:
                raise CannotTell("the present state", "neither a database nor an API is given")
            return found

        yield read
