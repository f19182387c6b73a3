"""Conditions of a measurement: the processor, its load, and the versions compared."""

from __future__ import annotations

import os
import platform
from importlib import metadata
from pathlib import Path
from typing import Any

from phistar.backends.machine.jit import host

COMPARED = ("phistar", "numpy", "llvmlite", "pin", "mujoco", "example-robot-data")


def machine() -> dict[str, Any]:
    target = host()
    return {
        "processor": processor(),
        "cpu": target.cpu,
        "lanes": target.lanes,
        "cores": os.cpu_count(),
        "load": os.getloadavg()[0] if hasattr(os, "getloadavg") else None,
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "versions": {name: version(name) for name in COMPARED},
    }


def processor() -> str:
    """Processor name as the system gives it."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None
