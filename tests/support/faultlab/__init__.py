"""A laboratory for faults on a real Airflow: what is injected, into what, and how its outcome is counted."""

from ._destination import Count, Destination, settled
from ._faults import (
    Fault,
    api_server_away,
    database_restarted,
    everything_killed,
    frozen,
    killed_while_rows_are_held,
    runner_killed,
    scheduler_killed,
    source_away,
    stopped,
    supervisor_killed,
    told_to_end,
)
from ._lab import Lab, open_lab
from ._parcels import FolderPlace, WebPlace, day_of, interval_of, parcel
from ._park import forget, park, resumable
from ._record import Record
from ._supervisor import TRIGGERERS
from ._told import Told
from ._trial import RELEASED, WAITS, top_up, trial
from ._waits import VERSION, Waits

__all__ = [
    "RELEASED",
    "TRIGGERERS",
    "VERSION",
    "WAITS",
    "Count",
    "Destination",
    "Fault",
    "FolderPlace",
    "Lab",
    "Record",
    "Told",
    "Waits",
    "WebPlace",
    "api_server_away",
    "database_restarted",
    "day_of",
    "everything_killed",
    "forget",
    "frozen",
    "interval_of",
    "killed_while_rows_are_held",
    "open_lab",
    "parcel",
    "park",
    "resumable",
    "runner_killed",
    "scheduler_killed",
    "settled",
    "source_away",
    "stopped",
    "supervisor_killed",
    "told_to_end",
    "top_up",
    "trial",
]
