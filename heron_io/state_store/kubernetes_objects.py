"""A node of the state tree as an object of Kubernetes, and back. Pure.

    ConfigMap heron.topologies.wordcount.3f1c…     data: value: {JSON for a person to read}
        labels      heronpy.io/in.HASH: ""         for each folder above, for selection by lists
        annotations heronpy.io/path                path of the node; the name has its digest
                    heronpy.io/write               id of the write, to recognise a write after the
                                                   loss of the answer
                    heronpy.io/session             of an ephemeral node: its Lease
    Secret …                                       for private nodes: a topology's keys

Inner nodes without a value have no object: paths of the nodes below imply inner nodes. A guard
lists the guarded paths (heronpy.io/guards); the objects of these paths are sealed before the
removal of the guard (kubernetes_guards.py).
"""

import base64
import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

from msgspec import Struct

PREFIX = "heronpy.io/"
IN_LABEL = f"{PREFIX}in."
PATH, WRITE, SESSION, GUARDS, REVOKED, SEALED = (
    f"{PREFIX}{word}" for word in ("path", "write", "session", "guards", "revoked", "sealed")
)
MANAGED_LABEL = {"app.kubernetes.io/managed-by": "heronpy"}
VALUE = "value"
CONFIG_MAPS, SECRETS = "configmaps", "secrets"
KINDS = {CONFIG_MAPS: "ConfigMap", SECRETS: "Secret"}
PRIVATE_FOLDERS = frozenset({"keys"})
"""Read access to a topology's keys gives access to its processes."""
NAME_CHARACTERS_MAX = 200
"""Of 253, for the readable part of a name."""
HASH_CHARACTERS = 24
SESSION_PREFIX = "heron-session."

_NOT_IN_NAMES = re.compile(r"[^a-z0-9]+")


class StoredNode(Struct, frozen=True):
    """A node as read from an object."""

    path: str
    name: str
    uid: str
    version: str
    write: str
    session: str
    """The Lease of an ephemeral node; empty for a persistent one."""
    guards: tuple[str, ...]
    """Paths of the writes guarded by the node."""
    is_revoked: bool
    """Whether guarded writes are refused from now on."""
    sealed: str
    """Time of the seal, and a random word."""
    data: bytes = b""
    """Empty if read from metadata alone."""

    @property
    def is_node(self) -> bool:
        """False for a seal, an object in the place of a forbidden node."""
        return bool(self.write)

    @property
    def sealed_at(self) -> float:
        """Time of the seal in seconds since 1970."""
        return float(self.sealed.partition(" ")[0] or 0)


class NewNode(Struct, frozen=True):
    """A node to write."""

    path: str
    data: bytes
    write: str
    session: str = ""
    session_uid: str = ""
    guards: tuple[str, ...] = ()
    is_revoked: bool = False


def object_name(root: str, path: str) -> str:
    """Name of the node's object: readable, and unique for each path."""
    words = ".".join(_NOT_IN_NAMES.sub("-", word.lower()).strip("-") for word in path.split("/"))
    readable = re.sub(r"\.{2,}", ".", words).strip(".-")[:NAME_CHARACTERS_MAX].strip(".-")
    return ".".join(part for part in ("heron", readable, _digest(root, path)) if part)


def folder_label(root: str, folder: str) -> str:
    """The label of all nodes below a folder."""
    return f"{IN_LABEL}{_digest(root, folder)}"


def collection_of(path: str) -> str:
    """Kind of object of a node: the collection in the API."""
    return SECRETS if path.split("/")[1] in PRIVATE_FOLDERS else CONFIG_MAPS


def collections_below(folder: str) -> tuple[str, ...]:
    """Kinds of objects below a folder."""
    return (CONFIG_MAPS, SECRETS) if folder == "/" else (collection_of(folder),)


def new_object(root: str, node: NewNode) -> dict[str, Any]:
    """The object to create or replace for a node."""
    annotations = {PATH: node.path, WRITE: node.write}
    if node.session:
        annotations[SESSION] = node.session
    if node.guards:
        annotations[GUARDS] = json.dumps(sorted(node.guards))
    if node.is_revoked:
        annotations[REVOKED] = "true"
    bare = _object(root, node.path, annotations)
    if node.session:
        bare["metadata"]["ownerReferences"] = [_owner(node)]
    is_secret = collection_of(node.path) == SECRETS
    text = base64.b64encode(node.data).decode() if is_secret else node.data.decode()
    return {**bare, "data": {VALUE: text}}


def seal_object(root: str, path: str, sealed: str) -> dict[str, Any]:
    """A seal: the API server refuses a creation in its place by a process without its guard."""
    return _object(root, path, {PATH: path, SEALED: sealed})


def sealing(sealed: str) -> dict[str, Any]:
    """The change that seals an object: an earlier reader's write fails by the version."""
    return {"metadata": {"annotations": {SEALED: sealed}}}


def _object(root: str, path: str, annotations: Mapping[str, str]) -> dict[str, Any]:
    metadata = {
        "name": object_name(root, path),
        "labels": {**MANAGED_LABEL, **dict.fromkeys(_labels(root, path), "")},
        "annotations": dict(annotations),
    }
    return {"apiVersion": "v1", "kind": KINDS[collection_of(path)], "metadata": metadata}


def stored_node(described: Mapping[str, Any]) -> StoredNode:
    """The node of an object, or of an object's metadata."""
    metadata = described["metadata"]
    annotations = metadata.get("annotations") or {}
    path = annotations.get(PATH, "")
    text = (described.get("data") or {}).get(VALUE, "")
    is_secret = bool(path) and collection_of(path) == SECRETS
    return StoredNode(
        path,
        metadata["name"],
        metadata["uid"],
        metadata["resourceVersion"],
        annotations.get(WRITE, ""),
        annotations.get(SESSION, ""),
        tuple(json.loads(annotations.get(GUARDS, "[]"))),
        REVOKED in annotations,
        annotations.get(SEALED, ""),
        base64.b64decode(text) if is_secret else text.encode(),
    )


def child_names(folder: str, paths: Iterable[str]) -> list[str]:
    """Names directly below a folder, from the paths of all nodes below."""
    start = folder.rstrip("/") + "/"
    return sorted({path.removeprefix(start).split("/")[0] for path in paths})


def _labels(root: str, path: str) -> list[str]:
    parts = path.split("/")[:-1]
    folders = ["/".join(parts[:count]) or "/" for count in range(1, len(parts) + 1)]
    return [folder_label(root, folder) for folder in folders]


def _owner(node: NewNode) -> dict[str, str]:
    """The Lease as owner: Kubernetes' garbage collector removes the nodes of an ended session."""
    lease = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease"}
    return {**lease, "name": node.session, "uid": node.session_uid}


def _digest(root: str, path: str) -> str:
    return hashlib.sha256(f"{root}\0{path}".encode()).hexdigest()[:HASH_CHARACTERS]
