"""Tells classes of the library from the user's, and creates the user's object."""

import inspect
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from heron_frontends.adapters.storm.in_process import InProcess

PYSTORM = ("pystorm", "heronpy_compat.pystorm")
LIBRARIES = (*PYSTORM, "streamparse", "heronpy_compat.streamparse")
"""Packages whose classes are bases of the user's."""
_ARGUMENTS: dict[str, Any] = {
    "input_stream": None,
    "output_stream": None,
    "rdb_signal": None,
    "serializer": "json",
}
"""What the library's constructors take. streamparse_run gives only the serializer."""


def overrides(user: Any, name: str) -> bool:
    """Whether the user's object, or a class of the user, defines `name`."""
    if name in vars(user):
        return True
    owner = next((each for each in type(user).__mro__ if name in vars(each)), None)
    return owner is not None and owner is not object and not _is_in(owner, LIBRARIES)


def module_of(cls: type, name: str) -> Any:
    """The library's module `name` (component, bolt, spout) that a class is derived from."""
    modules = [each.__module__ for each in cls.__mro__ if _is_in(each, PYSTORM)]
    package = next(each for each in PYSTORM if _is_below(modules[-1], each))
    return sys.modules[f"{package}.{name}"]


def make(cls: type, args: tuple[Any, ...]) -> Any:
    """Create the user's object; errors of its constructor pass on.

    The constructor has to accept pystorm's arguments, the keyword `serializer`, or be callable
    without arguments.
    """
    with _in_this_process(cls):
        return cls(*args, **_accepted(cls, args))


def _is_in(cls: type, packages: tuple[str, ...]) -> bool:
    return any(_is_below(cls.__module__, each) for each in packages)


def _is_below(module: str, package: str) -> bool:
    return module == package or module.startswith(f"{package}.")


def _accepted(cls: type, args: tuple[Any, ...]) -> dict[str, Any]:
    """The library's keyword arguments accepted by a class besides `args`."""
    parameters = list(inspect.signature(cls).parameters.values())
    kinds = {each.kind for each in parameters}
    if inspect.Parameter.VAR_POSITIONAL not in kinds:
        parameters = parameters[len(args) :]
    if inspect.Parameter.VAR_KEYWORD in kinds:
        return dict(_ARGUMENTS)
    names = {each.name for each in parameters}
    return {name: value for name, value in _ARGUMENTS.items() if name in names}


@contextmanager
def _in_this_process(cls: type) -> Iterator[None]:
    """While open, constructors open no pipe, start no batcher thread and leave signals alone."""
    serializers = module_of(cls, "component")._SERIALIZERS
    tickless = module_of(cls, "bolt").TicklessBatchingBolt
    before, batch_entry = dict(serializers), tickless._batch_entry
    handler = signal.getsignal(signal.SIGUSR1)
    serializers.update(dict.fromkeys(before, InProcess))
    tickless._batch_entry = _ends_at_once
    try:
        yield
    finally:
        serializers.update(before)
        tickless._batch_entry = batch_entry
        is_main = threading.current_thread() is threading.main_thread()
        if is_main and signal.getsignal(signal.SIGUSR1) is not handler:
            signal.signal(signal.SIGUSR1, handler)


def _ends_at_once(tickless: Any) -> None:
    """In place of a batcher thread's loop: batching.py has its own."""
