"""Watches of nodes: a list, then the changes after it, from where the last connection ended.

Each watch has a thread with a connection, like a kubelet's watch of mounted objects. The API server
ends a watch after a minute, and the next watch continues at the same version. After 410 Gone (the
version is too old) the node is read again. Callbacks come from one thread, one after the other.
"""

import logging
import queue
import threading
from collections.abc import Callable
from typing import Any

from heron_core.errors import HeronError
from heron_io.kubernetes.client import ApiClient, ApiError, ApiUnanswered
from heron_io.state_store.kubernetes_nodes import KubernetesNodes
from heron_io.state_store.kubernetes_objects import StoredNode, stored_node
from heron_io.state_store.protocol import Watcher

RETRY_SECS = 0.5
"""Between two attempts while the API server does not answer."""
BOOKMARK, DELETED = "BOOKMARK", "DELETED"

_log = logging.getLogger(__name__)


class NodeWatches:
    """All watches of one store."""

    def __init__(
        self,
        client: ApiClient,
        nodes: KubernetesNodes,
        decode: Callable[[StoredNode], Any],
    ) -> None:
        self._client = client
        self._nodes = nodes
        self._decode = decode
        self._closed = threading.Event()
        self._watches: list[NodeWatch] = []
        self._calls: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None

    def add(self, path: str, callback: Watcher) -> Callable[[], None]:
        """Begin a watch, and call back with the present value; returns the cancelling function."""
        watch = NodeWatch(self._client, self._nodes, path, self._closed, self._deliverer(callback))
        watch.poll()
        if self._thread is None:
            self._thread = threading.Thread(target=self._call, name="watch callbacks", daemon=True)
            self._thread.start()
        watch.begin(self._calls.put)
        self._watches.append(watch)
        return watch.cancelled.set

    def poll(self) -> None:
        """Look for ended sessions of ephemeral nodes: the end of a session does not change an
        object."""
        for watch in list(self._watches):
            if watch.cancelled.is_set():
                self._watches.remove(watch)
            else:
                watch.poll_session()

    def close(self) -> None:
        """End the watches: the running callback is the last."""
        self._closed.set()
        self._calls.put(None)

    def _deliverer(self, callback: Watcher) -> "Callable[[NodeWatch, StoredNode | None], None]":
        def deliver(watch: NodeWatch, stored: StoredNode | None) -> None:
            if watch.cancelled.is_set() or self._closed.is_set():
                return
            try:
                callback(None if stored is None else self._decode(stored))
            except Exception:
                _log.exception("the watch callback of %s failed", watch.path)

        return deliver

    def _call(self) -> None:
        while (call := self._calls.get()) is not None:
            call()


class NodeWatch:
    """One node."""

    def __init__(
        self,
        client: ApiClient,
        nodes: KubernetesNodes,
        path: str,
        closed: threading.Event,
        deliver: "Callable[[NodeWatch, StoredNode | None], None]",
    ) -> None:
        self._client = client
        self._nodes = nodes
        self.path = path
        self.cancelled = threading.Event()
        self._closed = closed
        self._deliver = deliver
        self._put: Callable[[Callable[[], None]], None] = lambda call: call()
        self._mutex = threading.Lock()
        self._last: StoredNode | None = None
        self._is_reported = False
        self._version = ""

    def begin(self, put: Callable[[Callable[[], None]], None]) -> None:
        """Start the watch; `put` takes the callbacks to their thread."""
        self._put = put
        threading.Thread(target=self._run, name=f"watch {self.path}", daemon=True).start()

    def poll(self) -> None:
        """Read the node, and the version to watch from."""
        collection, selector = self._nodes.watched(self.path)
        listed = self._client.get(collection, **selector)
        items = listed.get("items") or ()
        self._report(stored_node(items[0]) if items else None)
        self._version = listed["metadata"]["resourceVersion"]

    def poll_session(self) -> None:
        """Report an ephemeral node with an ended session as removed."""
        last = self._last
        if last is not None and last.session and not self._nodes.is_alive(last):
            self._report(None, instead_of=last)

    def _run(self) -> None:
        while not self._is_over:
            try:
                self._follow()
            except ApiUnanswered:
                self._closed.wait(RETRY_SECS)
            except ApiError as error:
                self._restart(error)

    @property
    def _is_over(self) -> bool:
        return self._closed.is_set() or self.cancelled.is_set()

    def _restart(self, error: ApiError) -> None:
        """Read the node again: the version is too old, or of another state of the server."""
        _log.debug("the watch of %s starts again: %s", self.path, error)
        try:
            self.poll()
        except HeronError as failure:
            _log.debug("%s cannot be read: %s", self.path, failure)
            self._closed.wait(RETRY_SECS)

    def _follow(self) -> None:
        collection, selector = self._nodes.watched(self.path)
        for event in self._client.watch(collection, resourceVersion=self._version, **selector):
            if self._is_over:
                return
            changed = event["object"]
            if event["type"] != BOOKMARK:
                self._report(None if event["type"] == DELETED else stored_node(changed))
            self._version = changed["metadata"]["resourceVersion"]  # a failed callback is repeated

    def _report(self, stored: StoredNode | None, instead_of: StoredNode | None = None) -> None:
        """Call back if the state has changed; `instead_of`: the expected last state."""
        node = stored if self._nodes.is_alive(stored) else None
        with self._mutex:
            if instead_of is not None and _state(self._last) != _state(instead_of):
                return
            if self._is_reported and _state(node) == _state(self._last):
                return
            self._is_reported, self._last = True, node
            self._put(lambda: self._deliver(self, node))


def _state(stored: StoredNode | None) -> tuple[str, str] | None:
    """Identity of a value; a seal changes the version alone."""
    return None if stored is None else (stored.uid, stored.write)
