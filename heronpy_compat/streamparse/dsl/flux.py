"""A topology in the form of Storm's Flux files (streamparse's Topology.to_flux_dict)."""

import json
from collections.abc import Iterable
from typing import Any

from heron_api.errors import WrongArgumentError
from heron_core.topology import DEFAULT_STREAM
from heronpy_compat.streamparse.dsl.util import to_python_arg_list

_SHELL_BOLT = "org.apache.storm.flux.wrappers.bolts.FluxShellBolt"
_SHELL_SPOUT = "org.apache.storm.flux.wrappers.spouts.FluxShellSpout"
# The wrappers' constructors take a list of fields, so there has to be one.
_NO_FIELDS = ["NONE_BUT_FLUX_WANTS_SOMETHING_HERE"]


def to_flux_dict(name: str, specs: Iterable[Any], bolts: tuple[type, ...]) -> dict[str, Any]:
    """The file's mapping; empty parts are left out. TypeError for serialised Java objects."""
    parts: dict[str, list[Any]] = {"bolts": [], "spouts": [], "streams": []}
    for spec in specs:
        is_bolt = isinstance(spec, bolts)
        parts["bolts" if is_bolt else "spouts"].append(_component(spec, is_bolt))
        parts["streams"].extend(
            {"from": stream.componentId, "to": spec.name, "grouping": _grouping(stream, grouping)}
            for stream, grouping in spec.inputs.items()
        )
    return {"name": name, **{key: part for key, part in parts.items() if part}}


def _component(spec: Any, is_bolt: bool) -> dict[str, Any]:
    component = spec.component_object
    shown = {"id": spec.name, "parallelism": spec.par}
    if component.shell is not None:
        return {**shown, **_shell(spec, _SHELL_BOLT if is_bolt else _SHELL_SPOUT)}
    if component.java_object is None:
        raise WrongArgumentError(
            f"{spec.label}: Flux does not support serialised Java objects; use full_class_name and"
            " args_list"
        )
    return {
        **shown,
        "className": component.java_object.full_class_name,
        "constructorArgs": to_python_arg_list(component.java_object.args_list),
    }


def _shell(spec: Any, class_name: str) -> dict[str, Any]:
    shell = spec.component_object.shell
    default = spec.outputs.get(DEFAULT_STREAM)
    fields = [default.output_fields] if default is not None else []
    return {
        "className": class_name,
        "constructorArgs": [
            [shell.execution_command, shell.script],
            *(fields if spec.outputs else [_NO_FIELDS]),
        ],
        "configMethods": _methods(spec),
    }


def _methods(spec: Any) -> list[dict[str, Any]]:
    streams = [
        {"name": "setNamedStream", "args": [name, stream.output_fields]}
        for name, stream in spec.outputs.items()
        if name != DEFAULT_STREAM
    ]
    config = json.loads(spec.config)
    return [
        *streams,
        *({"name": "addComponentConfig", "args": [*pair]} for pair in config.items()),
    ]


def _grouping(stream: Any, grouping: Any) -> dict[str, Any]:
    (kind,) = (name for name, value in vars(grouping).items() if value is not None)
    flux_grouping = {"streamId": stream.streamId, "type": kind.upper()}
    if kind == "fields":
        return (
            {**flux_grouping, "args": grouping.fields}
            if grouping.fields
            else {**flux_grouping, "type": "GLOBAL"}
        )
    if kind == "custom_object":
        custom_object = grouping.custom_object
        arguments = to_python_arg_list(custom_object.args_list)
        custom = {"className": custom_object.full_class_name, "constructorArgs": arguments}
        return {**flux_grouping, "type": "CUSTOM", "customClass": custom}
    return flux_grouping
