"""The objects of one state tree: read, created, replaced and removed, each on a condition.

Every write names the version read before, or the object's absence. So the API server refuses a late
or repeated write, and the writer starts again with a read.
"""

import http
from typing import Any

from heron_core.errors import HeronError, StateStoreError
from heron_io.kubernetes.client import MERGE_PATCH, ApiClient, ApiError
from heron_io.state_store.kubernetes_objects import (
    NewNode,
    StoredNode,
    collection_of,
    collections_below,
    folder_label,
    new_object,
    object_name,
    seal_object,
    sealing,
    stored_node,
)
from heron_io.state_store.kubernetes_session import Leases

SEAL_SECS = 600.0
"""Age of a seal before its removal. A seal outlives every connection open at its creation: an API
server ends a connection that is idle for 90 s, and with it the unsent writes of a stopped process.
"""


class ChangedMeanwhile(HeronError):
    """Another process has changed the object on which this write was based."""


class KubernetesNodes:
    """The objects below `root` in one namespace."""

    def __init__(self, client: ApiClient, namespace: str, root: str, leases: Leases) -> None:
        self._client = client
        self._namespace = namespace
        self._root = root
        self._leases = leases

    def read(self, path: str) -> StoredNode | None:
        """The object at `path`: a node, a seal, or a node whose session is over."""
        try:
            return stored_node(self._client.get(self._object_path(path)))
        except ApiError as error:
            if error.code != http.HTTPStatus.NOT_FOUND:
                raise
            return None

    def is_alive(self, stored: StoredNode | None) -> bool:
        """Whether the object is a node with a live session, or without a session."""
        if stored is None or not stored.is_node:
            return False
        return not stored.session or self._leases.is_alive(stored.session)

    def below(self, folder: str) -> list[StoredNode]:
        """All nodes below a folder, without their values. Old seals are removed."""
        selector = folder_label(self._root, folder)
        metadata = [
            entry
            for collection in collections_below(folder)
            for entry in self._client.metadata(self._collection(collection), labelSelector=selector)
        ]
        stored = [stored_node({"metadata": entry}) for entry in metadata]
        oldest = self._client.server_time() - SEAL_SECS
        for seal in stored:
            if not seal.is_node and seal.sealed_at < oldest:
                self._sweep(seal)
        return self._living([node for node in stored if node.is_node])

    def sweep_seals(self) -> None:
        """Remove the old seals of all folders."""
        self.below("/")

    def create(self, node: NewNode) -> None:
        """Create the object of a node; ChangedMeanwhile if there is an object."""
        try:
            self._post(node.path, new_object(self._root, node))
        except ApiError as error:
            if error.code == http.HTTPStatus.NOT_FOUND:
                raise StateStoreError(
                    f"Kubernetes has no namespace {self._namespace!r}: "
                    f"kubectl create namespace {self._namespace}"
                ) from None
            raise _changed(error) from error

    def replace(self, stored: StoredNode, node: NewNode) -> None:
        """ChangedMeanwhile if the object is not `stored` any more."""
        replacement = new_object(self._root, node)
        replacement["metadata"]["uid"] = stored.uid
        replacement["metadata"]["resourceVersion"] = stored.version
        try:
            self._client.request("PUT", self._object_path(node.path), replacement)
        except ApiError as error:
            raise _changed(error) from error

    def remove(self, stored: StoredNode) -> bool:
        """Remove an object; ChangedMeanwhile if it differs from `stored`, False if already gone."""
        preconditions = {"uid": stored.uid, "resourceVersion": stored.version}
        options = {"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": preconditions}
        try:
            self._client.request("DELETE", self._object_path(stored.path), options)
        except ApiError as error:
            if error.code != http.HTTPStatus.NOT_FOUND:
                raise _changed(error) from error
            return False
        return True

    def seal(self, path: str, sealed: str) -> None:
        """Refuse all writes that are based on an earlier read of the object, or of its absence."""
        try:
            self._client.request(
                "PATCH", self._object_path(path), sealing(sealed), content=MERGE_PATCH
            )
        except ApiError as error:
            if error.code != http.HTTPStatus.NOT_FOUND:
                raise
            try:
                self._post(path, seal_object(self._root, path, sealed))
            except ApiError as refused:
                raise _changed(refused) from refused

    def watched(self, path: str) -> tuple[str, dict[str, str]]:
        """Collection in which the changes of a node are watched, and the selector of the node."""
        collection = self._collection(collection_of(path))
        return collection, {"fieldSelector": f"metadata.name={object_name(self._root, path)}"}

    def _living(self, nodes: list[StoredNode]) -> list[StoredNode]:
        sessions = {node.session for node in nodes if node.session}
        alive = {"", *(session for session in sessions if self._leases.is_alive(session))}
        return [node for node in nodes if node.session in alive]

    def _sweep(self, seal: StoredNode) -> None:
        try:
            self.remove(seal)
        except ChangedMeanwhile:  # it is a node again
            pass

    def _post(self, path: str, new: dict[str, Any]) -> None:
        self._client.request("POST", self._collection(collection_of(path)), new)

    def _collection(self, collection: str) -> str:
        return f"/api/v1/namespaces/{self._namespace}/{collection}"

    def _object_path(self, path: str) -> str:
        return f"{self._collection(collection_of(path))}/{object_name(self._root, path)}"


def _changed(error: ApiError) -> HeronError:
    """The error behind a refused write on a condition."""
    if error.code in (http.HTTPStatus.CONFLICT, http.HTTPStatus.NOT_FOUND):
        return ChangedMeanwhile(str(error))
    return error
