"""A container on a shared machine: the kernel gives its bolts the cores of the packing plan."""

import os
import time
from contextlib import suppress

import psutil
import pytest

from heron_engine.scheduler.container.control_groups import CPU, MEMORY, group_access
from tests.process.process_support import TOPOLOGIES, Place

SPINNING = (TOPOLOGIES / "spinning.py", "-o", "topology.container.cpu.padding=0.1",
            "-o", "topology.container.cpu=0.5")  # fmt: skip
CORES_MAX = 0.6
MEASURED_SECS = 1.0
"""Of CPU: at half a core it takes two seconds, without a limit less than one."""


def test_a_spinning_bolt_uses_no_more_than_its_cores(place: Place) -> None:
    if (base := group_access().base(CPU)) is None:
        pytest.skip("; ".join(group_access().reasons))
    running = place.start("run", *SPINNING, "-N", place.name)

    def spins() -> list[psutil.Process]:
        container = running.process_called("heron: container 1")
        family = [] if container is None else [container, *container.children(recursive=True)]
        return family if any("spin[0]" in " ".join(each.cmdline()) for each in family) else []

    family = running.until(spins, "the bolt is up")
    running.until(lambda: _cpu_secs(family) > 0.5, "it works")
    began, used = time.monotonic(), _cpu_secs(family)
    running.until(lambda: _cpu_secs(family) - used > MEASURED_SECS, "it has calculated a while")
    cores = (_cpu_secs(family) - used) / (time.monotonic() - began)
    assert cores <= CORES_MAX
    log = place.log(place.name, "container-1")
    assert "CPU and memory: 0.5 of" in log, log
    running.end()
    place.nothing_is_left()
    assert not [each for each in os.listdir(base.directory) if place.name in each]


def test_limits_that_are_required_and_missing_refuse_the_start(place: Place) -> None:
    if group_access().base(MEMORY) is not None:
        pytest.skip("memory can be limited here")
    required = ("-o", "topology.container.limits=required")
    refused = place.heronpy("run", *SPINNING, *required, "-N", place.name)
    assert refused.code != 0
    (line,) = refused.errors
    assert line.startswith("heronpy: topology.container.limits is required, and ")
    assert "memory" in line
    place.nothing_is_left()


def _cpu_secs(family: list[psutil.Process]) -> float:
    total = 0.0
    for each in family:
        with suppress(psutil.NoSuchProcess):
            times = each.cpu_times()
            total += times.user + times.system
    return total
