"""The state store: a small tree of JSON values with ephemeral nodes, watches and session events.

Two implementations pass one conformance suite (tests/store): files under a directory, which need
no server, and ZooKeeper. The tree is Heron's (FileSystemStateManager.java), the values are JSON
that a person can read. A path is absolute, "/tmasters/wordcount"; a node may have a value, nodes
below it, or both; nodes that only lead to others have no value and vanish with the last of them.
"""

import json
import os
import re
from collections.abc import Callable
from typing import Any, Protocol

from heron_core.errors import NameInUse, StateStoreError, UsageError

DEFAULT_ZOOKEEPER_ROOT = "/heron"
CREDENTIALS_VARIABLE = "HERONPY_ZOOKEEPER_AUTH"
"""Environment variable with USER:PASSWORD for ZooKeeper's digest scheme. It is no option and no
part of a URL, because those show up in `ps` and in logs."""

Watcher = Callable[[Any | None], None]
SessionListener = Callable[[str], None]

CONNECTED = "connected"
SUSPENDED = "suspended"
LOST = "lost"

SHORT_VALUE_CHARACTERS = 60  # more of a holder's value would not fit an error's one line
SEGMENT_BYTES_MAX = 200  # file systems allow 255 and the file store adds a suffix
# A file's name must tell a value from a directory, a lock or a half-written file.
_SEGMENT = re.compile(r"(?!\.)[^/\x00-\x1f\x7f-\x9f\ud800-\udfff]+(?<!\.json)(?<!\.ephemeral)")
_SERVER = r"(?:\[[0-9A-Fa-f:]+\]|[^\s:,/\[\]]+):\d{1,5}"
_ZOOKEEPER_URL = re.compile(rf"zk://({_SERVER}(?:,{_SERVER})*)(/\S*)?")


class StateStore(Protocol):
    """What both stores do. All methods may be called from any thread, all raise StateStoreError
    when the store cannot be reached, refuses, or is closed, and UsageError for a bad path."""

    def get(self, path: str) -> Any | None:
        """The value at `path`, or None if there is none or its ephemeral holder is gone."""

    def create(self, path: str, value: Any, *, ephemeral: bool = False) -> None:
        """Make a new node; NameInUse names the path and its holder if there is one already.

        An ephemeral node lives as long as the process (file store) or the session (ZooKeeper)
        that created it, whatever ends it, and has no nodes below it.
        """

    def put(self, path: str, value: Any) -> None:
        """Create or replace. A new node is persistent; an own ephemeral one stays ephemeral.

        NameInUse if somebody else's ephemeral node is there.
        """

    def delete(self, path: str) -> bool:
        """Remove the value, whoever holds it, but no node below; True if there was a value."""

    def children(self, path: str) -> list[str]:
        """Names of the nodes directly below `path`, sorted; empty if there are none."""

    def watch(self, path: str, callback: Watcher) -> Callable[[], None]:
        """Call back with the value now, before this returns, and after each change or deletion.

        Later calls come one at a time from a thread of the store; changes in quick succession
        may come as one. An exception of the callback is logged and the watch goes on. The
        function returned cancels the watch; a call under way may still end after it.
        """

    def on_session(self, callback: SessionListener) -> None:
        """Call back with the state now and after each change: connected, suspended or lost.

        Suspended: no server answers; own ephemeral nodes may still stand. Lost: they are gone,
        and the application has to create them again. Lost is only learnt from a server, so it
        comes when one answers again. The callback must not block nor call the store.
        """

    def close(self) -> None:
        """Remove own ephemeral nodes and stop; a second call does nothing.

        Not to be called from a callback.
        """


def topology_path(name: str) -> str:
    """Where the topology itself stands; it exists as long as the topology is not killed."""
    return _named("topologies", name)


def packing_path(name: str) -> str:
    """Where the packing plan stands."""
    return _named("packingplans", name)


def physical_path(name: str) -> str:
    """Where the physical plan stands."""
    return _named("pplans", name)


def execution_path(name: str) -> str:
    """Where the execution state stands: who submitted what, when and where."""
    return _named("executionstate", name)


def master_path(name: str) -> str:
    """Where the topology master stands; ephemeral."""
    return _named("tmasters", name)


def scheduler_path(name: str) -> str:
    """Where the scheduler's location stands."""
    return _named("schedulers", name)


def wishes_path(name: str) -> str:
    """Where the command line says what it wants of a scheduler elsewhere, which takes it away: a
    restart of containers, or an end."""
    return _named("wishes", name)


def keys_path(name: str) -> str:
    """Where the topology's key pair stands; whoever may read it may talk to its processes."""
    return _named("keys", name)


def checkpoints_path(name: str) -> str:
    """Where the list of complete checkpoints stands."""
    return _named("statefulcheckpoints", name)


def lock_path(name: str) -> str:
    """Where a lock stands; Heron names it TOPOLOGY__LOCK."""
    return _named("locks", name)


def _named(folder: str, name: str) -> str:
    path = f"/{folder}/{name}"
    if path.count("/") != 2:
        raise UsageError(f"{name!r} cannot name a node of the state store: leave out the '/'")
    return check_path(path)


def check_path(path: str) -> str:
    """`path` itself if it is absolute and each of its names is one that both stores can hold."""
    names = path.split("/")
    if names[0] or len(names) < 2 or not all(_is_segment(each) for each in names[1:]):
        raise UsageError(
            f"{path!r} is not a path of the state store: use /folder/name, names not starting "
            f"with '.', not ending in .json or .ephemeral, at most {SEGMENT_BYTES_MAX} bytes long"
        )
    return path


def _is_segment(name: str) -> bool:
    return _SEGMENT.fullmatch(name) is not None and len(name.encode()) <= SEGMENT_BYTES_MAX


def encode_value(path: str, value: Any) -> bytes:
    """`value` as JSON for a person to read; StateStoreError if it is None or not JSON."""
    if value is None:
        raise StateStoreError(f"{path} cannot hold None, which means no value: delete it instead")
    try:
        text = json.dumps(value, indent=1, sort_keys=True, ensure_ascii=False, allow_nan=False)
        return (text + "\n").encode()
    except (TypeError, ValueError) as error:
        raise StateStoreError(f"{path} can only hold JSON values: {error}") from error


def decode_value(place: str, data: bytes) -> Any:
    """The inverse of `encode_value`; `place` is what an error names."""
    try:
        return json.loads(data)
    except ValueError as error:
        raise StateStoreError(f"{place} is not JSON ({error}): mend or delete it") from error


def name_in_use(path: str, holder: Any) -> NameInUse:
    """The error of a node that exists already, naming the process that holds it if it says so."""
    if isinstance(holder, dict) and "pid" in holder:
        host = f"host {holder['host']}, " if "host" in holder else ""
        who = f"held by {host}pid {holder['pid']}: end that process"
    else:
        text = json.dumps(holder, sort_keys=True, ensure_ascii=False)
        if len(text) > SHORT_VALUE_CHARACTERS:
            text = text[:SHORT_VALUE_CHARACTERS] + "..."
        who = f"taken, its value is {text}: delete it"
    return NameInUse(f"{path} is {who} or use another name")


def open_store(url: str) -> StateStore:
    """The store at file:///absolute/directory or zk://host:port[,host:port][/root].

    A directory is taken literally, without %-escapes, and made when missing; the root is
    DEFAULT_ZOOKEEPER_ROOT unless given. UsageError for any other URL; StateStoreError within
    about five seconds if no ZooKeeper answers.
    """
    if url.startswith("file:///") and url.strip("/") != "file:":
        from heron_io.file_store import FileStore

        return FileStore(url.removeprefix("file://"))
    matched = _ZOOKEEPER_URL.fullmatch(url)
    if matched is None:
        raise UsageError(
            f"state store URL {url!r} is not understood: "
            "use file:///absolute/directory or zk://host:port[,host:port]/root"
        )
    root = (matched[2] or "").rstrip("/") or DEFAULT_ZOOKEEPER_ROOT
    check_path(root)
    from heron_io.zookeeper import ZooKeeperStore  # kazoo costs 50 ms and file:// needs none of it

    return ZooKeeperStore(matched[1], root, credentials=os.environ.get(CREDENTIALS_VARIABLE))
