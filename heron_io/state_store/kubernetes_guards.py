"""Writes that count only while a guard stands, although Kubernetes changes one object at a time.

A write behind a guard is based on the version of its object, which the API server checks. So it is
enough that all objects have other versions before the guard is gone:

1. A guarded write reads its object, then the guard, which has to stand. Unless the guard lists the
   path already, it is added to the list; that is a write on the guard's version. Then the write.
2. Who removes a guard first revokes it, so that its list is complete. Then each object of the list
   is sealed: it gets another version; where none is, a seal is created. Then the guard is removed.

A write whose guard stood in step 1 either arrives before its object is sealed, and so before the
removal of the guard has ended, or it is refused; its next attempt finds the guard gone. Whoever is
killed while it removes a guard leaves it revoked, and the next removal does all of it again.
"""

import secrets

from heron_core.records import replace
from heron_io.state_store.kubernetes_nodes import KubernetesNodes
from heron_io.state_store.kubernetes_objects import NewNode, StoredNode
from heron_io.state_store.protocol import fenced


def check_guard(nodes: KubernetesNodes, path: str, guard: str) -> None:
    """Fenced unless the guard stands and lists the path from now on. To be called after the object
    at `path` was read, and before it is written."""
    stored = nodes.read(guard)
    if stored is None or stored.is_revoked or not nodes.is_alive(stored):
        raise fenced(path, guard)
    if path not in stored.guards:
        nodes.replace(stored, replace(as_new(stored), guards=(*stored.guards, path)))


def revoke(nodes: KubernetesNodes, stored: StoredNode, at: float) -> StoredNode | None:
    """Have nothing be written behind a guard any more; the guard as it is then, None if it is
    gone. `at`: the time, by the clock of the API server."""
    if not stored.is_revoked:
        nodes.replace(stored, replace(as_new(stored), is_revoked=True))
    for path in stored.guards:
        nodes.seal(path, f"{at:.0f} {secrets.token_hex(4)}")
    return nodes.read(stored.path)


def as_new(stored: StoredNode) -> NewNode:
    """What is written to leave a persistent node as it is."""
    return NewNode(
        stored.path, stored.data, stored.write, guards=stored.guards, is_revoked=stored.is_revoked
    )
