"""An Airflow of one's own for the time of a program: a new home, and an empty metadata database.

The environment is set when this module is imported: Airflow reads it at its own import, so this one comes
first. The folder is removed when the program ends.
"""

from __future__ import annotations

import atexit
import logging
import os
import shutil
import signal
import sqlite3
import sys
import tempfile
from contextlib import closing
from datetime import datetime
from pathlib import Path
from typing import Any

__all__ = ["query", "run_to_its_end"]


def _make_home() -> Path:
    """Keep the reader's own Airflow out of the program, and the program out of it."""
    home = Path(tempfile.mkdtemp(prefix="landmark-program-"))
    atexit.register(shutil.rmtree, home, ignore_errors=True)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    for name in [name for name in os.environ if name.startswith("AIRFLOW_")]:
        del os.environ[name]
    (home / "dags").mkdir()
    os.environ |= {
        "AIRFLOW_HOME": str(home),
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
        "AIRFLOW__DATABASE__LOAD_DEFAULT_CONNECTIONS": "False",
        "AIRFLOW__LOGGING__LOGGING_LEVEL": "CRITICAL",
    }
    return home


HOME = _make_home()

from airflow.dag_processing.bundles.manager import DagBundlesManager  # noqa: E402 - reads the environment
from airflow.dag_processing.dagbag import BundleDagBag, sync_bag_to_db  # noqa: E402 - as above
from airflow.sdk import DAG  # noqa: E402 - as above
from airflow.utils.db import initdb  # noqa: E402 - as above


def run_to_its_end(dag: DAG, *, logical_date: datetime) -> None:
    """Run a Dag by ``dag.test()``, which needs no scheduler but a database that knows the Dag."""
    # The failures are meant; their tracebacks would bury the table.
    logging.disable(logging.CRITICAL)
    initdb()
    DagBundlesManager().sync_bundles_to_db()
    bag = BundleDagBag(dag_folder=HOME / "dags", bundle_path=HOME / "dags", bundle_name="dags-folder")
    dag.relative_fileloc = f"{dag.dag_id}.py"
    bag.dags[dag.dag_id] = dag
    sync_bag_to_db(bag, "dags-folder", None)
    dag.test(logical_date=logical_date)


def query(sql: str) -> list[tuple[Any, ...]]:
    """Ask the metadata database."""
    with closing(sqlite3.connect(HOME / "airflow.db")) as db:
        return db.execute(sql).fetchall()
