"""What stands around a component that is tested alone: sources of its input, a reader of its
output."""

from typing import Any

from heronpy_compat.api.bolt.bolt import Bolt
from heronpy_compat.api.spout.spout import Spout

given: dict[str, type] = {}
"""Classes that a test gave, by the name under which their instances find them."""


def __getattr__(name: str) -> type:
    """A class in `given` is an attribute, so that a class path leads to it wherever it stands."""
    try:
        return given[name]
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

    KEEPS = "tester.keeps"

    def initialize(self, config: dict[str, Any], context: Any) -> None:
        """Nothing is held at first."""
        self.held: list[Any] = []
        self.keeps = config[self.KEEPS]

    def process(self, tup: Any) -> None:
        """Keep or ack."""
        if self.keeps:
            self.held.append(tup)
        else:
            self.ack(tup)
