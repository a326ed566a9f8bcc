"""The environment in which all components of one Airflow run."""

from __future__ import annotations

import base64
import os
import secrets
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

__all__ = ["Place", "component_environment"]

TESTING = {
    "CORE__LOAD_EXAMPLES": "False",
    "CORE__EXECUTOR": "LocalExecutor",
    "CORE__PARALLELISM": "4",  # that many workers are forked at the start
    "CORE__DAGS_ARE_PAUSED_AT_CREATION": "False",
    "CORE__SIMPLE_AUTH_MANAGER_ALL_ADMINS": "True",
    "CORE__HOSTNAME_CALLABLE": "socket.gethostname",  # the default one asks a name server
    "DATABASE__LOAD_DEFAULT_CONNECTIONS": "False",
}

# Airflow's defaults spare a busy installation; a test waits for each of them.
FAST = {
    "CORE__MIN_SERIALIZED_DAG_UPDATE_INTERVAL": "0",
    "CORE__DEFAULT_TASK_RETRY_DELAY": "1",
    "CORE__MAX_ACTIVE_TASKS_PER_DAG": "1000",
    "CORE__DEFAULT_POOL_TASK_SLOT_COUNT": "1000",
    "DAG_PROCESSOR__REFRESH_INTERVAL": "1",
    # A file that has changed is read at once. To read the others again and again took half a core.
    "DAG_PROCESSOR__MIN_FILE_PROCESS_INTERVAL": "300",
    "DAG_PROCESSOR__BUNDLE_REFRESH_CHECK_INTERVAL": "1",
    "SCHEDULER__SCHEDULER_HEARTBEAT_SEC": "1",
    "SCHEDULER__JOB_HEARTBEAT_SEC": "1",
    "SCHEDULER__SCHEDULER_IDLE_SLEEP_TIME": "0.2",
    "SCHEDULER__TRIGGER_TIMEOUT_CHECK_INTERVAL": "1",
    "SCHEDULER__TASK_QUEUED_TIMEOUT_CHECK_INTERVAL": "10",
    "SCHEDULER__ORPHANED_TASKS_CHECK_INTERVAL": "10",
    # how soon a task whose worker was killed is noticed
    "SCHEDULER__TASK_INSTANCE_HEARTBEAT_TIMEOUT": "20",
    "SCHEDULER__TASK_INSTANCE_HEARTBEAT_TIMEOUT_DETECTION_INTERVAL": "2",
    # A worker may notice only after this long that its task has ended. Until then it takes no other, and
    # a task that was resumed meanwhile is failed as "killed externally".
    "WORKERS__MIN_HEARTBEAT_INTERVAL": "1",
    # how soon another triggerer takes over the waits of a dead one
    "TRIGGERER__JOB_HEARTBEAT_SEC": "1",
    "TRIGGERER__TRIGGERER_HEALTH_CHECK_THRESHOLD": "6",
}


@dataclass(frozen=True, kw_only=True)
class Place:
    """Where one Airflow lives, and the secrets its components share.

    :param home: its own folder: configuration, logs, outputs and, on SQLite, the database.
    :param dags: the folder of Dag files.
    :param plugins: the folder of plugins; None: none.
    :param database: the metadata database's SQLAlchemy URL.
    :param port: the API server's port on 127.0.0.1.
    """

    home: Path
    dags: Path
    plugins: Path | None
    database: str
    port: int
    # made once for all components: one that is started later must still be trusted
    api_secret: str = field(default_factory=lambda: secrets.token_urlsafe(48), repr=False)
    token_secret: str = field(default_factory=lambda: secrets.token_urlsafe(64), repr=False)
    fernet_key: str = field(
        default_factory=lambda: base64.urlsafe_b64encode(secrets.token_bytes(32)).decode(), repr=False
    )

    @property
    def url(self) -> str:
        """The address of the API server and the web interface."""
        return f"http://127.0.0.1:{self.port}"

    def settings(self) -> dict[str, str]:
        """Return the Airflow settings that follow from the place."""
        return {
            "CORE__DAGS_FOLDER": str(self.dags),
            "CORE__PLUGINS_FOLDER": str(self.plugins or self.home / "plugins"),
            "CORE__EXECUTION_API_SERVER_URL": f"{self.url}/execution/",
            "CORE__FERNET_KEY": self.fernet_key,
            "API__BASE_URL": self.url,
            "API__SECRET_KEY": self.api_secret,
            "API_AUTH__JWT_SECRET": self.token_secret,
            "DATABASE__SQL_ALCHEMY_CONN": self.database,
            "LOGGING__BASE_LOG_FOLDER": str(self.home / "logs"),
        }


def component_environment(*, place: Place, fast: bool, extra: Mapping[str, str]) -> dict[str, str]:
    """Return the whole environment of a component.

    Airflow settings of the surrounding process are left out, so that a test does not depend on them.

    :param fast: with the short intervals of tests; False: with Airflow's own.
    :param extra: variables that are added last, and so win.
    """
    settings = TESTING | (FAST if fast else {}) | place.settings()
    outside = {name: value for name, value in os.environ.items() if not name.startswith("AIRFLOW_")}
    # A triggerer does not look into the Dags folder by itself for a trigger that is defined there.
    paths = [str(place.dags), outside.get("PYTHONPATH", "")]
    ours = {
        "AIRFLOW_HOME": str(place.home),
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), outside.get("PATH", os.defpath)]),
        "PYTHONPATH": os.pathsep.join(path for path in paths if path),
        "PYTHONUNBUFFERED": "1",
        "NO_COLOR": "1",
        "no_proxy": ",".join(["127.0.0.1", "localhost", *filter(None, [outside.get("no_proxy")])]),
    }
    return outside | {f"AIRFLOW__{name}": value for name, value in settings.items()} | ours | dict(extra)
