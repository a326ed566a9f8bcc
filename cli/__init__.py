"""The command line: ``landmark``. Works where Airflow is not installed."""

from ._main import main

__all__ = ["main"]
