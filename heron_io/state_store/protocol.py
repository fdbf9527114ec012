"""The state store: a small tree of JSON values with ephemeral nodes, watches and session events.

Two implementations pass one conformance suite (tests/store): serverless files under a directory,
and ZooKeeper. The tree is Heron's (FileSystemStateManager.java), the values are JSON that a person
can read. A path is absolute, "/tmasters/wordcount"; a node has a value, child nodes, or both; a
node with only children has no value and vanishes with the last child.
"""

import json
from collections.abc import Callable
from typing import Any, Protocol, Self

from heron_core.errors import Fenced, NameInUse, StateStoreError

Watcher = Callable[[Any | None], None]
SessionListener = Callable[[str], None]

CONNECTED = "connected"
SUSPENDED = "suspended"
LOST = "lost"

SHORT_VALUE_CHARACTERS = 60  # more of a holder's value would not fit an error's one line


class StateStore(Protocol):
    """What both stores do. All methods may be called from any thread, all raise StateStoreError
    when the store cannot be reached, refuses, or is closed, and UsageError for a bad path."""

    def get(self, path: str) -> Any | None:
        """The value at `path`; None if absent, or if its ephemeral holder is gone."""

    def create(self, path: str, value: Any, *, ephemeral: bool = False) -> None:
        """Create a node; NameInUse names the path and the holder of an existing node.

        An ephemeral node lives as long as its creating process (file store) or session (ZooKeeper),
        whatever ends it, and cannot have children.
        """

    def put(self, path: str, value: Any, *, guard: str = "") -> None:
        """Create or replace. A new node is persistent; an own ephemeral one stays ephemeral.

        Write a value. NameInUse for another process's ephemeral node. With a `guard`, the path of a
        node, the write requires the guard's existence at the moment of writing; otherwise Fenced.
        """

    def delete(self, path: str) -> bool:
        """Remove the value, whichever process holds it, but not the children; True if there was a
        value.
        """

    def children(self, path: str) -> list[str]:
        """Names of the nodes directly below `path`, sorted; possibly empty."""

    def watch(self, path: str, callback: Watcher) -> Callable[[], None]:
        """Call back with the value now, before this returns, and after each change or deletion.

        Later calls come one at a time from a thread of the store; changes in quick succession
        may come as one. An exception of the callback is logged and the watch goes on. The
        function returned cancels the watch; a call under way may still end after it.
        """

    def on_session(self, callback: SessionListener) -> None:
        """Call back with the state now and after each change: connected, suspended or lost.

        Suspended: the servers do not answer; own ephemeral nodes may still exist. Lost: the nodes
        are gone, and the application has to recreate them. Only a server can report the loss, so
        lost follows the next answer. The callback must neither block nor call the store.
        """

    def close(self) -> None:
        """Remove own ephemeral nodes and stop; a second call does nothing.

        Not to be called from a callback.
        """

    def __enter__(self) -> Self:
        """The store itself, for `with open_store(url) as store:`."""

    def __exit__(self, *_: object) -> None:
        """Close it."""


def encode_value(path: str, value: Any) -> bytes:
    """`value` as JSON for a person to read; StateStoreError if it is None or not JSON."""
    if value is None:
        raise StateStoreError(
            f"{path} cannot store None, which means an absent value: delete the node instead"
        )
    try:
        text = json.dumps(value, indent=1, sort_keys=True, ensure_ascii=False, allow_nan=False)
        return (text + "\n").encode()
    except (TypeError, ValueError) as error:
        raise StateStoreError(f"{path} can only hold JSON values: {error}") from error


def decode_value(location: str, data: bytes) -> Any:
    """The inverse of `encode_value`; `location` is what an error names."""
    try:
        return json.loads(data)
    except ValueError as error:
        raise StateStoreError(
            f"{location} is not JSON ({error}): repair or delete the node"
        ) from error


def fenced(path: str, guard: str) -> Fenced:
    """The error of a write whose guard is gone."""
    return Fenced(f"{path} is not written: {guard} is gone, so another process writes it now")


def name_in_use(path: str, holder: Any) -> NameInUse:
    """Error for an existing node, naming the process that holds the node if the value tells."""
    if isinstance(holder, dict) and "pid" in holder:
        host = f"host {holder['host']}, " if "host" in holder else ""
        who = f"held by {host}pid {holder['pid']}: end the process"
    else:
        text = json.dumps(holder, sort_keys=True, ensure_ascii=False)
        if len(text) > SHORT_VALUE_CHARACTERS:
            text = text[:SHORT_VALUE_CHARACTERS] + "..."
        who = f"taken, its value is {text}: delete the node"
    return NameInUse(f"{path} is {who} or use another name")
