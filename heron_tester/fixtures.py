"""What stands around a component that is tested alone: sources of its input, a reader of its
output."""

from typing import Any

from heron_api.bolt.bolt import Bolt
from heron_api.spout.spout import Spout

tested_classes: dict[str, type] = {}
"""Classes that a test gave, by the name under which their instances find them."""


def __getattr__(name: str) -> type:
    """A class in `tested_classes` is an attribute: a class path leads to it wherever it stands."""
    try:
        return tested_classes[name]
    except KeyError:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}") from None


class Source(Spout):
    """Emits what the test feeds."""

    def next_tuple(self) -> None:
        """Nothing of its own."""
        self.finish()


class Reader(Bolt):
    """Reads the output: acks it at once if a bolt made it, keeps it if a spout waits for the test's
    decision."""

    RETAINS = "tester.holds"

    def initialize(self, config: dict[str, Any], context: Any) -> None:
        """Nothing is held at first."""
        self.retained: list[Any] = []
        self.retains = config[self.RETAINS]

    def process(self, tup: Any) -> None:
        """Hold or ack."""
        if self.retains:
            self.retained.append(tup)
        else:
            self.ack(tup)
