"""Reads a folder of Dags in a process of its own, and writes what it found as JSON.

Dag files are other people's programs: they may print, exit, crash or hang. Run as
``python -m airflow_landmark.capacity._dags_child FOLDER``; answers with one JSON document on the first
standard output; whatever the files print goes to the standard error.
"""

from __future__ import annotations

import inspect
import json
import os
import sys
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

from ._defer_scan import class_facts

__all__ = ["main"]

_POLLS = ("poll_interval", "polling_interval", "polling_period_seconds", "waiter_delay", "poke_interval")
_SHOWN_ERROR = 300


def main(folder: str) -> None:
    """Read the folder and write the document."""
    answer = os.dup(1)
    os.dup2(2, 1)
    document = _read(folder)
    with os.fdopen(answer, "w", encoding="ascii") as stream:
        json.dump(document, stream)


def _read(folder: str) -> dict[str, Any]:
    from airflow.dag_processing.dagbag import DagBag  # noqa: PLC0415

    sys.path.insert(0, folder if os.path.isdir(folder) else os.path.dirname(folder))  # noqa: PTH112, PTH120
    bag = DagBag(collect_dags=False)
    errors: dict[str, str] = {}
    for path in _files(folder):
        try:
            bag.process_file(path, only_if_updated=False)
        except BaseException as error:  # noqa: BLE001 - a file that calls sys.exit() must not end the rest
            errors[path] = f"{type(error).__name__}: {error}"[:_SHOWN_ERROR]
    errors |= {path: _last_line(text) for path, text in bag.import_errors.items()}
    dags = []
    for dag in bag.dags.values():
        try:
            dags.append(_described(dag))
        except Exception as error:  # noqa: BLE001 - a Dag that cannot be serialized is reported
            errors[f"{dag.fileloc} ({dag.dag_id})"] = f"{type(error).__name__}: {error}"[:_SHOWN_ERROR]
    return {"dags": dags, "errors": errors}


def _files(folder: str) -> list[str]:
    from airflow.dag_processing.importers import get_importer_registry  # noqa: PLC0415

    registry = get_importer_registry()
    return sorted(str(path) for path in registry.list_dag_files(Path(folder), safe_mode=True))


def _described(dag: Any) -> dict[str, Any]:
    from airflow.serialization.serialized_objects import DagSerialization  # noqa: PLC0415

    return {
        "serialized": DagSerialization.to_dict(dag),
        "tasks": {task.task_id: _task_facts(task) for task in dag.tasks},
    }


def _task_facts(task: Any) -> dict[str, Any]:
    """What a serialized Dag does not hold."""
    given = getattr(task, "partial_kwargs", None)  # mapped tasks have no operator object
    operator = type(task) if given is None else task.operator_class
    given = vars(task) if given is None else given
    facts = class_facts(operator)
    return {
        "deferrable": _deferrable(operator, given),
        "mode": given.get("mode") if isinstance(given.get("mode"), str) else None,
        "timeout": _seconds(given.get("timeout")),
        "poll": next((found for name in _POLLS if (found := _seconds(given.get(name)))), None),
        "waiter_attempts": _seconds(given.get("waiter_max_attempts")),
        **facts._asdict(),
    }


def _deferrable(operator: type, given: Mapping[str, Any]) -> bool | None:
    """The task's own ``deferrable``, else the class's default; None: the class has no such parameter."""
    parameter = inspect.signature(operator).parameters.get("deferrable")
    value = given.get("deferrable", None if parameter is None else parameter.default)
    return value if isinstance(value, bool) else None


def _seconds(value: Any) -> float | None:
    if isinstance(value, timedelta):
        return value.total_seconds()
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def _last_line(text: str) -> str:
    lines = [line for line in text.splitlines() if line.strip()]
    return lines[-1].strip()[:_SHOWN_ERROR] if lines else "no reason given"


if __name__ == "__main__":
    main(sys.argv[1])
