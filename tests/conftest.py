"""What all tests share: an Airflow home of their own, one event loop, and a guard against blocking it.

The environment is set here, before any test module can import Airflow: it is read at import.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import sqlite3
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from blockbuster import BlockBuster, blockbuster_ctx
from hypothesis import settings

if TYPE_CHECKING:
    from airflow.sdk import DAG
    from xdist.scheduler import LoadScopeScheduling

ROOMS = [path.parent.name for path in Path(__file__).parents[1].glob("*/py.typed")]
AIRFLOW_HOME = Path(tempfile.mkdtemp(prefix="landmark-tests-"))
EMPTY_DB = AIRFLOW_HOME / "empty.db"


def _isolate_airflow() -> None:
    """Keep the developer's own Airflow out of the tests, and the tests out of it."""
    for name in [name for name in os.environ if name.startswith("AIRFLOW_")]:
        del os.environ[name]
    (AIRFLOW_HOME / "dags").mkdir()
    os.environ["AIRFLOW_HOME"] = str(AIRFLOW_HOME)
    os.environ["AIRFLOW__CORE__LOAD_EXAMPLES"] = "False"
    os.environ["AIRFLOW__CORE__HOSTNAME_CALLABLE"] = "socket.gethostname"
    os.environ["AIRFLOW__DATABASE__LOAD_DEFAULT_CONNECTIONS"] = "False"


_isolate_airflow()

settings.register_profile("here", deadline=None, max_examples=100)
settings.register_profile("repeatable", deadline=None, max_examples=100, derandomize=True, database=None)
settings.load_profile("repeatable" if os.environ.get("CI") else "here")


SHARED = {"tests/e2e", "tests/faults"}
"""Folders whose files share one Airflow: starting it takes longer than most of their tests."""
OWN = {"test_backfill.py", "test_orders.py", "test_two_triggerers.py"}
"""Files in them that start one of their own."""


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> LoadScopeScheduling:
    """Run a file in one process, and files that share an Airflow in the same."""
    from xdist.scheduler import LoadScopeScheduling

    class Together(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            path = nodeid.split("::", 1)[0]
            folder, _, name = path.rpartition("/")
            return folder if folder in SHARED and name not in OWN else path

    return Together(config, log)


def pytest_unconfigure() -> None:
    """Remove the tests' Airflow home."""
    shutil.rmtree(AIRFLOW_HOME, ignore_errors=True)


def pytest_make_parametrize_id(val: object) -> str | None:
    """Name compressed bytes the same in every process: they hold the time of their making."""
    return "gzip" if isinstance(val, bytes) and val.startswith(b"\x1f\x8b") else None


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    """Run async tests on asyncio: it is the only event loop a triggerer has."""
    return "asyncio"


@pytest.fixture(autouse=True)
def loop_guard() -> Iterator[BlockBuster]:
    """Fail a test in which code of a room blocks the event loop.

    The rooms are found without importing them: only tests that need Airflow should pay for its import.
    """
    specs = [importlib.util.find_spec(f"airflow_landmark.{room}") for room in ROOMS]
    rooms = [importlib.util.module_from_spec(spec) for spec in specs if spec is not None]
    with blockbuster_ctx(rooms) as guard:
        yield guard


@pytest.fixture(scope="session")
def airflow_db() -> Path:
    """Return the file of an empty metadata database, made once."""
    from airflow.dag_processing.bundles.manager import DagBundlesManager
    from airflow.utils.db import initdb

    initdb()
    DagBundlesManager().sync_bundles_to_db()
    path = AIRFLOW_HOME / "airflow.db"
    with closing(sqlite3.connect(path)) as made, closing(sqlite3.connect(EMPTY_DB)) as kept:
        made.backup(kept)  # a plain copy of the file would miss what lies in its write-ahead log
    return path


@pytest.fixture(scope="session")
def empty_db(airflow_db: Path) -> Path:
    """Return the file of a metadata database that nobody has written to."""
    return EMPTY_DB


@pytest.fixture
def store_dag(airflow_db: Path) -> Callable[[DAG], None]:
    """Return a function that stores a Dag, after which its ``test()`` runs it without a scheduler.

    ``dag.test()`` starts no Dag that is not in the database, and stores only those it finds in files.
    """
    from airflow.dag_processing.dagbag import BundleDagBag, sync_bag_to_db

    def store(dag: DAG) -> None:
        folder = AIRFLOW_HOME / "dags"
        bag = BundleDagBag(dag_folder=folder, bundle_path=folder, bundle_name="dags-folder")
        dag.relative_fileloc = f"{dag.dag_id}.py"
        bag.dags[dag.dag_id] = dag
        sync_bag_to_db(bag, "dags-folder", None)

    return store
