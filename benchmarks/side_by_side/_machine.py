"""On what was measured."""

from __future__ import annotations

import os
import platform
from importlib.metadata import version
from pathlib import Path
from typing import Any

from ._triggers import PEERS

__all__ = ["about"]

_VERSIONS = ("airflow-landmark", "apache-airflow", "aiobotocore", "aiohttp", "httpx", "greenback", "moto")


def about() -> dict[str, Any]:
    """The machine, and the versions of what stands side by side."""
    packages = sorted({*_VERSIONS, *(package for _, package in PEERS.values())})
    return {
        "cpu": _cpu_model(),
        "cores": os.cpu_count(),
        "load_before": os.getloadavg()[0],
        "system": platform.platform(),
        "python": platform.python_version(),
        "packages": {package: version(package) for package in packages},
    }


def _cpu_model() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor()
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.machine())
