"""Imported first: says what to install when Airflow is missing."""

from __future__ import annotations

import importlib.util

__all__: list[str] = []

if importlib.util.find_spec("airflow") is None:
    raise ModuleNotFoundError(
        "airflow_landmark.triggers needs Airflow: pip install 'airflow-landmark[airflow]'", name="airflow"
    )
