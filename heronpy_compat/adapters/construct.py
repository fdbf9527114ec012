"""From a component of any door (heronpy, streamparse, pystorm, Flux) to one the engine can drive.

What the engine drives has heronpy's methods: initialize(config, context), and process(tup) and
process_tick(tup), or next_tuple(), ack(id), fail(id), activate() and deactivate().
"""

import inspect
from collections.abc import Callable, Mapping
from typing import Any

from heron_core.topology import ComponentSpec
from heronpy_compat.api.component.base_component import BaseComponent
from heronpy_compat.loading.class_loading import load_class

RECIPE = "heronpy.flux.recipe"
"""Config key of what a Flux file says about an object: constructor arguments, properties, calls."""

_FROM_DELEGATE = {
    True: ("emit", "finish"),
    False: ("emit", "ack", "fail"),
}
_HOOKS = {
    True: ("initialize", "ack", "fail", "activate", "deactivate"),
    False: ("initialize", "process_tick", "on_finish"),
}
"""What the engine calls of a spout (True) or a bolt, and a plain class may leave out."""


def construct(spec: ComponentSpec, delegate: Any) -> Any:
    """The component of `spec`; its emit, ack, fail, finish, logger, call_soon are `delegate`'s.

    ComponentError when its class cannot be had; what the user's constructor raises passes on.
    """
    cls = load_class(spec.class_path)
    args, configure = _recipe(spec.config)
    if _is_storm_like(cls):
        return _adapted(cls, args, configure, spec, delegate)
    if _takes_delegate(cls):
        component = cls(*args, delegate=delegate)
        configure(component)
        return component
    component = cls(*args)
    _equip(component, spec.is_spout, delegate)
    configure(component)
    return component


def _recipe(config: Mapping[str, Any]) -> tuple[tuple[Any, ...], Callable[[Any], None]]:
    """Constructor arguments, and what is to be called on the new object."""
    if RECIPE not in config:
        return (), lambda _: None
    from heronpy_compat.flux.objects import prepared  # only who comes from a Flux file needs it

    return prepared(config)


def _is_storm_like(cls: type) -> bool:
    """Whether a class is derived from pystorm's; heronpy's instances never load what runs those."""
    modules = (each.__module__ for each in cls.__mro__)
    return any(each.startswith(("pystorm.", "heronpy_compat.pystorm.")) for each in modules)


def _adapted(
    cls: type,
    args: tuple[Any, ...],
    configure: Callable[[Any], None],
    spec: ComponentSpec,
    delegate: Any,
) -> Any:
    from heronpy_compat.adapters.storm.adapting import adapt
    from heronpy_compat.adapters.storm.library import make

    user = make(cls, args)
    configure(user)
    return adapt(user, spec, delegate)


def _takes_delegate(cls: type) -> bool:
    if issubclass(cls, BaseComponent):
        return True
    kinds = inspect.signature(cls).parameters
    return "delegate" in kinds or any(
        each.kind is inspect.Parameter.VAR_KEYWORD for each in kinds.values()
    )


def _equip(component: Any, is_spout: bool, delegate: Any) -> None:
    """Give an object of a plain class what the API's base classes would give it."""
    given: dict[str, Any] = {name: _later(delegate, name) for name in _FROM_DELEGATE[is_spout]}
    given.update({"logger": delegate.logger, "call_soon": delegate.call_soon})
    given.update(dict.fromkeys(_HOOKS[is_spout], _nothing))
    for name, value in given.items():
        if not hasattr(component, name):
            setattr(component, name, value)


def _later(delegate: Any, name: str) -> Callable[..., Any]:
    """What the delegate has under `name` by the time of the call: it is connected later."""

    def call(*args: Any, **named: Any) -> Any:
        return getattr(delegate, name)(*args, **named)

    return call


def _nothing(*args: Any) -> None:
    pass
