"""Guarded writes: valid only while a guard exists, although Kubernetes changes one object at a
time.

A guarded write names the version of its object, and the API server checks the version. So the
removal of a guard first changes the version of each guarded object:

1. A guarded write reads its object, then the guard. Without the guard the write is fenced. Unless
the guard lists the path, the path is added to the list, by a write on the guard's version. Then the
object is written.

2. A removal first revokes the guard, which completes the list. Then each object of the list is
sealed: an existing object gets another version, and a seal is created in place of an absent object.
Then the guard is removed.

A write after step 1 either arrives before the seal, and so before the end of the removal, or is
refused, and the next attempt finds the guard removed. A removal interrupted by a kill leaves the
guard revoked; the next removal repeats all steps.
"""

import secrets

from heron_core.records import replace
from heron_io.state_store.kubernetes_nodes import KubernetesNodes
from heron_io.state_store.kubernetes_objects import NewNode, StoredNode
from heron_io.state_store.protocol import fenced


def check_guard(nodes: KubernetesNodes, path: str, guard: str) -> None:
    """Enter the path in the guard's list; Fenced without a valid guard. Call after reading the
    object at `path`, and before writing."""
    stored = nodes.read(guard)
    if stored is None or stored.is_revoked or not nodes.is_alive(stored):
        raise fenced(path, guard)
    if path not in stored.guards:
        nodes.replace(stored, replace(as_new(stored), guards=(*stored.guards, path)))


def revoke(nodes: KubernetesNodes, stored: StoredNode, at: float) -> StoredNode | None:
    """Refuse guarded writes from now on; returns the revoked guard, None for a removed guard. `at`:
    the time, by the clock of the API server."""
    if not stored.is_revoked:
        nodes.replace(stored, replace(as_new(stored), is_revoked=True))
    for path in stored.guards:
        nodes.seal(path, f"{at:.0f} {secrets.token_hex(4)}")
    return nodes.read(stored.path)


def as_new(stored: StoredNode) -> NewNode:
    """A write that leaves a persistent node unchanged."""
    return NewNode(
        stored.path, stored.data, stored.write, guards=stored.guards, is_revoked=stored.is_revoked
    )
