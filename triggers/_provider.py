"""What Airflow's list of providers shows of this package."""

from __future__ import annotations

from typing import Any

__all__ = ["get_provider_info"]


def get_provider_info() -> dict[str, Any]:
    """The provider's description, by Airflow's ``provider_info.schema.json``."""
    return {
        "package-name": "airflow-landmark",
        "name": "Landmark",
        "description": "Deferrable sensors and triggers that wait for deliveries by their markers.",
        "integrations": [
            {
                "integration-name": "Landmark deliveries",
                "external-doc-url": "https://airflow.apache.org/docs/apache-airflow/stable/authoring-and-scheduling/deferring.html",
                "tags": ["software"],
            }
        ],
        "sensors": [
            {"integration-name": "Landmark deliveries", "python-modules": ["airflow_landmark.sensors"]}
        ],
        "triggers": [
            {"integration-name": "Landmark deliveries", "python-modules": ["airflow_landmark.triggers"]}
        ],
    }
