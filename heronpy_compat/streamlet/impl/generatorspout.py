"""Sources that are Generators (heronpy.streamlet.impl.generatorspout)."""

import copy
from typing import Any

from heron_api.method_shapes import has_run
from heronpy_compat.streamlet.errors import StreamletError
from heronpy_compat.streamlet.generator import Generator
from heronpy_compat.streamlet.impl.contextimpl import ContextImpl
from heronpy_compat.streamlet.impl.sourcespout import SourceSpout, SourceStreamlet
from heronpy_compat.streamlet.impl.stage import checked_object

STATE_KEY = "heronpy.generator"
"""Under it the state has the generator's position."""


class GeneratorSpout(SourceSpout):
    """Emits what the generator gets, unless that is None."""

    GENERATOR = "generator"

    def initialize(self, config: dict[str, Any], context: Any) -> None:
        """Set the generator up."""
        super().initialize(config, context)
        # A copy: partitions in one process (under test) must not share what `setup` sets.
        self._generator: Generator = copy.copy(config[self.GENERATOR])
        state = getattr(self, "_state", None)
        self._generator.setup(ContextImpl(context, state, self.emit_element))
        saved = None if state is None else state.get(STATE_KEY)
        if saved is not None:
            self._generator.seek(saved["position"])
            self.emit_again(saved["pending"])

    def pre_save(self, checkpoint_id: Any) -> None:
        """Where the generator is, if it knows, and the elements before it that are not acked."""
        position = getattr(self._generator, "position", lambda: None)()
        if position is not None:
            saved = {"position": position, "pending": list(self._pending.values())}
            self._state.put(STATE_KEY, saved)

    def next_element(self) -> None:
        """One call of the generator."""
        element = has_run("new_source", self._generator.get())
        if element is not None:
            self.emit_element(element)


class GeneratorStreamlet(SourceStreamlet):
    """What `Builder.new_source` makes of a Generator."""

    prefix = "generator"
    spout = GeneratorSpout
    key = GeneratorSpout.GENERATOR

    def __init__(self, generator: Generator) -> None:
        if not isinstance(generator, Generator):
            raise StreamletError(f"a generator must be a Generator, not {generator!r}")
        checked_object("new_source", generator, ("setup", "get", "position", "seek"))
        super().__init__(generator)
