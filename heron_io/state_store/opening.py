"""From a URL to the state store behind it."""

import os
import re

from heron_core.errors import UsageError
from heron_core.state_tree import check_path
from heron_io.state_store.protocol import StateStore
from heron_io.state_store.zookeeper_access import Access

DEFAULT_ZOOKEEPER_ROOT = "/heron"

_SERVER = r"(?:\[[0-9A-Fa-f:]+\]|[^\s:,/\[\]]+):\d{1,5}"
_ZOOKEEPER_URL = re.compile(rf"zk://({_SERVER}(?:,{_SERVER})*)(/\S*)?")


def open_store(url: str) -> StateStore:
    """The store at file:///absolute/directory or zk://host:port[,host:port][/root].

    A directory is taken literally, without %-escapes, and made when missing; the root is
    DEFAULT_ZOOKEEPER_ROOT unless given. UsageError for any other URL; StateStoreError within
    about five seconds if no ZooKeeper answers.
    """
    if url.startswith("file:///") and url.strip("/") != "file:":
        from heron_io.state_store.file_store import FileStore

        return FileStore(url.removeprefix("file://"))
    matched = _ZOOKEEPER_URL.fullmatch(url)
    if matched is None:
        raise UsageError(
            f"state store URL {url!r} is not understood: "
            "use file:///absolute/directory or zk://host:port[,host:port]/root"
        )
    root = (matched[2] or "").rstrip("/") or DEFAULT_ZOOKEEPER_ROOT
    check_path(root)
    from heron_io.state_store.zookeeper import (
        ZooKeeperStore,  # kazoo costs 50 ms and file:// needs none of it
    )

    return ZooKeeperStore(matched[1], root, access=Access.of(os.environ))
