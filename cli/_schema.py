"""``landmark schema``."""

from __future__ import annotations

import click

from ._exits import Exit
from ._print import out_json

__all__ = ["schema"]


@click.command()
def schema() -> Exit:
    """Print the JSON Schema of the marker (draft 2020-12)."""
    from airflow_landmark.markers import marker_schema  # noqa: PLC0415

    out_json(marker_schema())
    return Exit.YES
