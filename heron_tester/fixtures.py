"""Fixtures around a component tested alone: sources of its input, a reader of its output."""

from typing import Any

from heron_api.bolt.bolt import Bolt
from heron_api.spout.spout import Spout

tested_classes: dict[str, type] = {}
"""Classes given by a test, by the name used by their instances."""


def __getattr__(name: str) -> type:
    """A class in `tested_classes` is an attribute: a class path leads to it wherever it stands."""
    try:
        return tested_classes[name]
    except KeyError:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}") from None


class Source(Spout):
    """Emits the tuples fed by the test."""

    def next_tuple(self) -> None:
        """Emit nothing and finish: the test feeds the tuples."""
        self.finish()


class Reader(Bolt):
    """Reads the output: acks a bolt's tuples at once, retains a spout's tuples for the test's
    decision."""

    RETAINS = "tester.holds"

    def initialize(self, config: dict[str, Any], context: Any) -> None:
        """Start without retained tuples."""
        self.retained: list[Any] = []
        self.retains = config[self.RETAINS]

    def process(self, tup: Any) -> None:
        """Hold or ack."""
        if self.retains:
            self.retained.append(tup)
        else:
            self.ack(tup)
