"""From a topology of streamparse, ours or the installed one, to the engine's value.

Both packages keep the fields of Storm's Thrift interface under equal names, so one reader serves
both. The installed streamparse is never imported here: its classes are recognised by the names of
their modules.
"""

import json
import os
import shlex
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from heron_core import config as keys
from heron_core.config.names import SHELL_COMMAND
from heron_core.errors import HeronError, TopologyError
from heron_core.topology import (
    ComponentSpec,
    GroupingKind,
    GroupingSpec,
    InputSpec,
    StreamSpec,
    TopologySpec,
)
from heron_core.validation import choices
from heron_frontends.adapters.storm_groupings import custom_grouping
from heron_frontends.components.java import (
    SHELL_BOLT,
    SHELL_SPOUT,
    is_drawing,
    resolve,
)
from heron_frontends.jvm import frontend

STORM_DEFAULTS = {keys.RELIABILITY_MODE: keys.ATLEAST_ONCE}
"""Storm tracks every tuple unless topology.acker.executors is 0."""

SERIALISED = "java.io.Serializable"
"""Label in a picture for a component that only Storm can run."""
_DSL = "streamparse.dsl.topology"
_PYTHON_COMMAND = "streamparse_run"
_PLAIN = {
    "shuffle": GroupingKind.SHUFFLE,
    "all": GroupingKind.ALL,
    "none": GroupingKind.NONE,
    "direct": GroupingKind.DIRECT,
    "local_or_shuffle": GroupingKind.LOCAL_OR_SHUFFLE,
}
"""Field set in Storm's Thrift union -> grouping"""


def is_streamparse_topology(value: Any) -> bool:
    """Whether `value` is a class derived from streamparse's Topology."""
    return (
        isinstance(value, type)
        and any(kind.__module__.endswith(_DSL) for kind in type.mro(type(value)))
        and not value.__module__.endswith(_DSL)
    )


def to_topology_spec(topology: Any, name: str, environment: str | None = None) -> TopologySpec:
    """The topology under `name`; `environment` picks from a `par` that is a dict.

    TopologyError for what only Storm can run, and for an environment without a `par`.
    """
    spouts = topology.thrift_spouts
    config = _without_nulls(topology.config or {})
    components = [
        _component(spec, spec.name in spouts, topology, environment) for spec in topology.specs
    ]
    file = getattr(sys.modules.get(topology.__module__), "__file__", None) or ""
    complete = frontend.described(components, config, file, _wrong)
    return TopologySpec(name, tuple(complete), config, defaults=STORM_DEFAULTS)


def _wrong(name: str, problem: str) -> HeronError:
    return TopologyError(f"component {name!r}: {problem}")


def _component(spec: Any, is_spout: bool, topology: Any, environment: str | None) -> ComponentSpec:
    class_path, config = _what_runs(spec, is_spout, topology.config or {})
    return ComponentSpec(
        spec.name,
        is_spout,
        class_path,
        _parallelism(spec, environment),
        tuple(
            StreamSpec(
                name, tuple(stream.output_fields), stream.direct, getattr(stream, "types", ())
            )
            for name, stream in spec.outputs.items()
        ),
        tuple(
            InputSpec(
                stream.componentId,
                stream.streamId,
                _grouping(spec, stream, grouping, topology),
            )
            for stream, grouping in spec.inputs.items()
        ),
        {**config, **_without_nulls(json.loads(spec.config))},
    )


def _parallelism(spec: Any, environment: str | None) -> int:
    par = spec.par
    if not isinstance(par, dict):
        return int(par)
    if environment in par:
        return int(par[environment])
    if environment is None:
        raise TopologyError(
            f"component {spec.name!r}: par depends on the environment: name the environment with "
            f"-e, one of {', '.join(par)}"
        )
    raise TopologyError(
        f"component {spec.name!r}: par has no number for environment {environment!r};"
        f" {choices('environments', environment, par)}"
    )


def _what_runs(
    spec: Any, is_spout: bool, topology_config: Mapping[str, Any]
) -> tuple[str, dict[str, Any]]:
    """Class path of a component, with the config that the class needs."""
    component_object = spec.component_object
    if component_object.java_object is not None:
        arguments = [_argument(argument) for argument in component_object.java_object.args_list]
        name: str = component_object.java_object.full_class_name
        own = {**topology_config, **json.loads(spec.config)}
        if not is_drawing() and frontend.runs_in_jvm(name, own):
            return frontend.of_recipe(frontend.plain_recipe(name, arguments), is_spout)
        class_path, config, _ = resolve(name, arguments, is_spout, spec.name)
        return class_path, config
    if component_object.shell is None and is_drawing():
        return SERIALISED, {}
    if component_object.shell is None:
        raise TopologyError(
            f"component {spec.name!r} is a serialised Java object, which only Storm can run: "
            "write the component in Python, or use a shell component"
        )
    command, script = component_object.shell.execution_command, component_object.shell.script
    if os.path.basename(command) == _PYTHON_COMMAND:
        return _python_class(spec, script), {}
    # As streamparse documents it: several arguments are separated by blanks.
    words = [command, *_words(spec, script)]
    return SHELL_SPOUT if is_spout else SHELL_BOLT, {SHELL_COMMAND: words}


def _python_class(spec: Any, script: str) -> str:
    """The component's own class, or the class named by a ShellBolt's streamparse_run command."""
    path = script.split()[-1] if script.strip() else ""
    kind = spec.component_cls
    is_own = path == f"{kind.__module__}.{kind.__name__}"
    return f"{kind.__module__}.{kind.__qualname__}" if is_own else path


def _words(spec: Any, script: str) -> list[str]:
    try:
        return shlex.split(script)
    except ValueError as error:
        raise TopologyError(f"component {spec.name!r}: script {script!r}: {error}") from None


def _grouping(spec: Any, stream: Any, grouping: Any, topology: Any) -> GroupingSpec:
    kind = next((name for name, value in vars(grouping).items() if value is not None), None)
    label = f"component {spec.name!r}: input {stream.componentId}:{stream.streamId}"
    if kind == "fields":
        fields = tuple(grouping.fields)
        return GroupingSpec(GroupingKind.FIELDS if fields else GroupingKind.GLOBAL, fields)
    if kind == "custom_object":
        java_object = grouping.custom_object
        source = next(spec for spec in topology.specs if spec.name == stream.componentId)
        known = source.outputs[stream.streamId].output_fields
        arguments = [_argument(argument) for argument in java_object.args_list]
        return custom_grouping(java_object.full_class_name, arguments, known, label)
    if kind not in _PLAIN:
        raise TopologyError(
            f"{label} has a grouping that is a serialised Java object, which only Storm can run:"
            " use Grouping.custom_object with a Python class derived from ICustomGrouping"
        )
    return GroupingSpec(_PLAIN[kind])


def _argument(value: Any) -> Any:
    """Value of a JavaObjectArg: the one field that is set."""
    set_values: Sequence[Any] = [each for each in vars(value).values() if each is not None]
    return set_values[0] if set_values else None


def _without_nulls(config: dict[str, Any]) -> dict[str, Any]:
    """Storm's null says that a key is not set."""
    return {key: value for key, value in config.items() if value is not None}
