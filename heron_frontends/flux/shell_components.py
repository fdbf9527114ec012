"""FluxShellBolt and FluxShellSpout: programs that are components (Storm: flux-wrappers).

A command that is streamparse's `streamparse_run`, as in the files that sparse makes, is a Python
class: it runs in the instance's own process, many times faster.
"""

import os
from collections.abc import Sequence
from typing import Any

from heron_core.config.names import SHELL_ENVIRONMENT
from heron_core.records import replace
from heron_core.topology import DEFAULT_STREAM, StreamSpec
from heron_core.validation import choices
from heron_frontends.components.java import NO_OUTPUTS
from heron_frontends.flux.definitions import ConfigMethod, ObjectDefinition

"""Config key: environment variables of the program, name -> value."""

_METHODS = {
    "setDefaultStream": (list,),
    "setNamedStream": (str, list),
    "setDirectStream": (str, list),
    "addComponentConfig": (str, object),
    "setEnv": (dict,),
}
_RUNNER = "streamparse_run"
_RUNNER_OPTIONS = ("-s", "--serializer")


def configured(
    definition: ObjectDefinition, outputs: Sequence[StreamSpec]
) -> tuple[list[StreamSpec], dict[str, Any]]:
    """Output streams and config after the configMethods; `outputs` are the constructor's.

    TopologyError for properties, for a method that shells do not have, or the wrong arguments.
    """
    if definition.properties:
        raise definition.properties[0].position.wrong(
            f"{definition.id!r}: a shell component has no properties, but configMethods:"
            f" {', '.join(_METHODS)}"
        )
    streams = {output.name: output for output in outputs}
    config: dict[str, Any] = {}
    for method in definition.methods:
        args = _arguments(definition, method)
        if method.name == "addComponentConfig":
            config[args[0]] = args[1]
        elif method.name == "setEnv":
            variables = {str(key): str(value) for key, value in args[0].items()}
            config[SHELL_ENVIRONMENT] = {**config.get(SHELL_ENVIRONMENT, {}), **variables}
        else:
            name = args[0] if len(args) > 1 else DEFAULT_STREAM
            is_direct = method.name == "setDirectStream"
            streams[name] = StreamSpec(name, _fields(method, args[-1]), is_direct)
    return [stream for stream in streams.values() if stream.fields], config


def _arguments(definition: ObjectDefinition, method: ConfigMethod) -> list[Any]:
    kinds = _METHODS.get(method.name)
    if kinds is None:
        hint = choices("configMethods", method.name, _METHODS)
        raise method.position.wrong(
            f"{definition.id!r}: a shell component has no configMethod {method.name!r}; {hint}"
        )
    args = [argument.value for argument in method.arguments if not argument.references]
    good = len(args) == len(method.arguments) == len(kinds)
    if not good or not all(map(isinstance, args, kinds)):
        names = {list: "a list of fields", str: "a text", dict: "a mapping", object: "a value"}
        wanted = " and ".join(names[kind] for kind in kinds)
        raise method.position.wrong(
            f"{definition.id!r}: {method.name} takes {wanted}, not {args!r}"
        )
    return args


def _fields(method: ConfigMethod, names: list[Any]) -> tuple[str, ...]:
    for each in names:
        if not isinstance(each, str):
            raise method.position.wrong(f"{method.name}: a field is a text, not {each!r}")
    return () if names == [NO_OUTPUTS] else tuple(names)


def python_class_path(command: Sequence[str]) -> str | None:
    """The class that a `streamparse_run` command runs; None for any other command.

    Storm hands all of its arguments over as one text, so that is taken apart.
    """
    words = " ".join(command).split()
    if len(words) < 2 or os.path.basename(words[0]) != _RUNNER:
        return None
    names, skip = [], False
    for word in words[1:]:
        if skip or word in _RUNNER_OPTIONS:
            skip = not skip
        elif not word.startswith("-"):
            names.append(word)
    return names[0] if len(names) == 1 else None


def with_direct(outputs: Sequence[StreamSpec], own: Sequence[StreamSpec]) -> list[StreamSpec]:
    """`outputs`, direct where the class's own streams are: sparse's files lose that word."""
    direct = {each.name for each in own if each.direct}
    return [replace(each, direct=each.direct or each.name in direct) for each in outputs]
