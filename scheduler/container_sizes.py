"""Sizes of a topology's containers if all are equal and fixed at the submission.

Such a back end (Aurora, Spark on a cluster) stores the size in the scheduler's node. An update
that needs a larger container is rejected before its start: an added container would have the old
size, and its processes would be killed when they use the plan's memory.
"""

from collections.abc import Mapping
from typing import Any

from heron_core.errors import UsageError
from heron_core.plans import MIB, PackingPlan

CONTAINER_SIZE = "container_size"
"""Key in the scheduler's node: size of each container, without unlimited resources."""
CPU_TOLERANCE = 1e-9
"""Cores are sums of floats."""


def check_fits(name: str, node: Mapping[str, Any] | None, plan: PackingPlan) -> None:
    """UsageError if a container of the plan needs more than all have."""
    size = (node or {}).get(CONTAINER_SIZE) or {}
    for container in plan.containers:
        need = container.resource
        for words, key, have, wanted in (
            (f"{need.cpu:g} cores", "cpu", size.get("cpu"), need.cpu - CPU_TOLERANCE),
            (_mib(need.ram_bytes, "memory"), "ram", size.get("ram_bytes"), need.ram_bytes),
            (_mib(need.disk_bytes, "disk"), "disk", size.get("disk_bytes"), need.disk_bytes),
        ):
            if have is not None and wanted > have:
                amount = f"{have:g}" if key == "cpu" else f"{have / MIB:.0f} MiB"
                raise UsageError(
                    f"{name} is not updated: container {container.id} would need {words}, and its "
                    f"containers were submitted with {amount}: use more containers, or submit it "
                    f"again with a larger topology.container.{key}"
                )


def _mib(size_bytes: int, what: str) -> str:
    return f"{size_bytes / MIB:.0f} MiB of {what}"
