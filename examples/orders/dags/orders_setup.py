"""Make the destination's tables and the ledger's; what is there stays as it is.

``ORDERS_DESTINATION=... ORDERS_LEDGER=... python orders_setup.py``
"""

from __future__ import annotations

import argparse

import orders_settings
from orders_command import explained
from orders_destination import Destination

from airflow_landmark.deliveries import CreatableLedger, open_ledger

__all__ = ["set_up"]


def set_up() -> list[str]:
    """Make what is missing, and return what was done, in sentences."""
    destination = Destination.from_settings()
    made = destination.set_up()
    told = [f"{destination!r}: made {', '.join(made)}" if made else f"{destination!r}: all tables are there"]
    ledger = open_ledger(orders_settings.ledger())
    if isinstance(ledger, CreatableLedger):
        told.append(f"{ledger}: {ledger.create()}")
    return told


def main() -> None:
    """Make what is missing, and print what was done."""
    argparse.ArgumentParser(
        description="Make the tables of ORDERS_DESTINATION and ORDERS_LEDGER."
    ).parse_args()
    with explained():
        print("\n".join(set_up()))


if __name__ == "__main__":
    main()
