"""The metadata database is only read, and no error shows a credential."""

from __future__ import annotations

from pathlib import Path

import pytest
import sqlalchemy as sa

from airflow_landmark.capacity import CannotTell, MissingRights, MissingSoftware, OlderAirflow, Unreachable
from airflow_landmark.capacity._backfill_runs import Asked
from airflow_landmark.capacity._gather import gather
from airflow_landmark.capacity._places import Sources
from airflow_landmark.capacity._read_backfill import preview
from airflow_landmark.capacity._read_database import open_database
from airflow_landmark.capacity._values import Inputs
from airflow_landmark.testing import LocalPostgres
from metadata import Metadata

SECRET = "s3cr3t-pass"  # noqa: S105


def _all_readers(url: str) -> None:
    """Run everything that reads a database."""
    sources = Sources(database=url, history_seconds=86_400.0, begin=0.0, seconds=86_400.0)
    gather(Inputs(), sources, tell=lambda *_: None)
    with open_database(url) as database, pytest.raises(CannotTell, match="no Dag"):
        preview(database, Asked(dag_id="none", begin=0.0, to=1.0))


@pytest.mark.parametrize(
    ("url", "kind", "text"),
    [
        ("postgresql://u:s3cr3t-pass@127.0.0.1:9/a", Unreachable, "refused"),
        ("postgresql+asyncpg://u:s3cr3t-pass@h/a", Unreachable, "asynchronous driver; give postgresql://"),
        ("postgresql+nothing://u:s3cr3t-pass@h/a", MissingSoftware, "pip install"),
        ("mysql://u:s3cr3t-pass@h/a", Unreachable, "only SQLite and PostgreSQL"),
        ("s3cr3t-pass", Unreachable, "is not an SQLAlchemy URL"),
        ("postgresql://u:s3cr3t-pass@h:port/a", Unreachable, "is not an SQLAlchemy URL"),
        ("sqlite:////no/such/file.db", Unreachable, "no such file"),
        ("sqlite://", Unreachable, "no such file"),
    ],
)
def test_wrong_urls(url: str, kind: type[Exception], text: str) -> None:
    """Each is told in one line, with what to do, and without the password."""
    with pytest.raises(kind, match=text) as caught, open_database(url) as database:
        database.rows("SELECT 1")
    assert SECRET not in str(caught.value)
    assert "\n" not in str(caught.value)
    assert caught.value.__context__ is None or caught.value.__suppress_context__


def test_a_missing_sqlite_file_is_not_made(tmp_path: Path) -> None:
    """A mistyped path stays a mistyped path."""
    with pytest.raises(Unreachable), open_database(f"sqlite:///{tmp_path}/airflow.db"):
        pass
    assert list(tmp_path.iterdir()) == []


def test_a_database_of_something_else(tmp_path: Path) -> None:
    """It is told apart from an old Airflow."""
    other = Metadata(f"sqlite:///{tmp_path}/other.db")
    other.execute("CREATE TABLE thing (id INTEGER)")
    with pytest.raises(OlderAirflow, match="no Airflow database"):
        _all_readers(other.url)


def test_nothing_but_select(metadata: Metadata, monkeypatch: pytest.MonkeyPatch) -> None:
    """No reader sends another statement."""
    sent: list[str] = []
    make = sa.create_engine

    def listening(*args: object, **kwargs: object) -> sa.Engine:
        engine = make(*args, **kwargs)  # type: ignore[arg-type]
        sa.event.listen(engine, "before_cursor_execute", lambda *call: sent.append(call[2]))
        return engine

    monkeypatch.setattr(sa, "create_engine", listening)
    _all_readers(metadata.url)
    assert len(sent) > 20
    assert [one for one in sent if not one.lstrip().upper().startswith("SELECT")] == []


def test_writing_is_refused_by_the_connection(metadata: Metadata) -> None:
    """Even a statement that slipped in could not write."""
    with open_database(metadata.url) as database, pytest.raises(CannotTell, match=r"read-?only"):
        database.rows("DELETE FROM log")


@pytest.mark.slow
def test_rights_to_read_suffice(postgres: LocalPostgres) -> None:
    """A user who may only SELECT can run everything; one who may not is told so."""
    url = sa.make_url(postgres.url)
    owner = Metadata(postgres.url)
    for name in ("reader", "nobody"):
        owner.execute(f"CREATE ROLE {name} LOGIN PASSWORD '{SECRET}'")
    owner.execute("GRANT SELECT ON ALL TABLES IN SCHEMA public TO reader")
    _all_readers(url.set(username="reader", password=SECRET).render_as_string(hide_password=False))
    with pytest.raises(MissingRights, match="reading is refused: permission denied") as caught:
        _all_readers(url.set(username="nobody", password=SECRET).render_as_string(hide_password=False))
    assert SECRET not in str(caught.value)


def test_sources_show_no_credentials() -> None:
    """Neither URL nor token stands in what a log might show."""
    sources = Sources(database=f"postgresql://u:{SECRET}@h/a", token=SECRET, begin=0.0, seconds=1.0)
    assert SECRET not in repr(sources)
