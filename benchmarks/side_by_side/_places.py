"""Where the waits of a case look, and how a delivery comes there."""

from __future__ import annotations

import json
import os
import tempfile
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from ._plan import Case
from ._server import Server, serving

__all__ = ["DATASET", "INTERVAL", "Place", "opened"]

DATASET = "sales/orders"
INTERVAL = ("2026-05-01T00:00:00Z", "2026-05-02T00:00:00Z")
_BUCKET = "landing"
_MARKER = json.dumps(
    {
        "spec": "landmark/1",
        "dataset": DATASET,
        "interval": {"start": INTERVAL[0], "end": INTERVAL[1]},
        "version": 1,
        "files": [],
        "totals": {"files": 0, "bytes": 0, "rows": 0},
    }
).encode()


class Place(ABC):
    """One store. Its methods may block.

    :ivar store: ``"local"``, ``"http"`` or ``"s3"``.
    :ivar connection: the Airflow connection to it; ``None`` when there is none.
    """

    store: str
    connection: str | None = None

    @abstractmethod
    def path(self, number: int) -> str:
        """The path of a wait's marker."""

    def uri(self, number: int) -> str:
        """The same as our sensor is given it."""
        return self.path(number)

    @abstractmethod
    def put(self, number: int) -> float:
        """Deliver; returns the instant on the monotonic clock."""

    @abstractmethod
    def counts(self, *, reset: bool) -> Mapping[str, float]:
        """What the server counted since the last reset; empty when there is no server."""

    def environment(self) -> Mapping[str, str]:
        """What the process needs in its environment before it imports Airflow."""
        return {}


def _shared(case: Case, number: int) -> int:
    """The number of the folder or URL of a wait; the one of the warm-up, -1, is its own."""
    return number % case.places if case.places and number >= 0 else number


class _Local(Place):
    store = "local"

    def __init__(self, root: Path, case: Case) -> None:
        self._root, self._case = root, case
        for number in {_shared(case, number) for number in range(-1, case.waits)}:
            (root / str(number)).mkdir()

    def path(self, number: int) -> str:
        return f"{self._root}/{_shared(self._case, number)}/{number}.json"

    def put(self, number: int) -> float:
        path = Path(self.path(number))
        half = path.with_suffix(".half")
        half.write_bytes(_MARKER)
        half.rename(path)
        return time.monotonic()

    def counts(self, *, reset: bool) -> Mapping[str, float]:  # noqa: ARG002 - there is no server
        return {}


class _Served(Place):
    def __init__(self, server: Server, case: Case) -> None:
        self._server, self._case = server, case
        self.connection = f"{self.store}_bench"

    def put(self, number: int) -> float:
        return self._server.put(self.path(number), _MARKER)

    def counts(self, *, reset: bool) -> Mapping[str, float]:
        return self._server.counts(reset=reset)

    def environment(self) -> Mapping[str, str]:
        return {f"AIRFLOW_CONN_{self.store.upper()}_BENCH": json.dumps(self._connection())}

    @abstractmethod
    def _connection(self) -> dict[str, Any]: ...


class _Http(_Served):
    store = "http"

    def path(self, number: int) -> str:
        top = "landing" if self._case.status == 404 else f"refuse/{self._case.status}"
        return f"/{top}/{_shared(self._case, number)}/_delivery.json"

    def uri(self, number: int) -> str:
        return f"http://127.0.0.1:{self._server.port}{self.path(number)}"

    def _connection(self) -> dict[str, Any]:
        return {"conn_type": "http", "host": "http://127.0.0.1", "port": self._server.port}


class _S3(_Served):
    store = "s3"

    def path(self, number: int) -> str:
        return f"/{_BUCKET}/incoming/{number}/_delivery.json"

    def uri(self, number: int) -> str:
        return f"s3:/{self.path(number)}"

    def _connection(self) -> dict[str, Any]:
        extra = {"endpoint_url": f"http://127.0.0.1:{self._server.port}", "region_name": "eu-west-1"}
        return {"conn_type": "aws", "login": "testing", "password": "testing", "extra": extra}


@contextmanager
def opened(case: Case) -> Iterator[list[Place]]:
    """The places of the case: a wait's is found by its number, one place after the other."""
    stores = {"mixed": ("local", "http", "s3"), "none": ()}.get(case.store, (case.store,))
    with ExitStack() as stack:
        places: list[Place] = []
        for store in stores:
            if store == "local":
                root = stack.enter_context(tempfile.TemporaryDirectory())
                places.append(_Local(Path(root), case))
            elif store == "http":
                places.append(_Http(stack.enter_context(serving("_http_server")), case))
            else:
                places.append(_S3(stack.enter_context(serving("_s3_server")), case))
        for place in places:
            os.environ.update(place.environment())
        yield places
