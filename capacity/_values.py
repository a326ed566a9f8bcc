"""What goes in: waits, Dags, pools, triggerer deployments, scenarios; and what past and present look like.

All times are seconds, all instants seconds since 1970 (UTC), all sizes bytes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from ._durations import Duration
from ._origin import ONE, Estimate
from ._schedules import Arrivals

__all__ = [
    "DEFAULT_POOL",
    "Dag",
    "Deferral",
    "Deployment",
    "Inputs",
    "LiveState",
    "LiveTrigger",
    "LiveTriggerer",
    "Mode",
    "Partition",
    "Platform",
    "Pool",
    "Retry",
    "Scenario",
    "ScenarioKind",
    "Wait",
]

Mode = Literal["deferrable", "reschedule", "poke"]
ScenarioKind = Literal["late", "all-late", "backfill", "lost", "rolling"]

DEFAULT_POOL = "default_pool"


@dataclass(frozen=True, order=True)
class Partition:
    """Triggers that only triggerers of the same queue and team run.

    :ivar queue: the trigger queue; empty: triggers without a queue.
    :ivar team: the team; empty: none.
    """

    queue: str = ""
    team: str = ""

    def __str__(self) -> str:
        queue = f"queue {self.queue}" if self.queue else "no queue"
        return f"{queue}, team {self.team}" if self.team else queue


@dataclass(frozen=True, kw_only=True)
class Retry:
    """How a task is retried.

    :ivar retries: how often, beyond the first try.
    :ivar delay: seconds before the first retry.
    :ivar longest: the cap of the delay; None: Airflow's 24 hours.
    :ivar exponential: whether the delay doubles with every retry.
    """

    retries: int = 0
    delay: float = 300.0
    longest: float | None = None
    exponential: bool = False


@dataclass(frozen=True, kw_only=True)
class Wait:
    """One task that waits, in every run of its Dag.

    :ivar name: unique; for tasks of Dags ``dag_id.task_id``.
    :ivar kind: the trigger's class path.
    :ivar arrivals: when it starts: fires of a schedule, a rate, or always.
    :ivar duration: how long it waits, with where that is known from.
    :ivar width: instances at every start: the mapped width, or how many such tasks there are.
    :ivar offset: seconds from the run's start to the deferral.
    :ivar timeout: after which the wait ends in any case; None: never.
    :ivar poll_interval: seconds between two checks; None: the kind's own.
    :ivar source: what it waits for; waits on one source are late together. None: a source of its own.
    :ivar mode: only deferrable waits need triggerers; others are priced, and may be converted.
    :ivar from_trigger: ``start_from_trigger``: no queue, no pool, no concurrency limit holds for it.
    :ivar sensor: a deferral that times out is not retried.
    :ivar after: names of waits of the same Dag that end before this one begins.
    """

    name: str
    kind: str
    arrivals: Arrivals
    duration: Duration
    width: Estimate = ONE
    offset: float = 0.0
    timeout: float | None = None
    poll_interval: float | None = None
    source: str | None = None
    pool: str = DEFAULT_POOL
    pool_slots: int = 1
    queue: str = ""
    team: str = ""
    dag: str | None = None
    mode: Mode = "deferrable"
    from_trigger: bool = False
    sensor: bool = True
    retry: Retry = Retry()
    max_active_tis_per_dag: int | None = None
    max_active_tis_per_dagrun: int | None = None
    after: tuple[str, ...] = ()

    @property
    def partition(self) -> Partition:
        """Which triggerers run it. A task that starts in the triggerer has no queue, whatever it says."""
        return Partition("" if self.from_trigger else self.queue, self.team)

    @property
    def group(self) -> str:
        """What it is late together with."""
        return self.source or self.name

    @property
    def dag_name(self) -> str:
        """Its Dag; waits of no Dag stand for themselves."""
        return self.dag or self.name


@dataclass(frozen=True, kw_only=True)
class Dag:
    """What limits the runs of a Dag.

    :ivar max_active_runs: runs at once, backfills apart.
    :ivar backfill_runs: the sum of ``max_active_runs`` of its active backfills, which come on top.
    """

    name: str
    max_active_runs: int = 16
    backfill_runs: int = 0

    @property
    def runs(self) -> int:
        """Runs alive at once."""
        return self.max_active_runs + self.backfill_runs


@dataclass(frozen=True, kw_only=True)
class Pool:
    """A pool of worker slots; ``slots`` -1: without a limit."""

    name: str
    slots: int
    include_deferred: bool = False


@dataclass(frozen=True, kw_only=True)
class Deployment:
    """Triggerers that are alike.

    :ivar capacity: ``[triggerer] capacity`` or ``--capacity``.
    :ivar queues: what ``--queues`` names; empty: it serves triggers without a queue.
    :ivar cpu: cores that one triggerer may use.
    :ivar memory_bytes: the limit of one triggerer; None: not known, not checked.
    :ivar nofile: the soft limit of open files of one process; None: not known, not checked.
    :ivar spare: how many may be lost at once while the waits still fit.
    :ivar heartbeat: ``job_heartbeat_sec``.
    :ivar dead_after: ``triggerer_health_check_threshold``.
    :ivar select_per_loop: ``max_trigger_to_select_per_loop``.
    """

    name: str
    replicas: int
    capacity: int = 1000
    queues: tuple[str, ...] = ()
    team: str = ""
    cpu: float = 1.0
    memory_bytes: int | None = None
    nofile: int | None = None
    spare: int = 1
    heartbeat: float = 5.0
    dead_after: float = 30.0
    select_per_loop: int = 50

    @property
    def partitions(self) -> tuple[Partition, ...]:
        """What it serves."""
        return tuple(Partition(queue, self.team) for queue in self.queues or ("",))


@dataclass(frozen=True, kw_only=True)
class Platform:
    """What stands around the triggerers.

    :ivar worker_slots: tasks that run at once on all workers; None: not known.
    :ivar resume_seconds: how long a resumed task holds a worker slot.
    :ivar headroom: the part by which the peak is raised before it is divided among triggerers.
    """

    worker_slots: int | None = None
    resume_seconds: float = 2.0
    headroom: float = 0.2
    queues_enabled: bool = False


@dataclass(frozen=True, kw_only=True)
class Scenario:
    """What may happen.

    :ivar kind: ``late``: sources are late by ``seconds``; ``all-late``: all are; ``backfill``: of ``dag``,
        ``runs`` runs, ``at_once`` of them together; ``lost``: ``count`` triggerers are gone; ``rolling``:
        triggerers are restarted one after the other.
    """

    name: str
    kind: ScenarioKind
    sources: tuple[str, ...] = ()
    seconds: float = 0.0
    dag: str = ""
    runs: int = 0
    at_once: int = 10
    count: int = 1


@dataclass(frozen=True, kw_only=True)
class Inputs:
    """All that is known before anything is computed.

    :ivar notes: what a reader of the answer must know about how these were found.
    """

    waits: tuple[Wait, ...] = ()
    dags: Mapping[str, Dag] = field(default_factory=dict)
    pools: Mapping[str, Pool] = field(default_factory=dict)
    deployments: tuple[Deployment, ...] = ()
    scenarios: tuple[Scenario, ...] = ()
    platform: Platform = Platform()
    notes: tuple[str, ...] = ()

    def dag_of(self, wait: Wait) -> Dag:
        """The Dag of a wait; one with Airflow's defaults when nothing is known of it."""
        return self.dags.get(wait.dag_name) or Dag(name=wait.dag_name)


@dataclass(frozen=True)
class Deferral:
    """One past wait: from the deferral to its end; ``end`` None: it still waits.

    :ivar name: the wait's name, ``dag_id.task_id``.
    """

    name: str
    start: float
    end: float | None
    partition: Partition = Partition()


@dataclass(frozen=True, kw_only=True)
class LiveTriggerer:
    """A triggerer job: its host, the age of its last heartbeat, and the triggers that it has.

    :ivar capacity: None: not known, since Airflow records it nowhere.
    """

    job: int
    host: str
    heartbeat_age: float
    triggers: int
    alive: bool
    team: str = ""
    capacity: int | None = None


@dataclass(frozen=True, kw_only=True)
class LiveTrigger:
    """A trigger that no living triggerer has.

    :ivar age: seconds since it was made.
    :ivar timeout_in: seconds until its task times out; None: never.
    """

    trigger: int
    kind: str
    age: float
    name: str = ""
    partition: Partition = Partition()
    timeout_in: float | None = None


@dataclass(frozen=True, kw_only=True)
class LiveState:
    """What the metadata database holds now.

    :ivar taken_at: when it was read.
    :ivar kinds: triggers by class path.
    :ivar partitions: triggers by queue and team.
    :ivar starving: triggers without a living triggerer, oldest first; capped.
    :ivar starving_total: how many there are.
    :ivar pools: name to slots, running, queued, deferred, open, include_deferred.
    """

    taken_at: float
    triggerers: tuple[LiveTriggerer, ...] = ()
    triggers: int = 0
    kinds: Mapping[str, int] = field(default_factory=dict)
    partitions: Mapping[Partition, int] = field(default_factory=dict)
    starving: tuple[LiveTrigger, ...] = ()
    starving_total: int = 0
    pools: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    watchers: int = 0
    callbacks: int = 0
    backfills: Mapping[str, int] = field(default_factory=dict)
