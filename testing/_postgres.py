"""A PostgreSQL server of one's own for as long as a test needs it."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import tempfile
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType

from ._errors import ComponentFailed, MissingSoftware
from ._ports import free_port
from ._processes import Processes, run_command
from ._waiting import wait_until

__all__ = ["LocalPostgres"]

DEBIAN_PROGRAMS = Path("/usr/lib/postgresql")
COMMAND_SECONDS = 60.0
# a test's database need not outlive the machine's power
SETTINGS = """
listen_addresses = '127.0.0.1'
unix_socket_directories = ''
max_connections = 200
fsync = off
synchronous_commit = off
full_page_writes = off
"""


class LocalPostgres:
    """A throw-away PostgreSQL server on a free port of 127.0.0.1; use it as a block::

        with LocalPostgres() as postgres, LocalAirflow(..., database=postgres.url) as airflow:
            ...

    Started by root, it runs as the account ``postgres`` that Debian's package made, since PostgreSQL
    refuses to run as root. Its data lie in a temporary folder that this account can reach. Airflow needs
    the drivers ``psycopg2-binary`` and ``asyncpg`` for it.

    :raises MissingSoftware: at the block's start, when PostgreSQL is not installed.
    """

    def __init__(self) -> None:
        self._port = free_port()
        self._account = "postgres" if os.getuid() == 0 else None
        self._folder: Path
        self._processes: Processes

    @property
    def url(self) -> str:
        """The SQLAlchemy URL of an empty database, for ``LocalAirflow(database=)``."""
        return f"postgresql+psycopg2://airflow@127.0.0.1:{self._port}/airflow"

    def __enter__(self) -> LocalPostgres:
        self._folder = Path(tempfile.mkdtemp(prefix="postgres-"))
        self._processes = Processes(folder=self._folder)
        try:
            self._create()
        except BaseException:
            self._remove()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._remove()

    def start(self) -> None:
        """Start the server again after :meth:`stop`, and wait until it answers.

        :raises ComponentFailed: when it ends; tells its last lines.
        """
        self._processes.start(
            name="postgres",
            command=[_program("postgres"), "-D", str(self._data)],
            environment=os.environ,
            user=self._account,
        )
        wait_until(check=self._answers, what="PostgreSQL answers", seconds=COMMAND_SECONDS)

    def stop(self) -> None:
        """Stop the server at once, as a crash does; its data stay until the block ends."""
        self._processes.signal(name="postgres", number=signal.SIGQUIT, whole=False)
        self._processes.end(name="postgres", grace=COMMAND_SECONDS)

    @property
    def _data(self) -> Path:
        return self._folder / "data"

    @property
    def _address(self) -> list[str]:
        return ["-h", "127.0.0.1", "-p", str(self._port), "-U", "airflow"]

    def _create(self) -> None:
        if self._account is not None:
            account = _account(self._account)
            os.chown(self._folder, account.pw_uid, account.pw_gid)
        initdb = ["-D", str(self._data), "-U", "airflow", "-A", "trust", "-E", "UTF8", "--no-sync"]
        self._run("initdb", initdb)
        with (self._data / "postgresql.conf").open("a") as settings:
            settings.write(f"{SETTINGS}port = {self._port}\n")
        self.start()
        self._run("createdb", [*self._address, "airflow"])

    def _remove(self) -> None:
        if "postgres" in self._processes.names:
            self.stop()
        self._processes.close()
        shutil.rmtree(self._folder)

    def _answers(self) -> bool:
        self._processes.check()
        try:
            self._run("pg_isready", self._address)
        except ComponentFailed:
            return False
        return True

    def _run(self, program: str, arguments: Sequence[str]) -> None:
        run_command(
            command=[_program(program), *arguments],
            environment=os.environ,
            folder=self._folder,
            seconds=COMMAND_SECONDS,
            user=self._account,
        )


def _program(name: str) -> str:
    """Return the path of one of PostgreSQL's programs; Debian keeps them off the PATH, by version."""
    found = sorted(DEBIAN_PROGRAMS.glob(f"*/bin/{name}"), key=lambda path: int(path.parts[-3]))
    program = str(found[-1]) if found else shutil.which(name)
    if program is None:
        raise MissingSoftware("PostgreSQL is not installed: apt-get install postgresql")
    return program


def _account(name: str) -> pwd.struct_passwd:
    try:
        return pwd.getpwnam(name)
    except KeyError:
        raise MissingSoftware("PostgreSQL is not installed: apt-get install postgresql") from None
