"""Asking Airflow for a connection, in a triggerer, in a task and outside of both."""

from __future__ import annotations

from typing import Any

from airflow.sdk import Connection
from airflow.sdk.exceptions import AirflowNotFoundException, AirflowRuntimeError, ErrorType
from anyio import to_thread

from airflow_landmark.markers import show
from airflow_landmark.stores import InvalidAccess, PassingTrouble

from ._access_known import Known

__all__ = ["look_up"]


async def look_up(conn_id: str) -> Known:
    """The connection of that name.

    Asks on the event loop, never with Airflow's synchronous accessors: in a triggerer these are answered
    by the very loop that they would block.

    :raises InvalidAccess: when Airflow knows none, or does not give it to this task.
    :raises PassingTrouble: when Airflow cannot be asked now.
    """
    place = f"connection {show(conn_id)}"
    await to_thread.run_sync(_prepare)
    try:
        connection = await _connection(conn_id)
    except AirflowNotFoundException:
        if await _is_out_of_reach(conn_id):
            raise PassingTrouble(place, "Airflow's API server does not answer the question for it") from None
        text = "Airflow knows none of this name: create it where the triggerer and the workers look for it "
        text += "(metadata database, AIRFLOW_CONN_..., secrets backend), or correct conn_id"
        raise InvalidAccess(place, text) from None
    except PermissionError:
        raise InvalidAccess(place, "Airflow does not give it to this task") from None
    except Exception as error:  # noqa: BLE001 - whatever it is, its text may tell secrets
        raise PassingTrouble(place, f"Airflow could not look it up ({type(error).__name__})") from None
    return Known.of(connection)


def _prepare() -> None:
    """Import what the look-up needs: Airflow would do so on the loop, and secrets backends take seconds."""
    from airflow.sdk.execution_time import cache, comms, task_runner  # noqa: F401, PLC0415
    from airflow.sdk.execution_time.supervisor import ensure_secrets_backend_loaded  # noqa: PLC0415

    ensure_secrets_backend_loaded()


async def _connection(conn_id: str) -> Any:
    supervisor = _supervisor()
    if supervisor is None or hasattr(supervisor, "asend"):
        return await Connection.async_get(conn_id)
    # The supervisor of dag.test() is synchronous only, and is asked by nobody else meanwhile.
    return await to_thread.run_sync(Connection.get, conn_id)


def _supervisor() -> Any:
    """What a triggerer or a task asks; ``None`` outside of both."""
    from airflow.sdk.execution_time import task_runner  # noqa: PLC0415

    return getattr(task_runner, "SUPERVISOR_COMMS", None)


async def _is_out_of_reach(conn_id: str) -> bool:
    """Whether the API server failed to answer: the look-up above then says "not found" too."""
    from airflow.sdk.execution_time.comms import ErrorResponse, GetConnection  # noqa: PLC0415

    supervisor = _supervisor()
    if not hasattr(supervisor, "asend"):  # then there is no server in between
        return False
    try:
        answer = await supervisor.asend(GetConnection(conn_id=conn_id))
    except AirflowRuntimeError as error:
        answer = error.error
    except Exception:  # noqa: BLE001 - no answer is what is asked about
        return True
    return not (isinstance(answer, ErrorResponse) and answer.error is ErrorType.CONNECTION_NOT_FOUND)
