"""``python -m airflow_landmark.cli`` is ``landmark``."""

from __future__ import annotations

from . import main

main(prog_name="landmark")
