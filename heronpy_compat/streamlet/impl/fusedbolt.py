"""Several stages as one bolt: an element goes from function to function without a message."""

from collections.abc import Callable
from importlib import import_module
from typing import Any

from heron_api.bolt.bolt import Bolt
from heron_api.state.stateful_component import StatefulComponent
from heron_api.user_errors import note_operator
from heronpy_compat.streamlet.impl.streamletboltbase import OUTPUT_STREAM, StreamletBoltBase

OPERATORS = "operators"
"""The key of the stages in a fused bolt's config: [name, module and class of its own bolt]."""
Take = Callable[[Any], None]


def function_key(name: str) -> str:
    """The key of a stage's function in a fused bolt's config; an error about it names it."""
    return f"function of {name}"


class FusedBolt(Bolt, StatefulComponent, StreamletBoltBase):
    """Emits what comes out at the end, anchored to what came in at the beginning, and then acks.

    As between bolts of their own, an element that a function raises for is lost alone: the others
    that were made of the same tuple go on. The tuple fails then, which brings it again at least
    once.
    """

    def initialize(self, config: dict[str, Any], context: Any) -> None:
        """Chain the stages, the last one first."""
        self._anchors: list[Any] = []
        self._failures: list[tuple[str, Exception]] = []
        take: Take = self._emit_element
        for name, module, kind in reversed(config[OPERATORS]):
            bolt = getattr(import_module(module), kind)(delegate=self)
            bolt.initialize({bolt.FUNCTION: config.get(function_key(name))}, context)
            take = _step(name, bolt.results, take, self._failures)
        self._take = take

    def process(self, tup: Any) -> None:
        """Run an element through all stages."""
        self._anchors = [tup]
        self._take(tup.values[0])
        if self._failures:
            self._raise_first()
        self.ack(tup)

    def _emit_element(self, element: Any) -> None:
        self.emit([element], stream=OUTPUT_STREAM, anchors=self._anchors)

    def _raise_first(self) -> None:
        (name, first), more = self._failures[0], len(self._failures) - 1
        self._failures.clear()
        rest = f"; {more} more elements of the tuple failed" if more else ""
        note_operator(first, f"in {name}{rest}")
        raise first


def _step(
    name: str,
    results: Callable[[Any], Any],
    following: Take,
    failures: list[tuple[str, Exception]],
) -> Take:
    def step(element: Any) -> None:
        try:
            for result in results(element):
                following(result)
        except Exception as error:  # its own: what follows keeps its own, too
            failures.append((name, error))

    return step
