"""The errors of this room.

::

    LocalAirflowError (RuntimeError)
    +-- NotExercised       an injection did not happen: the test has shown nothing
    +-- MissingSoftware    Airflow or PostgreSQL is not installed
    +-- ComponentFailed    a process ended by itself, or a command failed
    +-- RequestRefused     the REST API answered with an error
    +-- DagImportFailed    a Dag file could not be imported
    +-- RunEnded           a run came to another end than the awaited one
    +-- NotInTime          what was awaited did not happen
    RuleBroken (AssertionError)
    +-- DestinationWrong   the destination does not hold what it must
    +-- AttemptsWrong      a task was tried too often, too rarely, or at the wrong times
    +-- NoAlert            nobody was told in time
"""

from __future__ import annotations

__all__ = [
    "AttemptsWrong",
    "ComponentFailed",
    "DagImportFailed",
    "DestinationWrong",
    "LocalAirflowError",
    "MissingSoftware",
    "NoAlert",
    "NotExercised",
    "NotInTime",
    "RequestRefused",
    "RuleBroken",
    "RunEnded",
]

MAX_TOLD = 20
"""How many task instances an error's text names."""


class LocalAirflowError(RuntimeError):
    """Base of all errors of this room."""


class MissingSoftware(LocalAirflowError):
    """Raised when a program is not installed; the text says what to install."""


class ComponentFailed(LocalAirflowError):
    """Raised when a process ended by itself, or a command failed.

    :ivar name: the component, ``"scheduler"`` for instance.
    :ivar exit_code: its exit code; negative: the number of the signal that ended it.
    :ivar output: the last lines it printed.
    """

    def __init__(self, *, name: str, exit_code: int, output: str) -> None:
        super().__init__(f"{name} ended with exit code {exit_code}; its last lines:\n{output}")
        self.name = name
        self.exit_code = exit_code
        self.output = output


class RequestRefused(LocalAirflowError):
    """Raised when the REST API answered with an error.

    :ivar status: the HTTP status.
    :ivar answer: the answer's text.
    """

    def __init__(self, *, request: str, status: int, answer: str) -> None:
        super().__init__(f"{request}: HTTP {status}: {answer[:2000]}")
        self.status = status
        self.answer = answer


class DagImportFailed(LocalAirflowError):
    """Raised when an awaited Dag is not there and Dag files could not be imported.

    :ivar traces: the tracebacks, by file name.
    """

    def __init__(self, *, dag_id: str, traces: dict[str, str]) -> None:
        told = "\n".join(f"{name}:\n{trace}" for name, trace in traces.items())
        super().__init__(f"no Dag {dag_id}, and files that could not be imported:\n{told}")
        self.traces = traces


class RunEnded(LocalAirflowError):
    """Raised when a run came to another end than the awaited one.

    :ivar state: the state in which it ended.
    :ivar tasks: the state of each task instance by its name, ``"wait[3]"`` for a mapped one.
    """

    def __init__(self, *, run: str, state: str, tasks: dict[str, str], log: str) -> None:
        not_fine = [f"{task} {told}" for task, told in tasks.items() if told != "success"]
        cut = ["..."] if len(not_fine) > MAX_TOLD else []
        told = ", ".join(not_fine[:MAX_TOLD] + cut) or "every task success"
        super().__init__(f"{run} ended as {state} ({told})" + (f"\n{log}" if log else ""))
        self.state = state
        self.tasks = tasks


class NotInTime(LocalAirflowError):
    """Raised when what was awaited did not happen.

    :ivar seconds: how long it was awaited.
    """

    def __init__(self, *, what: str, seconds: float) -> None:
        super().__init__(f"{what}: not within {seconds:g} s")
        self.seconds = seconds


class NotExercised(LocalAirflowError):
    """Raised when an injection did not happen, so that nothing was shown: neither right nor wrong."""


class RuleBroken(AssertionError):
    """Raised when an injection showed that a rule does not hold; a test reports it as a failure.

    :ivar rule: what must hold.
    :ivar expected: what was expected.
    :ivar found: what was found.
    :ivar where: where it was found.
    :ivar advice: what to do.
    """

    def __init__(self, *, rule: str, expected: str, found: str, where: str, advice: str) -> None:
        super().__init__(
            f"{rule}\nexpected: {expected}\nfound: {found}\nwhere: {where}\nwhat to do: {advice}"
        )
        self.rule = rule
        self.expected = expected
        self.found = found
        self.where = where
        self.advice = advice


class DestinationWrong(RuleBroken):
    """Raised when the destination does not hold what it must."""


class AttemptsWrong(RuleBroken):
    """Raised when a task was tried too often, too rarely, or all tasks at the same moment."""


class NoAlert(RuleBroken):
    """Raised when nobody was told in time."""
