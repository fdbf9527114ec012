"""State store in Kubernetes: nodes are ConfigMaps, sessions are Leases. Nothing else is needed.

A call waits for at most OPERATION_TIMEOUT_MS and then raises StateStoreError. A store must not be
used in a forked child. What objects look like: kubernetes_objects.py; sessions:
kubernetes_session.py; guarded writes: kubernetes_guards.py.
"""

import http
import logging
import os
import random
import secrets
import threading
import time
from collections.abc import Callable
from typing import Any, Self, TypeVar

from heron_core.errors import HeronError, StateStoreError
from heron_core.state_tree import check_path
from heron_io.kubernetes.access import ApiAccess, access_of
from heron_io.kubernetes.client import ApiClient, ApiError, ApiUnanswered
from heron_io.state_store.kubernetes_guards import check_guard, revoke
from heron_io.state_store.kubernetes_keeper import SessionKeeper
from heron_io.state_store.kubernetes_nodes import ChangedMeanwhile, KubernetesNodes
from heron_io.state_store.kubernetes_objects import NewNode, StoredNode, child_names
from heron_io.state_store.kubernetes_session import Leases
from heron_io.state_store.kubernetes_watch import NodeWatches
from heron_io.state_store.protocol import (
    SessionListener,
    Watcher,
    decode_value,
    encode_value,
    name_in_use,
)

SCHEME = "kubernetes://"
# A dead holder's node lives this long and a second more. An API server that is replaced is away
# for longer; no session ends by that (kubernetes_session.py).
SESSION_TIMEOUT_MS = 6_000
CONNECT_TIMEOUT_MS = 5_000
OPERATION_TIMEOUT_MS = 10_000
RETRY_SECS = 0.1
# A topology polls half a dozen folders; all topologies of a cluster share one API server.
POLL_SECS = 5.0
# Each conflict means that another process has written; so many in a row mean that the node is
# overloaded.
CONFLICTS_MAX = 50
CONFLICT_SECS = 0.02
# A ConfigMap takes 1,048,576 bytes; its annotations need a few.
NODE_BYTES_MAX = 1_000_000

Result = TypeVar("Result")

_log = logging.getLogger(__name__)


class KubernetesStore:
    """StateStore below `root` of a namespace of the cluster that kubectl would ask.

    StateStoreError if no API server answers within `connect_timeout_ms`, or if it refuses us.
    """

    poll_secs = POLL_SECS
    """See NodeRegistry."""

    def __init__(
        self,
        namespace: str,
        root: str,
        *,
        access: ApiAccess | None = None,
        session_timeout_ms: int = SESSION_TIMEOUT_MS,
        connect_timeout_ms: int = CONNECT_TIMEOUT_MS,
        operation_timeout_ms: int = OPERATION_TIMEOUT_MS,
    ) -> None:
        self._url = f"{SCHEME}{namespace}{root}"
        self._timeout_secs = connect_timeout_ms / 1000
        self._closed = threading.Event()
        self._client = ApiClient(access or access_of(os.environ))
        leases = Leases(self._client, namespace, session_timeout_ms / 1000)
        self._nodes = KubernetesNodes(self._client, namespace, root, leases)
        probed = f"/api/v1/namespaces/{namespace}/configmaps"
        self._keeper = SessionKeeper(self._client, leases)
        self._watches = NodeWatches(self._client, self._nodes, self._decode)
        self._is_polling = False
        self._own_paths: set[str] = set()
        try:
            self._settled("/", lambda: self._client.get(probed, limit="1"))
        except BaseException:
            self.close()
            raise
        self._timeout_secs = operation_timeout_ms / 1000

    def get(self, path: str) -> Any | None:
        """See StateStore."""
        stored = self._settled(check_path(path), lambda: self._nodes.read(path))
        if stored is None or not self._settled(path, lambda: self._nodes.is_alive(stored)):
            return None
        return self._decode(stored)

    def create(self, path: str, value: Any, *, ephemeral: bool = False) -> None:
        """See StateStore."""
        node = self._new(path, value)
        self._settled(path, lambda: self._create(node, ephemeral))

    def put(self, path: str, value: Any, *, guard: str = "") -> None:
        """See StateStore."""
        node = self._new(path, value)
        self._settled(path, lambda: self._put(node, guard and check_path(guard)))

    def delete(self, path: str) -> bool:
        """See StateStore."""
        sent: list[str] = []
        return self._settled(check_path(path), lambda: self._delete(path, sent))

    def children(self, path: str) -> list[str]:
        """See StateStore."""
        if path != "/":
            check_path(path)
        below = self._settled(path, lambda: self._nodes.below(path))
        return child_names(path, (node.path for node in below))

    def watch(self, path: str, callback: Watcher) -> Callable[[], None]:
        """See StateStore."""
        cancel = self._settled(check_path(path), lambda: self._watches.add(path, callback))
        if not self._is_polling:
            self._is_polling = True
            self._keeper.poll(self._watches.poll)
        return cancel

    def on_session(self, callback: SessionListener) -> None:
        """See StateStore; called from a thread of the store."""
        self._check_open()
        self._keeper.listen(callback)

    def close(self) -> None:
        """See StateStore; ends the session, and with it the session's ephemeral nodes."""
        if self._closed.is_set():
            return
        self._closed.set()
        self._watches.close()
        self._end_session()
        self._client.close()

    def __enter__(self) -> Self:
        """See StateStore."""
        return self

    def __exit__(self, *_: object) -> None:
        """See StateStore."""
        self.close()

    def _end_session(self) -> None:
        try:
            for path in self._own_paths:  # others learn of it at once
                stored = self._nodes.read(path)
                if stored is not None and stored.session == self._keeper.session:
                    self._nodes.remove(stored)
        except HeronError as error:
            _log.warning("the nodes of the session will end with its time-out: %s", error)
        self._keeper.close()

    # One attempt each; another follows if something has changed meanwhile

    def _create(self, node: NewNode, ephemeral: bool) -> None:
        stored = self._nodes.read(node.path)
        if stored is not None and stored.write == node.write:
            return  # our request had arrived before the connection broke
        if stored is not None and self._nodes.is_alive(stored):
            raise name_in_use(node.path, self._decode(stored))
        if ephemeral:
            self._check_leaf(node.path)
            if not self._keeper.session:
                self._nodes.sweep_seals()
            session, uid = self._keeper.begun()
            node = NewNode(node.path, node.data, node.write, session, uid)
        self._write_new(stored, node)

    def _put(self, node: NewNode, guard: str) -> None:
        stored = self._nodes.read(node.path)
        if stored is not None and stored.write == node.write:
            return
        is_there = self._nodes.is_alive(stored)
        if stored is not None and is_there and stored.session:
            if stored.session != self._keeper.session:
                raise name_in_use(node.path, self._decode(stored))
            session, uid = self._keeper.begun()
            node = NewNode(node.path, node.data, node.write, session, uid)
        elif stored is not None and is_there:
            node = NewNode(node.path, node.data, node.write, guards=stored.guards)
        if guard:
            check_guard(self._nodes, node.path, guard)
        if stored is not None and is_there:
            self._nodes.replace(stored, node)
        else:
            self._write_new(stored, node)

    def _write_new(self, stored: StoredNode | None, node: NewNode) -> None:
        """Write an absent node; `stored`: a seal, or the node of an ended session."""
        self._check_folder(node.path)
        if stored is not None and stored.session:
            self._nodes.remove(stored)  # its successor is no dependant of the session that is over
            stored = None
        if stored is None:
            self._nodes.create(node)
        else:
            self._nodes.replace(stored, node)
        if node.session:
            self._own_paths.add(node.path)

    def _delete(self, path: str, sent: list[str]) -> bool:
        """`sent`: the versions of whose removal the answer may have been lost."""
        stored = self._nodes.read(path)
        if stored is None:
            return bool(sent)
        if not stored.is_node:
            return False
        was_alive = self._nodes.is_alive(stored)
        if stored.guards:
            stored = revoke(self._nodes, stored, self._client.server_time())
        if stored is not None:
            sent.append(stored.version)
            was_alive = self._nodes.remove(stored) and was_alive
        return was_alive

    def _check_folder(self, path: str) -> None:
        parent = path.rpartition("/")[0]
        stored = self._nodes.read(parent) if parent else None
        if stored is not None and stored.session and self._nodes.is_alive(stored):
            raise StateStoreError(f"{path} cannot be created below {parent}, which is ephemeral")

    def _check_leaf(self, path: str) -> None:
        if self._nodes.below(path):
            raise StateStoreError(f"{path} has nodes below it, so it cannot be ephemeral")

    # Attempts, values, errors

    def _settled(self, path: str, attempt: Callable[[], Result]) -> Result:
        """Result of an attempt, repeated after conflicts and without an answer."""
        deadline = time.monotonic() + self._timeout_secs
        conflicts = 0
        while True:
            self._check_open()
            try:
                return attempt()
            except ChangedMeanwhile:
                conflicts += 1
                if conflicts >= CONFLICTS_MAX:
                    raise self._contended(path) from None
                self._closed.wait(CONFLICT_SECS * random.random())
            except ApiUnanswered as error:
                self._check_open()
                if time.monotonic() > deadline:
                    raise self._unanswered(error) from None
                self._closed.wait(RETRY_SECS)
            except ApiError as error:
                raise self._refused(path, error) from None

    def _new(self, path: str, value: Any) -> NewNode:
        data = encode_value(check_path(path), value)
        if len(data) > NODE_BYTES_MAX:
            raise StateStoreError(
                f"{path} would take {len(data):,} bytes, but a ConfigMap holds at most "
                f"{NODE_BYTES_MAX:,}: make the value smaller"
            )
        return NewNode(path, data, secrets.token_hex(8))

    def _decode(self, stored: StoredNode) -> Any:
        return decode_value(f"{stored.path} (in {self._url}: {stored.name})", stored.data)

    def _check_open(self) -> None:
        if self._closed.is_set():
            raise StateStoreError(f"the state store at {self._url} is closed: open it again")

    def _unanswered(self, error: ApiUnanswered) -> StateStoreError:
        return StateStoreError(
            f"{error} after {self._timeout_secs:g} s: start the API server or correct the address"
        )

    def _refused(self, path: str, error: ApiError) -> StateStoreError:
        if error.code == http.HTTPStatus.FORBIDDEN and "exceeded quota" not in str(error):
            return StateStoreError(
                f"Kubernetes at {self._client.address}: no permission for {path}: {error}; "
                "`heronpy submit --dry-run` prints the Role that is needed"
            )
        return StateStoreError(f"Kubernetes at {self._client.address}: {path}: {error}")

    def _contended(self, path: str) -> StateStoreError:
        return StateStoreError(
            f"{path} was changed by other clients {CONFLICTS_MAX} times: try again later"
        )
