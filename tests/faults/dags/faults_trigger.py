"""The package's trigger, with a line in a file for each thing that Airflow does to it."""

import json
import os
import time
from collections.abc import AsyncIterator
from typing import Any

from airflow.triggers.base import BaseTrigger, TriggerEvent

from airflow_landmark.triggers import MarkerTrigger


def tell(what: str, label: str) -> None:
    """Append a line; one short write, so that lines of several processes do not mix."""
    line = json.dumps({"what": what, "label": label, "pid": os.getpid(), "at": time.time()})
    descriptor = os.open(os.environ["FAULTS_TOLD"], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.write(descriptor, f"{line}\n".encode())
    os.close(descriptor)


class ToldTrigger(MarkerTrigger):
    """Does what its base does, and tells it.

    :param label: names the wait.
    """

    def __init__(self, *, label: str = "", **arguments: Any) -> None:
        super().__init__(**arguments)
        self.label = label

    def serialize(self) -> tuple[str, dict[str, Any]]:
        """The base's arguments and the label."""
        return "faults_trigger.ToldTrigger", super().serialize()[1] | {"label": self.label}

    async def run(self) -> AsyncIterator[TriggerEvent]:
        """Wait as the base does."""
        tell("start", self.label)
        async for event in super().run():
            tell("fire", self.label)
            yield event

    async def on_kill(self) -> None:
        """Tell that Airflow believes the wait to be killed."""
        tell("on_kill", self.label)
        await super().on_kill()

    async def cleanup(self) -> None:
        """Tell that the wait has ended here."""
        tell("cleanup", self.label)
        await super().cleanup()


class StoredEvent(BaseTrigger):
    """Fires a payload that it was given: what another release's trigger has stored.

    :param payload: of the event.
    """

    def __init__(self, *, payload: dict[str, Any]) -> None:
        super().__init__()
        self.payload = payload

    def serialize(self) -> tuple[str, dict[str, Any]]:
        """The payload."""
        return "faults_trigger.StoredEvent", {"payload": self.payload}

    async def run(self) -> AsyncIterator[TriggerEvent]:
        """Fire at once."""
        yield TriggerEvent(self.payload)
