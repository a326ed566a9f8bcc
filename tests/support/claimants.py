"""Many processes that turn to one ledger at the same moment; run as a program, it forks them.

They are forked from a process with one thread that has imported everything, and wait at a pipe: what
they do at the same moment is to use the ledger, not to start.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
import traceback
from collections import Counter
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

__all__ = [
    "HOSTILE_DATASETS",
    "Answer",
    "Claimant",
    "at_once",
    "created_at_once",
    "events",
    "run_claimants",
    "stamp_of",
    "trouble",
]

DATASET, DAY = "sales/orders", "2024-10-01T00:00:00Z/2024-10-02T00:00:00Z"
HOSTILE_DATASETS = ("", "a\x00b", "a\nb", "a?b#c", "\ud800", "x" * 201, None, 7)
"""What no marker could name, though somebody may write it into a document."""


@dataclass(frozen=True)
class Claimant:
    """One process.

    :param commits: whether it also commits, when its claim was granted.
    """

    owner: str
    version: int = 1
    identity: str = "a" * 64
    commits: bool = False


@dataclass(frozen=True)
class Answer:
    """What a process was told.

    :param claim: ``"granted"``, or the kind of the refusal.
    :param commit: the same for its commit; ``None`` when it made none.
    :param began: when it called, on a clock that all processes share, in seconds.
    :param ended: when its last call returned.
    """

    owner: str
    version: int
    claim: str
    commit: str | None
    began: float
    ended: float


def run_claimants(
    ledger: str,
    claimants: Sequence[Claimant],
    *,
    options: Mapping[str, Any] | None = None,
    table: str | None = None,
    environment: Mapping[str, str] | None = None,
    seconds: float = 300.0,
) -> list[Answer]:
    """What each process was told; all of them are let go at once.

    :param ledger: what ``open_ledger`` takes.
    :param options: of a bucket.
    :param table: in a database.
    :param environment: added to this process's own.
    :param seconds: after so many the whole is given up.
    """
    named = {"ledger": ledger, "options": options, "table": table}
    task = {**named, "claimants": [vars(one) for one in claimants]}
    done = subprocess.run(
        [sys.executable, __file__],
        input=json.dumps(task),
        capture_output=True,
        text=True,
        timeout=seconds,
        env={**os.environ, **(environment or {})},
        check=False,
    )
    assert done.returncode == 0, done.stderr
    answers = [Answer(**json.loads(line)) for line in done.stdout.splitlines()]
    assert Counter(one.owner for one in answers) == Counter(one.owner for one in claimants), done.stderr
    return answers


def at_once(answers: Sequence[Answer]) -> int:
    """How many processes were at the ledger at the same moment, at the most."""
    moments = [(one.began, 1) for one in answers] + [(one.ended, -1) for one in answers]
    return max(accumulate(change for _, change in sorted(moments)))


def created_at_once(url: str, *, table: str) -> list[str]:
    """What four threads are told that make the same ledger at the same moment."""
    from airflow_landmark.deliveries import open_ledger

    start = threading.Barrier(4)

    def create() -> str:
        ledger = open_ledger(url, table=table)
        start.wait()
        return ledger.create()

    with ThreadPoolExecutor(4) as pool:
        return [one.result() for one in [pool.submit(create) for _ in range(4)]]


def stamp_of(version: int = 1, *, identity: str = "a" * 64, dataset: str = DATASET, day: str = DAY) -> Any:
    """The stamp of a delivery with these bytes."""
    from airflow_landmark.deliveries import Stamp
    from airflow_landmark.markers import Interval
    from airflow_landmark.stores import Pin

    uri = "s3://drop/orders/_delivery.json"
    return Stamp(uri, identity, 300, Pin(), dataset, Interval.parse(day), version, 2, 120, 6)


def events(ledger: Any) -> list[str]:
    """What happened to the entry that :func:`stamp_of` is about, by its words."""
    return [event.word for event in ledger.history(DATASET, stamp_of().interval)]


def trouble(call: Any, *arguments: object) -> Any:
    """The error of a call that must fail, which is no refusal."""
    from airflow_landmark.deliveries import AccessTrouble, Unavailable

    try:
        call(*arguments)
    except (AccessTrouble, Unavailable) as error:
        return error
    raise AssertionError("nothing was raised")


def _main() -> None:
    from airflow_landmark.deliveries import open_ledger

    task = json.load(sys.stdin)
    claimants = [Claimant(**one) for one in task["claimants"]]
    ledger = open_ledger(task["ledger"], options=task["options"], table=task["table"])
    _import_all(ledger)
    answers_out, answers_in = os.pipe()
    gate_out, gate_in = os.pipe()
    children = [_forked(ledger, claimant, gate_out, gate_in, answers_in) for claimant in claimants]
    os.close(answers_in)
    time.sleep(0.2)  # until they all wait at the gate
    os.close(gate_in)
    with os.fdopen(answers_out) as answers:
        sys.stdout.write(answers.read())
    statuses = [os.waitpid(child, 0)[1] for child in children]
    sys.exit(int(any(statuses)))


def _import_all(ledger: Any) -> None:
    """Import what the processes need, once."""
    if str(ledger).startswith("s3:"):
        import aiobotocore.session  # noqa: F401
        import botocore.httpsession  # noqa: F401

        import airflow_landmark.stores._s3  # noqa: F401
    else:
        ledger.entry(DATASET, stamp_of().interval)  # a call imports most; no thread is left behind


def _forked(ledger: Any, claimant: Claimant, gate_out: int, gate_in: int, answers: int) -> int:
    child = os.fork()
    if child:
        return child
    try:
        os.close(gate_in)
        os.read(gate_out, 1)  # returns when the parent closes its end
        os.write(answers, (json.dumps(_turn(ledger, claimant)) + "\n").encode())  # short: one atomic write
    except BaseException:  # noqa: BLE001 - nothing of the parent's may run in its copy
        traceback.print_exc()
        os._exit(1)
    os._exit(0)


def _turn(ledger: Any, claimant: Claimant) -> dict[str, Any]:
    stamp = stamp_of(claimant.version, identity=claimant.identity)
    began = time.monotonic()
    claim = _told(lambda: ledger.claim(stamp, claimant.owner))
    commit = None
    if claim == "granted" and claimant.commits:
        commit = _told(lambda: ledger.commit(stamp, claimant.owner))
    told = {"owner": claimant.owner, "version": claimant.version, "claim": claim, "commit": commit}
    return {**told, "began": began, "ended": time.monotonic()}


def _told(call: Any) -> str:
    from airflow_landmark.deliveries import BadDelivery

    try:
        call()
    except BadDelivery as error:
        return error.kind
    return "granted"


if __name__ == "__main__":
    _main()
