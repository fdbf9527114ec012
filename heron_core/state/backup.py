"""Backup of states in the memory of other containers: by which containers, and which checkpoints
are in the checkpoint store besides.

A state of a checkpoint has three copies: in its instance (heron_instance.own_states), and in the
stream managers of two other containers. The death of one process or container takes one copy along.
A checkpoint with a *durable* number is in the checkpoint store as well. Only a durable checkpoint
is final: sinks commit, and spouts ack, at durable checkpoints alone. After the loss of all copies
the topology is rolled back to the newest durable checkpoint, and repeats no committed output.

The number itself decides, so all processes agree without a message: the first of `durable_every`
numbers is durable. The topology master gives a durable number to each checkpoint for other readers
(a savepoint, the end of a run, an update), and to the second one after a restore.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from msgspec import Struct

from heron_core import config as keys
from heron_core.errors import TopologyError
from heron_core.plans import PackingPlan
from heron_core.topology import TopologySpec

COPIES = 2
"""Containers with a copy, besides the instance itself: one container may be killed while another is
being replaced. SEEP has one copy, in the upstream instance."""


class BackupRule(Struct, frozen=True):
    """Settings of a topology's backup in memory."""

    durable_every: int
    """Of so many checkpoints, one is in the checkpoint store."""
    bytes_max: int
    """Bytes of states that one stream manager holds."""

    @staticmethod
    def of(config: Mapping[str, Any]) -> "BackupRule | None":
        """The rule in a topology's config; None without a backup, or without checkpoints."""
        merged = keys.with_defaults(config)
        if merged.get(keys.BACKUP) is None or not keys.takes_checkpoints(merged):
            return None
        return BackupRule(
            keys.value_of(merged, keys.BACKUP_DURABLE_EVERY),
            keys.value_of(merged, keys.BACKUP_BYTES_MAX),
        )

    def is_durable(self, checkpoint: int) -> bool:
        """Whether the states of a checkpoint are in the checkpoint store as well."""
        return (checkpoint - 1) % self.durable_every == 0

    def durable_after(self, checkpoint: int) -> int:
        """The first durable number above `checkpoint`."""
        return checkpoint + 1 + -checkpoint % self.durable_every


def is_final_by(config: Mapping[str, Any]) -> Callable[[int], bool]:
    """Whether a complete checkpoint of a number cannot be lost, by a topology's config."""
    rule = BackupRule.of(config)
    return (lambda checkpoint: True) if rule is None else rule.is_durable


def check_containers(topology: TopologySpec, packing: PackingPlan) -> None:
    """TopologyError for a topology with a backup in memory in a single container."""
    if BackupRule.of(topology.config) is not None and len(packing.containers) < 2:
        raise TopologyError(
            f"{keys.BACKUP} is {keys.MEMORY}, which takes two containers or more, because a state "
            f"is held by containers other than its own: set {keys.STMGRS} to 2, or remove the key"
        )


def ring_after(container: int, containers: Iterable[int]) -> list[int]:
    """The other containers, beginning with the next number: the first COPIES of them hold the
    states of `container`. Each container then holds the states of equally many others."""
    others = sorted(set(containers) - {container})
    return [each for each in others if each > container] + [
        each for each in others if each < container
    ]
