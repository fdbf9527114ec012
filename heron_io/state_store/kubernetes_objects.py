"""A node of the state tree as an object of Kubernetes, and back. Pure.

    ConfigMap heron.topologies.wordcount.3f1c…     data: value: {JSON for a person to read}
        labels      heronpy.io/in.HASH: ""         for each folder above it: what a list selects by
        annotations heronpy.io/path                its path; the name has a digest of it
                    heronpy.io/write               which write it is from: one whose answer was lost
                                                   is recognised
                    heronpy.io/session             of an ephemeral node: the Lease that it lives by
    Secret …                                       the same for what is private: a topology's keys

Nodes that only lead to others have no object: they are read off the paths of the others. A guard
lists the paths that are written behind it (heronpy.io/guards): they are sealed before it is removed
(kubernetes_guards.py).
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
"""Whoever may read what is in them may talk to a topology's processes."""
NAME_CHARACTERS_MAX = 200
"""Of 253, for the readable part of a name."""
HASH_CHARACTERS = 24
SESSION_PREFIX = "heron-session."

_NOT_IN_NAMES = re.compile(r"[^a-z0-9]+")


class StoredNode(Struct, frozen=True):
    """What an object says about a node."""

    path: str
    name: str
    uid: str
    version: str
    write: str
    session: str
    """The Lease of an ephemeral node; empty for a persistent one."""
    guards: tuple[str, ...]
    """Paths that are written behind this node."""
    is_revoked: bool
    """Whether nothing is written behind it any more."""
    sealed: str
    """When it was sealed, and a word that no other seal has."""
    data: bytes = b""
    """Empty where only the metadata was asked for."""

    @property
    def is_node(self) -> bool:
        """Not so: a seal, which stands where a node may not be created."""
        return bool(self.write)

    @property
    def sealed_at(self) -> float:
        """In seconds since 1970."""
        return float(self.sealed.partition(" ")[0] or 0)


class NewNode(Struct, frozen=True):
    """What is to be written."""

    path: str
    data: bytes
    write: str
    session: str = ""
    session_uid: str = ""
    guards: tuple[str, ...] = ()
    is_revoked: bool = False


def object_name(root: str, path: str) -> str:
    """The name of the node's object: readable, and another one for each path."""
    words = ".".join(_NOT_IN_NAMES.sub("-", word.lower()).strip("-") for word in path.split("/"))
    readable = re.sub(r"\.{2,}", ".", words).strip(".-")[:NAME_CHARACTERS_MAX].strip(".-")
    return ".".join(part for part in ("heron", readable, _digest(root, path)) if part)


def folder_label(root: str, folder: str) -> str:
    """The label of all nodes below a folder."""
    return f"{IN_LABEL}{_digest(root, folder)}"


def collection_of(path: str) -> str:
    """Which kind of object the node is."""
    return SECRETS if path.split("/")[1] in PRIVATE_FOLDERS else CONFIG_MAPS


def collections_below(folder: str) -> tuple[str, ...]:
    """Which kinds of objects nodes below a folder are."""
    return (CONFIG_MAPS, SECRETS) if folder == "/" else (collection_of(folder),)


def new_object(root: str, node: NewNode) -> dict[str, Any]:
    """The object of a node that is not there yet, or replaces another."""
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
    """An object that is no node: where it stands, a process whose guard is gone creates nothing."""
    return _object(root, path, {PATH: path, SEALED: sealed})


def sealing(sealed: str) -> dict[str, Any]:
    """The change that seals an object: a write that has read it before finds another version."""
    return {"metadata": {"annotations": {SEALED: sealed}}}


def _object(root: str, path: str, annotations: Mapping[str, str]) -> dict[str, Any]:
    metadata = {
        "name": object_name(root, path),
        "labels": {**MANAGED_LABEL, **dict.fromkeys(_labels(root, path), "")},
        "annotations": dict(annotations),
    }
    return {"apiVersion": "v1", "kind": KINDS[collection_of(path)], "metadata": metadata}


def stored_node(described: Mapping[str, Any]) -> StoredNode:
    """What an object, or the metadata of one, says."""
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
    """The names directly below a folder, of the paths of all nodes below it."""
    start = folder.rstrip("/") + "/"
    return sorted({path.removeprefix(start).split("/")[0] for path in paths})


def _labels(root: str, path: str) -> list[str]:
    parts = path.split("/")[:-1]
    folders = ["/".join(parts[:count]) or "/" for count in range(1, len(parts) + 1)]
    return [folder_label(root, folder) for folder in folders]


def _owner(node: NewNode) -> dict[str, str]:
    """Kubernetes' garbage collector removes what a session has left."""
    lease = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease"}
    return {**lease, "name": node.session, "uid": node.session_uid}


def _digest(root: str, path: str) -> str:
    return hashlib.sha256(f"{root}\0{path}".encode()).hexdigest()[:HASH_CHARACTERS]
