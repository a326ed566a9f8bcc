"""What a kind of trigger costs, measured here: copies of it wait for something that never comes."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime, timezone
from importlib.metadata import PackageNotFoundError, packages_distributions, version
from pathlib import Path
from typing import Any

from ._errors import CannotTell
from ._kinds import Kind
from ._stub import Stub, running_stub

__all__ = ["DEFAULT_COUNT", "DEFAULT_WINDOW", "KNOWN", "calibrate"]

DEFAULT_COUNT = 100
DEFAULT_WINDOW = 20.0
_SPARE_SECONDS = 300.0
_SHOWN = 300

KNOWN: dict[str, dict[str, Any]] = {
    "airflow.providers.standard.triggers.file.FileTrigger": {
        "filepath": "{folder}/{n}",
        "poke_interval": 5.0,
    },
    "airflow.providers.standard.triggers.temporal.DateTimeTrigger": {"moment": {"instant": "{far}"}},
    "airflow.providers.standard.triggers.external_task.WorkflowTrigger": {
        "external_dag_id": "upstream_{n}",
        "logical_dates": ["2026-01-01T00:00:00+00:00"],
        "allowed_states": ["success"],
        "poke_interval": 5.0,
    },
    "airflow.providers.standard.triggers.external_task.DagStateTrigger": {
        "dag_id": "upstream_{n}",
        "run_ids": ["run"],
        "states": ["success"],
        "poll_interval": 5.0,
    },
    "airflow.providers.amazon.aws.triggers.s3.S3KeyTrigger": {
        "bucket_name": "bucket",
        "bucket_key": ["key-{n}"],
        "poke_interval": 5.0,
    },
    "airflow.providers.http.triggers.http.HttpSensorTrigger": {
        "endpoint": "thing-{n}",
        "http_conn_id": "http_default",
        "poke_interval": 5.0,
    },
    "airflow_landmark.triggers.MarkerTrigger": {
        "uri": "{folder}/{n}/_delivery.json",
        "dataset": "calibration",
        "interval": "2026-01-01T00:00:00Z/2026-01-02T00:00:00Z",
        "poll_interval": 5.0,
    },
}
"""Arguments for triggers whose meaning is known here. ``{n}`` is the copy's number, ``{folder}`` an empty
folder, ``{stub}`` the address of a server that has nothing, ``{far}`` an instant in ten years;
``{"instant": ...}`` becomes a moment."""


def calibrate(
    trigger: str,
    *,
    kwargs: Mapping[str, Any] | None = None,
    count: int = DEFAULT_COUNT,
    window: float = DEFAULT_WINDOW,
) -> Kind:
    """Run copies of a trigger in one loop, in a process of its own, and return what one of them costs.

    Nothing outside this machine is asked: S3 and HTTP lead to a server here that has nothing.

    :param trigger: class path, or the class name of a known one.
    :param kwargs: what its constructor takes; None: those of a known trigger.
    :param window: seconds that are measured after all copies have checked once.
    :raises CannotTell: when the trigger is not known, cannot be run, or does not wait.
    """
    path = _path_of(trigger)
    given = KNOWN.get(path) if kwargs is None else dict(kwargs)
    if given is None:
        names = ", ".join(sorted(one.rpartition(".")[2] for one in KNOWN))
        text = f"its arguments are not known; give them as JSON (--kwargs). Known without: {names}"
        raise CannotTell(path, text)
    with tempfile.TemporaryDirectory(prefix="landmark-calibrate-") as folder, running_stub() as stub:
        far = f"{datetime.now(tz=timezone.utc).year + 10}-01-01T00:00:00+00:00"
        values = {"folder": folder, "stub": stub.url, "far": far}
        copies = [_filled(given, {**values, "n": str(number)}) for number in range(count + 1)]
        asked = {"trigger": path, "kwargs": copies, "window": window}
        found = _child(asked, path, Path(folder), stub)
    return _kind(path, found, count, window)


def _path_of(trigger: str) -> str:
    known = [one for one in KNOWN if one.rpartition(".")[2] == trigger]
    if "." not in trigger and not known:
        raise CannotTell(trigger, "is no class path such as package.module.MyTrigger")
    return known[0] if known else trigger


def _filled(value: Any, names: Mapping[str, str]) -> Any:
    """The arguments with their ``{names}`` filled in, at any depth."""
    if isinstance(value, str):
        for name, text in names.items():
            value = value.replace(f"{{{name}}}", text)
        return value
    if isinstance(value, list):
        return [_filled(one, names) for one in value]
    return {key: _filled(one, names) for key, one in value.items()} if isinstance(value, dict) else value


def _child(asked: Mapping[str, Any], path: str, folder: Path, stub: Stub) -> dict[str, Any]:
    command = [sys.executable, "-m", "airflow_landmark.capacity._calibrate_child"]
    seconds = float(asked["window"]) * 3 + _SPARE_SECONDS
    with _environment(folder, stub) as environment:
        try:
            done = subprocess.run(  # noqa: S603 - our own module
                command,
                input=json.dumps(asked),
                capture_output=True,
                text=True,
                env=environment,
                timeout=seconds,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise CannotTell(path, f"was not measured within {seconds:.0f} s") from None
    if done.returncode or not done.stdout:
        lines = [line for line in done.stderr.splitlines() if line.strip()]
        raise CannotTell(path, f"could not be run: {(lines or ['no reason given'])[-1].strip()[:_SHOWN]}")
    found: dict[str, Any] = json.loads(done.stdout)
    if found["ended"]:
        raise CannotTell(path, f"{found['ended']} copies did not wait: {found['why']}")
    return found


@contextmanager
def _environment(folder: Path, stub: Stub) -> Iterator[dict[str, str]]:
    """The child's variables: an Airflow of its own, and connections that lead to the stub."""
    home = folder / "airflow-home"
    home.mkdir()
    inherited = {
        name: value for name, value in os.environ.items() if not name.startswith(("AIRFLOW_", "AWS_"))
    }
    yield inherited | {
        "AIRFLOW_HOME": str(home),
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
        "AIRFLOW_CONN_HTTP_DEFAULT": stub.url,
        "AIRFLOW_CONN_FS_DEFAULT": "fs://",
        "AIRFLOW_CONN_AWS_DEFAULT": "aws://",
        "AWS_ACCESS_KEY_ID": "none",
        "AWS_SECRET_ACCESS_KEY": "none",
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_ENDPOINT_URL": stub.url,
        "AWS_EC2_METADATA_DISABLED": "true",
        "no_proxy": "127.0.0.1",
    }


def _kind(path: str, found: Mapping[str, Any], count: int, window: float) -> Kind:
    poll = found["poll"]
    # a trigger that shares one loop with others does not sleep by itself
    checks = found["checks"] or (count * window / poll if poll else 0) or count
    return Kind(
        path=path,
        memory_bytes=max(0.0, found["memory"] / count),
        check_cpu=found["cpu"] / checks,
        start_cpu=found["start_cpu"] / count,
        descriptors=found["descriptors"] / count,
        lines=found["lines"] / checks,
        requests=found["requests"] / checks,
        poll_interval=float(poll or 60.0),
        origin="measured",
        version=_version_of(path),
        date=f"{datetime.now(tz=timezone.utc):%Y-%m-%d}",
        machine=f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}",
    )


def _version_of(path: str) -> str:
    """The distribution that the trigger comes from, with its version; empty for code of one's own."""
    module = ".".join(path.split(".")[:3])
    names = {"airflow.providers": f"apache-airflow-providers-{module.rpartition('.')[2]}"}
    name = names.get(module.rpartition(".")[0])
    candidates = [name] if name else packages_distributions().get(path.partition(".")[0], [])
    if path.startswith("airflow_landmark."):
        candidates = ["airflow-landmark"]
    for candidate in candidates:
        try:
            return f"{candidate} {version(candidate)}"
        except PackageNotFoundError:
            continue
    return ""
