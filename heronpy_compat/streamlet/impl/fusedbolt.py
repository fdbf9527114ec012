"""Several stages as one bolt: an element goes from function to function without a message."""

from collections.abc import Callable
from importlib import import_module
from typing import Any

from heron_api.bolt.bolt import Bolt
from heron_api.state.stateful_component import StatefulComponent
from heron_api.user_errors import note_operator
from heronpy_compat.streamlet.impl.streamletboltbase import OUTPUT_STREAM, StreamletBoltBase

OPERATORS = "operators"
"""Config key of a fused bolt's stages: [name, module and class of the stage's bolt]."""
Take = Callable[[Any], None]


def function_key(name: str) -> str:
    """Config key of a stage's function in a fused bolt; errors of the function name the key."""
    return f"function of {name}"


class FusedBolt(Bolt, StatefulComponent, StreamletBoltBase):
    """Emits the results of the last stage, anchored to the input of the first stage, and then acks.

    As with separate bolts, an exception loses only the element concerned: the remaining elements of
    the input tuple continue. The tuple fails, so at-least-once delivery repeats the tuple.
    """

    def initialize(self, config: dict[str, Any], context: Any) -> None:
        """Chain the stages, from the last to the first."""
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
        except (
            Exception
        ) as error:  # each stage keeps its own context, and so do the stages after it
            failures.append((name, error))

    return step
