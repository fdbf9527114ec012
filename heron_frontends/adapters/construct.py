"""From a component of any API (heronpy, streamparse, pystorm, Flux) to one the engine can drive."""

import inspect
from collections.abc import Callable, Mapping
from typing import Any

from heron_api.class_loading import load_class
from heron_api.component.base_component import BaseComponent
from heron_core.component import Bindings, EngineBolt, EngineSpout
from heron_core.config.names import FLUX_RECIPE
from heron_core.topology import ComponentSpec
from heron_frontends.adapters.heronpy_component import HeronpyBolt, HeronpySpout

"""Config key of a Flux file's constructor arguments, properties and calls for an object."""

_GIVEN = {True: ("finish", "logger", "call_soon"), False: ("logger", "call_soon")}
"""Attributes of the bindings that a plain object lacks and receives besides emit, ack and fail: for
a spout (True) and a bolt.
"""


def construct(spec: ComponentSpec, bindings: Bindings) -> EngineSpout | EngineBolt:
    """The component of `spec`, bound to `bindings`.

    ComponentError for a class that cannot be loaded; an error of the user's constructor passes on.
    """
    cls = load_class(spec.class_path)
    args, configure = _recipe(spec.config)
    if is_storm_like(cls):
        return _adapted(cls, args, configure, spec, bindings)
    takes_delegate = _takes_delegate(cls)
    user: Any = cls(*args, delegate=bindings) if takes_delegate else cls(*args)
    if isinstance(user, BaseComponent) and not hasattr(user, "delegate"):
        BaseComponent.__init__(user, bindings)  # an overridden __init__ without super()
    component = (HeronpySpout if spec.is_spout else HeronpyBolt)(user, takes_delegate, spec)
    if not takes_delegate:
        _equip(user, spec.is_spout, bindings)
    component.bind(bindings)
    configure(user)
    return component


def _recipe(config: Mapping[str, Any]) -> tuple[tuple[Any, ...], Callable[[Any], None]]:
    """Constructor arguments, and what is to be called on the new object."""
    if FLUX_RECIPE not in config:
        return (), lambda _: None
    from heron_frontends.flux.objects import construction  # only a Flux file's components need it

    return construction(config)


def is_storm_like(cls: type) -> bool:
    """Whether a class is derived from pystorm's. Instances of heronpy's API never load the pystorm
    adapter.
    """
    modules = (base.__module__ for base in cls.__mro__)
    return any(module.startswith(("pystorm.", "heronpy_compat.pystorm.")) for module in modules)


def _adapted(
    cls: type,
    args: tuple[Any, ...],
    configure: Callable[[Any], None],
    spec: ComponentSpec,
    bindings: Any,
) -> EngineSpout | EngineBolt:
    from heron_frontends.adapters.storm.adapting import adapt
    from heron_frontends.adapters.storm.library import make

    user = make(cls, args)
    configure(user)
    return adapt(user, spec, bindings)


def _takes_delegate(cls: type) -> bool:
    if issubclass(cls, BaseComponent):
        return True
    parameters = inspect.signature(cls).parameters
    return "delegate" in parameters or any(
        parameter.kind is inspect.Parameter.VAR_KEYWORD for parameter in parameters.values()
    )


def _equip(user: Any, is_spout: bool, bindings: Any) -> None:
    """Give an object of a plain class the attributes of the API's base classes."""
    for name in _GIVEN[is_spout]:
        if not hasattr(user, name):
            setattr(user, name, getattr(bindings, name))
