"""What the figures depend on: the machine, its load before the start and the versions."""

import json
import os
import platform
import subprocess
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

from benchmarks.measure import BenchmarkError
from benchmarks.rounds import REPOSITORY

TESTED_PACKAGES = (
    "bytewax", "pathway", "pystorm", "simplejson", "msgpack", "pyzmq", "apache-flink",
)  # fmt: skip


def machine(packages: Mapping[str, str]) -> dict[str, Any]:
    """Processor, cores, memory, versions and the load average before the start."""
    return {
        "date": datetime.now(UTC).isoformat(timespec="minutes"),
        "processor": proc_field("/proc/cpuinfo", "model name"),
        "cores": len(os.sched_getaffinity(0)),
        "memory": proc_field("/proc/meminfo", "MemTotal"),
        "kernel": platform.release(),
        "python": platform.python_version(),
        "load_average": os.getloadavg(),
        "packages": dict(packages),
    }


def machine_lines(described: Mapping[str, Any]) -> str:
    """The machine in a line of text, the packages in a second one if there are any."""
    load = " ".join(f"{one:.2f}" for one in described["load_average"])
    versions = ", ".join(f"{name} {version}" for name, version in described["packages"].items())
    line = (
        f"{described['processor']}, {described['cores']} cores, {described['memory']}, "
        f"Linux {described['kernel']}, Python {described['python']}, "
        f"load before the start {load}, {described['date']}."
    )
    return f"{line}  \n{versions}." if versions else line


def proc_field(path: str, name: str) -> str:
    """The first value of this name in a /proc file."""
    for line in Path(path).read_text().splitlines():
        key, _, value = line.partition(":")
        if key.strip() == name:
            return value.strip()
    return "unknown"


def packages_of(python: Path) -> dict[str, str]:
    """Versions of the peers in their environment; raises BenchmarkError when there is none."""
    if not python.exists():
        raise BenchmarkError(
            f"no environment for the peers at {python}: make one as benchmarks/README.md says, "
            "or name its Python with --peer-python"
        )
    program = f"from benchmarks import machine; machine.print_packages({TESTED_PACKAGES})"
    answer = subprocess.run(
        [python, "-c", program], cwd=REPOSITORY, capture_output=True, text=True, check=True
    )
    versions: dict[str, str] = json.loads(answer.stdout)
    return versions


def print_packages(names: Iterable[str]) -> None:
    """Print the versions of those of these packages that are installed here."""
    found = {}
    for name in names:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    print(json.dumps(found))
