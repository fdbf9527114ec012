"""From a class of pystorm's or streamparse's to the component that the engine drives."""

from typing import Any

from heron_core.component import EngineBolt, EngineSpout
from heron_core.errors import ComponentError
from heron_core.topology import ComponentSpec
from heron_frontends.adapters.storm.batching import StormBatchingBolt, StormTicklessBolt
from heron_frontends.adapters.storm.bolt import StormBolt
from heron_frontends.adapters.storm.library import module_of
from heron_frontends.adapters.storm.spout import StormSpout


def adapt(user: Any, spec: ComponentSpec, bindings: Any) -> EngineSpout | EngineBolt:
    """The adapter of a user's object; ComponentError if it is no spout or bolt as `spec` says."""
    kind = type(user)
    if spec.is_spout:
        if not isinstance(user, module_of(kind, "spout").Spout):
            raise ComponentError(_mismatch(spec, kind, "spout"))
        return StormSpout(user, spec, bindings)
    bolts = module_of(kind, "bolt")
    adapters: list[tuple[type, type[StormBolt]]] = [
        (bolts.TicklessBatchingBolt, StormTicklessBolt),
        (bolts.BatchingBolt, StormBatchingBolt),
        (bolts.Bolt, StormBolt),
    ]
    for base, adapter in adapters:
        if isinstance(user, base):
            return adapter(user, spec, bindings)
    raise ComponentError(_mismatch(spec, kind, "bolt"))


def _mismatch(spec: ComponentSpec, kind: type, wanted: str) -> str:
    name = f"{kind.__module__}.{kind.__qualname__}"
    return f"component {spec.name!r} is a {wanted}, but its class {name} is not"
