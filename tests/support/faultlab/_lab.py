"""The laboratory: one Airflow on PostgreSQL with two triggerers, its waits, and what is done to them."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import sqlalchemy as sa

from airflow_landmark.deliveries import SqlLedger
from airflow_landmark.testing import (
    LocalAirflow,
    LocalAirflowError,
    LocalPostgres,
    NotInTime,
    wait_until,
)
from faultproxy import FaultProxy
from httpserver import HttpServer

from ._destination import Count, Destination, settled
from ._meter import Usage, usage
from ._parcels import FolderPlace, WebPlace
from ._record import Record
from ._supervisor import TRIGGERERS, Supervisor
from ._told import Told
from ._waits import ALIVE_SECONDS, PATIENCE, Waits

__all__ = ["Lab", "open_lab"]

RECOVERY_SECONDS = 240.0
IDLE_SECONDS = 30
_LIVING = """
SELECT count(*) FROM job WHERE job_type = 'TriggererJob' AND end_date IS NULL
    AND latest_heartbeat > now() - interval '5 seconds'
"""

_HELD = """
SELECT count(*) FROM trigger JOIN job ON job.id = trigger.triggerer_id
WHERE job.end_date IS NULL AND job.latest_heartbeat > now() - make_interval(secs => :alive)
"""


@dataclass
class Lab:
    """What the trials share.

    :param seed: of what is drawn.
    :param results: file to which each trial's record is added; ``None`` for none.
    :ivar outage: seconds for which the database is away; the API server is for three times as long.
    :ivar source_outage: seconds for which the source is.
    :ivar idle: seconds after which PostgreSQL ends a session that stands still within a transaction.
    """

    airflow: LocalAirflow
    postgres: LocalPostgres
    supervisor: Supervisor
    http: HttpServer
    proxy: FaultProxy
    destination: Destination
    told: Told
    ledger: SqlLedger
    folder: FolderPlace
    web: WebPlace
    waits: Waits
    seed: int
    results: Path | None
    outage: float = 5.0
    idle: float = IDLE_SECONDS
    source_outage: float = field(default_factory=lambda: float(os.environ.get("FAULTS_SOURCE_SECONDS", "20")))
    records: list[Record] = field(default_factory=list)

    def ready(self, *, seconds: float = RECOVERY_SECONDS) -> None:
        """Wait until every component is up and beats, two triggerers among them."""
        wait_until(check=self._is_ready, what="all components up again", seconds=seconds, every=0.5)

    def busiest(self) -> str:
        """The triggerer that runs most waits."""
        pids = [pid for found in self.told.running().values() for pid in found]
        shares = {name: sum(pids.count(one.pid) for one in self.supervisor.tree(name)) for name in TRIGGERERS}
        return max(shares, key=lambda name: shares[name])

    def running(self, days: Collection[str]) -> bool:
        """Whether all these run in a living triggerer and belong to one."""
        return set(days) <= set(self.told.running()) and set(days) <= self.waits.owned()

    def until_running(self, days: Collection[str], *, seconds: float = RECOVERY_SECONDS) -> None:
        """Wait until all these run again."""
        days = list(days)
        wait_until(
            check=lambda: self.running(days), what=f"{len(days)} waits run", seconds=seconds, every=0.2
        )

    def until_written(self, days: Collection[str], *, seconds: float = PATIENCE) -> None:
        """Wait until all these have taken effect and their tasks have ended well."""
        wait_until(
            check=lambda: not self.unfinished(days),
            what=f"{len(days)} deliveries written",
            seconds=seconds,
            every=0.5,
        )

    def unfinished(self, days: Collection[str]) -> set[str]:
        """Which of these have not taken effect, or have a task that has not ended well."""
        missing = set(days) - self.destination.written()
        if missing:
            return missing
        states = self.waits.states(days)
        return {day for day in days if states.get(day) != {"success"}}

    def held(self) -> int:
        """How many waits belong to a triggerer with a fresh heartbeat, whoever's waits they are."""
        return int(self.airflow.database.query(sql=_HELD, values={"alive": ALIVE_SECONDS})[0][0])

    def usage(self) -> Usage:
        """Memory and descriptors of the triggerers now."""
        return usage(self.supervisor, TRIGGERERS)

    def count(self, days: Collection[str]) -> Count:
        """What became of these waits."""
        return self.destination.count(set(days), self.waits.truth)

    def unsettled(self, days: Collection[str]) -> int:
        """How many of these the ledger does not hold as taken, or holds a claim of."""
        return sum(not settled(self.ledger, day) for day in days)

    def add(self, record: Record) -> None:
        """Keep a record, and say it."""
        self.records.append(record)
        if self.results is not None:
            record.append_to(self.results)

    def where(self) -> str:
        """What is what, for the text of a failure."""
        days = [*self.waits.open, *self.waits.truth]
        states: dict[str, int] = {}
        for found in self.waits.states(days).values():
            word = "+".join(sorted(found))
            states[word] = states.get(word, 0) + 1
        parts = [
            f"seed {self.seed}",
            f"tasks {states}",
            f"owners {self.airflow.database.trigger_owners()}",
            f"told as running {len(self.told.running())}",
            f"ended so far {self.supervisor.exits}",
        ]
        tails = [f"-- {name}\n" + self.airflow.output(name=name)[-1500:] for name in self.airflow.components]
        return "\n".join([*parts, *tails])

    @contextmanager
    def explained(self) -> Iterator[None]:
        """Add what is what to an error about time."""
        try:
            yield
        except NotInTime as error:
            raise AssertionError(f"{error}\n{self.where()}") from error

    def _is_ready(self) -> bool:
        if not self.supervisor.all_run() or set(TRIGGERERS) - set(self.airflow.components):
            return False
        try:
            health = self.airflow.api.call(method="GET", path="monitor/health")
        except (OSError, ValueError, LocalAirflowError):
            return False
        parts = ("metadatabase", "scheduler", "dag_processor")
        if any(health[part]["status"] != "healthy" for part in parts):
            return False
        return bool(self.airflow.database.query(sql=_LIVING)[0][0] >= len(TRIGGERERS))


@contextmanager
def open_lab(home: Path, *, dags: Path, seed: int, results: Path | None) -> Iterator[Lab]:
    """Start everything; it ends with the block."""
    home.mkdir(parents=True, exist_ok=True)
    destination, told = Destination(home / "destination.db"), Told(home / "told.jsonl")
    environment = {
        "FAULTS_DESTINATION": str(destination.path),
        "FAULTS_TOLD": str(told.path),
        "AIRFLOW__CORE__MAX_MAP_LENGTH": "5000",
        "AIRFLOW__CORE__MAX_ACTIVE_TASKS_PER_DAG": "5000",
        "AIRFLOW__CORE__DEFAULT_POOL_TASK_SLOT_COUNT": "5000",
        "AIRFLOW__TRIGGERER__CAPACITY": "10000",
        "AIRFLOW__TRIGGERER__TRIGGERER_HEALTH_CHECK_THRESHOLD": str(ALIVE_SECONDS),
    } | {name: value for name, value in os.environ.items() if name.startswith("FAULTS_POKE")}
    with ExitStack() as stack:
        postgres = stack.enter_context(LocalPostgres())
        _limit_transactions(postgres.url)
        ledger = SqlLedger(postgres.url)
        ledger.create()
        http = stack.enter_context(HttpServer())
        proxy = stack.enter_context(FaultProxy("127.0.0.1", http.port))
        airflow = stack.enter_context(
            LocalAirflow(
                home=home / "airflow",
                dags=dags,
                database=postgres.url,
                triggerers=len(TRIGGERERS),
                environment=environment | {"FAULTS_LEDGER": postgres.url},
            )
        )
        yield Lab(
            airflow=airflow,
            postgres=postgres,
            supervisor=stack.enter_context(Supervisor(airflow)),
            http=http,
            proxy=proxy,
            destination=destination,
            told=told,
            ledger=ledger,
            folder=FolderPlace(home / "landing"),
            web=WebPlace(http, f"http://127.0.0.1:{proxy.port}"),
            waits=Waits(airflow, seed),
            seed=seed,
            results=results,
        )


def _limit_transactions(url: str) -> None:
    """End sessions that stand still within a transaction: what they have locked is passed over by others."""
    parsed = sa.make_url(url)
    with sa.create_engine(parsed, poolclass=sa.NullPool).begin() as base:
        setting = f"idle_in_transaction_session_timeout = '{IDLE_SECONDS}s'"
        base.execute(sa.text(f'ALTER DATABASE "{parsed.database}" SET {setting}'))
