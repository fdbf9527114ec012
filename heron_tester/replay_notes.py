"""Checks of a component's code before a replay: equality with the recorded code, sources of values
that are not recorded, and effects on other systems."""

import sys
from collections.abc import Iterator
from types import ModuleType

from heron_api.class_loading import load_class
from heron_api.state.stateful_component import TwoPhaseStatefulComponent
from heron_core.errors import UsageError
from heron_core.topology import ComponentSpec
from heron_frontends.loading.fingerprints import described

WORLDLY = {
    "random": "random numbers",
    "secrets": "random numbers",
    "uuid": "random ids",
    "socket": "the network",
    "http": "the network",
    "urllib": "the network",
    "requests": "the network",
    "httpx": "the network",
    "aiohttp": "the network",
    "threading": "threads",
    "subprocess": "other processes",
}
"""Module -> values or effects that are not recorded."""
LIBRARIES = frozenset({"builtins", "heronpy", "pystorm", "streamparse", "typing"})
"""Packages of base classes besides those of the engine: their imports say nothing of user code."""


def notes_of_code(
    recorded: ComponentSpec, spec: ComponentSpec, *, allow_external: bool
) -> list[str]:
    """Lines for the report. UsageError for a component whose calls would write to another system
    again, unless that is allowed."""
    kind = load_class(spec.class_path)
    if issubclass(kind, TwoPhaseStatefulComponent) and not allow_external:
        raise UsageError(
            f"{spec.name} ({kind.__name__}) commits to another system, and a replay would do so"
            " again: add --external if that is wanted"
        )
    return [*_of_change(recorded, spec), *_of_world(kind)]


def _of_change(recorded: ComponentSpec, spec: ComponentSpec) -> Iterator[str]:
    if not recorded.code:
        return
    now = described(spec).code
    if now != recorded.code:
        yield f"the code of {spec.class_path} is not the recorded code"


def _of_world(kind: type) -> Iterator[str]:
    asked: dict[str, list[str]] = {}
    for each in kind.__mro__:
        module = sys.modules.get(each.__module__)
        if module is not None and not _is_library(each.__module__):
            for name in _modules_of(module):
                asked.setdefault(WORLDLY[name], []).append(name)
    for what, names in asked.items():
        listed = ", ".join(sorted(set(names)))
        yield f"{what} of {listed}, which its module imports, are not recorded"


def _is_library(module: str) -> bool:
    package = module.partition(".")[0]
    return package in LIBRARIES or package.startswith(("heron_", "heronpy_"))


def _modules_of(module: ModuleType) -> Iterator[str]:
    for value in vars(module).values():
        name = (
            value.__name__ if isinstance(value, ModuleType) else getattr(value, "__module__", None)
        )
        first = str(name).partition(".")[0]
        if first in WORLDLY:
            yield first
