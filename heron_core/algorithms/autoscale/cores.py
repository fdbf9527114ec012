"""How many of the wanted instances a machine has cores for.

More instances of a calculating bolt share the cores of the machine, and do not process more once
all cores are busy. A bolt with calls to a server uses next to no core while a call waits, so more
instances help on a busy machine as well. The need of an instance is measured: CPU over working
time, less the time of waits for a core, which depend on the rest of the machine.

Instances are granted one by one, the bolt with the greatest lack first, until the idle cores are
used.
"""

import math
from collections.abc import Mapping

from heron_core.algorithms.autoscale.assessment import Assessment
from heron_core.records import replace

SPARE_CORES = 0.25
"""Of a busy machine: bolts with waiting calls may take as much from other processes."""
CPU_MIN = 0.01
"""Cores of an instance, however little was measured."""


def within_cores(
    assessments: tuple[Assessment, ...], idle_share: float | None, cores: int | None
) -> tuple[Assessment, ...]:
    """Assessments with less growth where growth takes more cores than the machine has idle; without
    numbers of the machine the assessments stay as given."""
    if idle_share is None or cores is None:
        return assessments
    numbers = _granted(assessments, idle_share * cores + SPARE_CORES)
    return tuple(
        _limited(bolt, numbers.get(bolt.component, bolt.wanted), idle_share) for bolt in assessments
    )


def _granted(assessments: tuple[Assessment, ...], left: float) -> Mapping[str, int]:
    """Growing bolt -> number of instances for so many cores."""
    growing = {bolt.component: bolt for bolt in assessments if bolt.wanted > bolt.instances}
    numbers = {name: bolt.instances for name, bolt in growing.items()}

    def lack(name: str) -> float:
        return growing[name].utilization * growing[name].instances / numbers[name]

    candidates = set(growing)
    while candidates:
        name = max(candidates, key=lambda name: (lack(name), name))
        cpu = _cpu(growing[name])
        if cpu > left or numbers[name] >= growing[name].wanted:
            candidates.remove(name)
            continue
        left -= cpu
        numbers[name] += 1
    return numbers


def _cpu(assessment: Assessment) -> float:
    return 1.0 if assessment.cpu is None else max(CPU_MIN, assessment.cpu)


def _limited(assessment: Assessment, number: int, idle_share: float) -> Assessment:
    if number >= assessment.wanted:
        return assessment
    idle = f"{math.floor(100 * idle_share)}% of the machine's cores is idle"
    if number > assessment.instances:
        why = f"{idle}, enough for {number} of {assessment.wanted}"
    else:
        why = f"{idle}: more instances would only share them"
    return replace(assessment, wanted=number, because=f"{assessment.because}; but {why}")
