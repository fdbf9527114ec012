"""`topologySource`: Python code that makes the whole topology, while the file is loaded.

A source is a class with a method `methodName` (getTopology, or get_topology) that returns the
topology, a Topology class, or a function. The method and the function may take the file's config.
The returned or submitted value is a Topology class of any API, a builder with build_and_submit(),
or a TopologySpec.
"""

import importlib
import inspect
from collections.abc import Callable, Mapping
from typing import Any

from heron_api.class_loading import load_class
from heron_api.submissions import capture_submissions
from heron_api.user_errors import format_error
from heron_core.errors import ComponentError, TopologyError
from heron_core.topology import TopologySpec
from heron_frontends.flux import object_definitions, signature_check
from heron_frontends.flux.definitions import ObjectDefinition, SourceDefinition
from heron_frontends.flux.objects import make_object, method_name
from heron_frontends.loading.streamparse_topology import is_streamparse_topology, to_topology_spec

_BUILDS = "build_and_submit"


def source_topology(
    source: SourceDefinition, components: object_definitions.Components, config: Mapping[str, Any]
) -> TopologySpec:
    """The topology of the source; TopologyError with file and line if the source yields none."""
    definition = source.object
    try:
        with capture_submissions() as submitted:
            result = _source_result(source, components, dict(config))
            if callable(getattr(result, _BUILDS, None)):
                getattr(result, _BUILDS)()
    except (TopologyError, ComponentError):
        raise
    except (Exception, SystemExit) as error:
        raise definition.position.wrong(
            f"{definition.class_name}: {format_error(error)}"
        ) from error
    topology = _as_topology(result) or (submitted[-1] if submitted else None)
    if topology is None:
        raise definition.position.wrong(
            f"{definition.class_name} returned {result!r}, not a topology: return a Topology class"
            " or a builder"
        )
    _check_classes(definition, topology)
    return topology


def _source_result(
    source: SourceDefinition, components: object_definitions.Components, config: dict[str, Any]
) -> Any:
    """Return value of the source, or the Topology class that the source names."""
    definition = source.object
    function = _function(definition.class_name)
    if function is not None:
        return _call(function, config)
    loaded = signature_check.loaded_class(definition)
    if _as_topology(loaded) is not None:
        return loaded
    signature_check.check_object(definition, loaded)
    maker = make_object(object_definitions.recipe(definition, definition.class_name, components))
    name = method_name(maker, source.method)
    if name is None:
        raise definition.position.wrong(
            f"{definition.class_name} has no method {source.method!r}: name it with methodName"
        )
    return _call(getattr(maker, name), config)


def _function(path: str) -> Callable[..., Any] | None:
    """The function of this dotted path, or None."""
    module, _, name = path.rpartition(".")
    try:
        found = getattr(importlib.import_module(module), name, None) if module else None
    except ModuleNotFoundError:
        return None
    return found if inspect.isroutine(found) else None


def _call(function: Callable[..., Any], config: dict[str, Any]) -> Any:
    """Call a function, with the config if the function accepts an argument."""
    try:
        inspect.signature(function).bind(config)
    except TypeError:
        return function()
    return function(config)


def _as_topology(found: Any) -> TopologySpec | None:
    if isinstance(found, TopologySpec):
        return found
    if is_streamparse_topology(found):
        return to_topology_spec(found, found.__name__)
    to_spec = getattr(found, "to_spec", None)
    topology = to_spec() if callable(to_spec) else None
    return topology if isinstance(topology, TopologySpec) else None


def _check_classes(definition: ObjectDefinition, topology: TopologySpec) -> None:
    """Instances import the classes by their paths, so every path must lead to one."""
    for component in topology.components:
        try:
            load_class(component.class_path)
        except ComponentError as error:
            raise definition.position.wrong(f"component {component.name!r}: {error}") from None
