"""A component that does nothing: it stands where one will be, once its state is there."""

from collections.abc import Iterable
from typing import Any

from heron_core.component import BoltDefaults, ComponentDefaults, SpoutDefaults, TupleLoop


class _Silent(ComponentDefaults):
    """What spout and bolt have in common."""

    users_object: Any = None
    driven_object: Any = None

    def initialize(self, config: dict[str, Any], context: Any) -> None:
        """It needs nothing."""


class SilentSpout(_Silent, SpoutDefaults):
    """Emits nothing."""

    def next_tuple(self) -> None:
        """Nothing."""

    def ack(self, tup_id: Any) -> None:
        """It emits nothing that could be acked."""

    fail = ack


class SilentBolt(_Silent, BoltDefaults):
    """Gets nothing."""

    def tuple_loop(self) -> TupleLoop:
        """Nothing comes before there is a component."""
        return _nothing_comes


def _nothing_comes(tuples: Iterable[Any]) -> None:
    raise AssertionError("a tuple has come before the component was there")
