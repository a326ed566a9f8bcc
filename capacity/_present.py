"""What the present state adds to the inputs: pools, permanent triggers, triggerers. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace

from ._durations import Fixed
from ._inventory import UNKNOWN_KIND
from ._origin import Estimate
from ._schedules import Always
from ._values import Deployment, Inputs, LiveState, Pool, Wait

__all__ = ["with_kinds", "with_live"]


def with_kinds(found: Inputs, kinds: Mapping[str, str]) -> Inputs:
    """Waits whose trigger the code does not show, with the one that runs for them now."""
    waits = [
        replace(wait, kind=kinds[wait.name]) if wait.kind == UNKNOWN_KIND and wait.name in kinds else wait
        for wait in found.waits
    ]
    return replace(found, waits=tuple(waits))


def with_live(found: Inputs, live: LiveState | None) -> Inputs:
    """With pools, permanent triggers and, when nothing else says so, the triggerers that are alive."""
    if live is None:
        return found
    pools = {
        name: Pool(name=name, slots=int(one["slots"]), include_deferred=bool(one["include_deferred"]))
        for name, one in live.pools.items()
    }
    alive = sum(one.alive for one in live.triggerers)
    deployments = (Deployment(name="alive now", replicas=alive),) if alive else ()
    note = f"triggerers alive: {alive}, with an assumed capacity of 1,000, since Airflow records it nowhere"
    return replace(
        found,
        waits=(*found.waits, *_permanent(live)),
        pools={**found.pools, **pools},
        deployments=deployments,
        notes=(*found.notes, *([note] if alive else [])),
    )


def _permanent(live: LiveState) -> Iterator[Wait]:
    if live.watchers:
        yield Wait(
            name="asset watchers",
            kind="unknown.WatcherTrigger",
            arrivals=Always(),
            duration=Fixed(math.inf, "measured"),
            width=Estimate(float(live.watchers), "measured"),
        )
