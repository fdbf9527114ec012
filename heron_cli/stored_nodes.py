"""Nodes of the state store as read by commands: a malformed node affects its topology only.

Malformed nodes can come from any client with write access, or from an older version of heronpy.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

import click

from heron_core.errors import HeronError, StateStoreError
from heron_core.plans import PackingPlan, packing_from_json
from heron_core.state_tree import packing_path
from heron_io.state_store.protocol import StateStore

Found = TypeVar("Found")


class MalformedNode(HeronError):
    """A malformed node."""


def node(store: StateStore, path: str) -> dict[str, Any]:
    """The JSON object at a path, empty for a missing node; MalformedNode for any other content."""
    try:
        value = store.get(path)
    except StateStoreError as error:
        if path not in str(error):
            raise
        raise MalformedNode(str(error)) from error
    if not isinstance(value, dict | None):
        raise MalformedNode(
            f"{path} in the state store is not a JSON object: repair or delete the node"
        )
    return value or {}


def packing(store: StateStore, name: str) -> PackingPlan:
    """A topology's packing plan, empty for a missing node; MalformedNode for any other content."""
    path = packing_path(name)
    value = node(store, path)
    try:
        return packing_from_json(value) if value else PackingPlan(name, ())
    except HeronError as error:
        raise MalformedNode(
            f"{path} in the state store: {error}: repair or delete the node"
        ) from error


def of_each(
    names: Iterable[str], read: Callable[[str], Found], unreadable: Callable[[str], Found]
) -> Iterator[Found]:
    """Result of `read` for each topology; a malformed node gives the result of `unreadable` and
    a line on stderr."""
    for name in names:
        try:
            yield read(name)
        except MalformedNode as error:
            click.echo(f"heronpy: {name}: {error}", err=True)
            yield unreadable(name)
