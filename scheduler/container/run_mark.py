"""The container that writes the mark of a run in the checkpoint store (run_marker.py).

In a store shared by all hosts only the topology master's container writes the mark. Otherwise a
container could not distinguish the empty folder of an unmounted disk from a new store: its
states would be on a local disk, invisible to others. Without `topology.checkpoint.store` each
container has a folder beside its logs.
"""

import logging
from enum import Enum

from heron_core import config as keys
from heron_core.errors import HeronError
from heron_core.plans import MASTER_CONTAINER
from heron_core.topology import TopologySpec
from heron_engine.scheduler.savepoints import begin_run
from heron_io.security import Keys

log = logging.getLogger("container")


class RunMark(Enum):
    """What the processes of a container have to do about the run's mark."""

    THERE = "there"
    """No action: the mark exists, or the run does not need one."""
    OWED = "owed"
    """To leave it as soon as the store is reachable: that was away when the container began."""
    AWAITED = "awaited"
    """Wait for the mark, written by the topology master's container."""


def begin_states(
    topology: TopologySpec, pair: Keys, container: int, url: str, was_here: bool
) -> RunMark:
    """Before the first process of a container begins: leave the run's mark in the store at `url`,
    if that is this container's task. `was_here`: the run has begun, here or in a previous life."""
    is_shared = bool(topology.config.get(keys.CHECKPOINT_STORE))
    is_masters = container == MASTER_CONTAINER
    if was_here or (is_masters and not is_shared):
        return RunMark.THERE
    if is_shared and not is_masters:
        return RunMark.AWAITED
    try:
        begin_run(topology, url, pair)
    except HeronError as error:  # an instance that keeps state cannot begin, and says why
        log.warning("%s", error)
        return RunMark.OWED
    return RunMark.THERE
