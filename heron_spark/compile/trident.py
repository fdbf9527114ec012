"""A Trident topology as a query: with the components of micro-batches, and without acks."""

from collections.abc import Iterator

from heron_core.records import replace
from heron_core.topology import ComponentSpec, TopologySpec

_EXECUTION = "heronpy_compat.trident.execution."
_COORDINATOR = f"{_EXECUTION}coordinator.MasterBatchCoordinator"
_MICRO = f"{_EXECUTION}micro_batches."
_CLASSES = {
    _COORDINATOR: f"{_MICRO}MicroBatchCoordinator",
    f"{_EXECUTION}spout_bolt.SpoutBolt": f"{_MICRO}MicroBatchSpoutBolt",
    f"{_EXECUTION}operator_bolt.OperatorBolt": f"{_MICRO}MicroBatchOperatorBolt",
}
"""As topologies are built -> as a query runs them."""
_NOT_ON_SPARK = "trident.not.on.spark"
"""As micro_batches.py has it."""


def of_micro_batches(component: ComponentSpec) -> ComponentSpec:
    """The component as a query runs it."""
    return replace(component, class_path=_CLASSES.get(component.class_path, component.class_path))


def trident_problems(topology: TopologySpec) -> Iterator[str]:
    """What of a Trident topology cannot run as a query."""
    for component in topology.components:
        if reason := component.config.get(_NOT_ON_SPARK):
            yield (
                f"{component.label} {reason}: on Spark a batch is a micro-batch, which is done "
                "when its files are written; use --engine native"
            )
