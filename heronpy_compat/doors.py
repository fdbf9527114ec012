"""From a component of any door (heronpy, streamparse, pystorm, Flux) to one the engine can drive.

What the engine drives has heronpy's methods: initialize(config, context), and process(tup) and
process_tick(tup), or next_tuple(), ack(id), fail(id), activate() and deactivate().
"""

from typing import Any

from heron_core.topology import ComponentSpec
from heronpy_compat.classes import load_class


def construct(spec: ComponentSpec, delegate: Any) -> Any:
    """The component of `spec`; its emit, ack, fail, finish, logger, call_soon are `delegate`'s.

    ComponentError when its class cannot be had; what the user's constructor raises passes on.
    """
    return load_class(spec.class_path)(delegate=delegate)
