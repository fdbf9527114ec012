"""From a URL to the state store behind it."""

import os
import re

from heron_core.errors import UsageError
from heron_core.state_tree import check_path
from heron_io.state_store.protocol import StateStore
from heron_io.state_store.zookeeper_access import Access

DEFAULT_ROOT = "/heron"

_SERVER = r"(?:\[[0-9A-Fa-f:]+\]|[^\s:,/\[\]]+):\d{1,5}"
_NAMESPACE = r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?"
_KUBERNETES_URL = re.compile(rf"kubernetes://({_NAMESPACE})(/\S*)?")
_ZOOKEEPER_URL = re.compile(rf"zk://({_SERVER}(?:,{_SERVER})*)(/\S*)?")


def open_store(url: str) -> StateStore:
    """The store at file:///absolute/directory, zk://host:port[,host:port][/root] or
    kubernetes://namespace[/root].

    A directory is taken literally, without %-escapes, and made when missing; the root is
    DEFAULT_ROOT unless given. The namespace is one of the cluster that kubectl would ask.
    UsageError for any other URL; StateStoreError within about five seconds if no server answers.
    """
    if url.startswith("file:///") and url.strip("/") != "file:":
        from heron_io.state_store.file_store import FileStore

        return FileStore(url.removeprefix("file://"))
    if matched := _KUBERNETES_URL.fullmatch(url):
        from heron_io.state_store.kubernetes import KubernetesStore

        return KubernetesStore(matched[1], _root(matched[2]))
    matched = _ZOOKEEPER_URL.fullmatch(url)
    if matched is None:
        raise UsageError(
            f"state store URL {url!r} is not understood: use file:///absolute/directory, "
            "zk://host:port[,host:port]/root or kubernetes://namespace"
        )
    from heron_io.state_store.zookeeper import (
        ZooKeeperStore,  # kazoo costs 50 ms and file:// needs none of it
    )

    return ZooKeeperStore(matched[1], _root(matched[2]), access=Access.of(os.environ))


def _root(given: str | None) -> str:
    return check_path((given or "").rstrip("/") or DEFAULT_ROOT)
