"""Reasons of an incomplete checkpoint after all instances have stored their states, for people.

A store's folder must be visible on all hosts. A host with an unmounted disk writes its states to
a local disk, where processes on other hosts cannot read them.
"""

from collections.abc import Mapping, Set

from heron_core import config as keys
from heron_core.naming import first_of
from heron_core.plans import PackingPlan, instance_name
from heron_core.topology import TopologySpec
from heron_engine.topology_master.events import StatesSought
from heron_engine.topology_master.update.record import names_of

URL = "://"
_FILE = "file://"
UNKNOWN = "an unknown host"
"""Of a container whose stream manager is not registered at the moment."""


def why_unseen(
    sought: StatesSought, topology: TopologySpec, packing: PackingPlan, hosts: Mapping[int, str]
) -> str:
    """The reason in one line; empty if the topology master sees all states. `hosts`: container ->
    host."""
    if sought.failure:
        return f"the topology master cannot check its states: {sought.failure}"
    if not sought.missing:
        return ""
    missing = packing.instances.keys() & set(sought.missing)
    where = {hosts.get(packing.container_of[task], UNKNOWN) for task in missing}
    named = f"{names_of(packing, missing)} on {first_of(sorted(where))}"
    is_all = len(missing) == len(packing.instances)
    remedy = _remedy(
        sought.folder.removeprefix(_FILE), is_all, keys.CHECKPOINT_STORE in topology.config
    )
    return f"the topology master does not see the states of {named}: {remedy}"


def _remedy(folder: str, is_all: bool, is_named: bool) -> str:
    if not is_named:
        return f"set {keys.CHECKPOINT_STORE} to a folder or URL that all hosts share"
    if URL in folder:
        return (
            f"{folder} is another store on that host: give all hosts the same server and "
            "credentials"
        )
    if is_all:
        return (
            f"the folder {folder} differs between its host and the others: mount the store on "
            "all hosts"
        )
    return (
        f"the folder {folder} on that host is not the store of the topology master: mount the store"
    )


def why_not_stored(task: int, why: str, packing: PackingPlan, hosts: Mapping[int, str]) -> str:
    """Text for an instance that failed to store its state; with the host if there are several,
    because the disk of one host may be full or unmounted."""
    host = hosts.get(packing.container_of[task], UNKNOWN)
    where = f" on {host}" if len(set(hosts.values())) > 1 else ""
    return f"{instance_name(packing, task)}{where}: {why}"


def why_late(left: Set[int], packing: PackingPlan) -> str:
    """Reason of a checkpoint's timeout: the tasks `left` have not stored their state, or the store
    does not answer the topology master."""
    if left:
        return f"not stored in time by {names_of(packing, left)}"
    return "the checkpoint store does not answer the topology master's check"
