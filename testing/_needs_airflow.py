"""Imported first: says what to install when Airflow, and what comes with it, is missing."""

from __future__ import annotations

import importlib.util

__all__: list[str] = []

if importlib.util.find_spec("airflow") is None or importlib.util.find_spec("psutil") is None:
    raise ModuleNotFoundError(
        "airflow_landmark.testing needs Airflow: pip install 'airflow-landmark[airflow]'", name="airflow"
    )
