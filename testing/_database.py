"""Reads of the metadata database: what the REST API does not tell, or tells slowly."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sqlalchemy import Engine

__all__ = ["MetadataDatabase"]


class MetadataDatabase:
    """Airflow's metadata database, to read.

    :param url: its SQLAlchemy URL.
    """

    def __init__(self, *, url: str) -> None:
        self._url = url
        self._made: Engine | None = None

    def query(self, *, sql: str, values: dict[str, Any] | None = None) -> list[tuple[Any, ...]]:
        """Return the rows of a query; ``values`` fill its ``:names``."""
        from sqlalchemy import text  # noqa: PLC0415 - half a second, not needed by every test

        with self._engine().connect() as connection:
            return [tuple(row) for row in connection.execute(text(sql), values or {})]

    def trigger_count(self) -> int:
        """Return how many waits are stored."""
        return int(self.query(sql="select count(*) from trigger")[0][0])

    def trigger_owners(self) -> dict[int | None, int]:
        """Return how many waits each triggerer holds, by its job id; None: held by no one."""
        rows = self.query(sql="select triggerer_id, count(*) from trigger group by triggerer_id")
        return {owner: int(count) for owner, count in rows}

    def task_states(self, *, dag_id: str, run_id: str) -> dict[str, int]:
        """Return how many task instances of a run are in each state; ``"none"``: not scheduled yet."""
        rows = self.query(
            sql="select coalesce(state, 'none'), count(*) from task_instance "
            "where dag_id = :dag_id and run_id = :run_id group by state",
            values={"dag_id": dag_id, "run_id": run_id},
        )
        return {str(state): int(count) for state, count in rows}

    def newest_job(self) -> int:
        """Return the highest id that a component has taken so far; 0: none has."""
        return int(self.query(sql="select coalesce(max(id), 0) from job")[0][0])

    def triggerers_since(self, *, job: int) -> list[int]:
        """Return the job ids of the triggerers that have started after ``job`` and not ended in order."""
        rows = self.query(
            sql="select id from job where job_type = 'TriggererJob' and state = 'running' and id > :job",
            values={"job": job},
        )
        return [int(row[0]) for row in rows]

    def close(self) -> None:
        """Give up the connection; the next query makes a new one."""
        if self._made is not None:
            self._made.dispose()
            self._made = None

    def _engine(self) -> Engine:
        if self._made is None:
            from sqlalchemy import create_engine, pool  # noqa: PLC0415 - as above

            # no pool: an idle connection would be the one that a restarted server has dropped
            self._made = create_engine(self._url, poolclass=pool.NullPool)
        return self._made
