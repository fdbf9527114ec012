"""From the StormTopology of a submission to a Flux document of the topology: pure.

Flux expresses all of Thrift's components, streams and groupings, so a topology submitted by
Thrift is checked and started like a topology file.
"""

import json
import shlex
from collections.abc import Mapping
from typing import Any

from heron_core.errors import TopologyError, shown
from heron_core.thrift.structs import Struct
from heronpy_compat.streamparse.thrift import ComponentObject, Grouping, StormTopology, StreamInfo

SHELLS = {
    True: "org.apache.storm.flux.wrappers.spouts.FluxShellSpout",
    False: "org.apache.storm.flux.wrappers.bolts.FluxShellBolt",
}
"""Whether it is a spout -> Flux' class of a program."""
NO_OUTPUTS = "NONE_BUT_FLUX_WANTS_SOMETHING_HERE"
DEFAULT = "default"
PREPARATION = frozenset(
    {
        "install_virtualenv", "storm.workers.list", "sudo_user", "topology.original_name",
        "topology.python.path", "use_virtualenv", "virtualenv_flags", "virtualenv_name",
        "virtualenv_root",
    }
)  # fmt: skip
"""What sparse puts into a config for itself: how it has prepared Storm's machines."""
_NOT_HERE = {
    "state_spouts": "state spouts",
    "worker_hooks": "worker hooks, which are Java objects",
    "dependency_jars": "dependency jars, which are Java classes",
    "dependency_artifacts": "dependency artifacts, which are Java classes",
}
"""Field of a StormTopology -> unsupported feature."""


def flux_document(name: str, topology: StormTopology, config: Mapping[str, Any]) -> dict[str, Any]:
    """The document; TopologyError for what only Storm can run."""
    for field, what in _NOT_HERE.items():
        if getattr(topology, field):
            raise TopologyError(f"{name} has {what}: nothing here runs them")
    spouts, bolts = topology.spouts or {}, topology.bolts or {}
    if not spouts:
        raise TopologyError(f"{name} has no spout")
    return {
        "name": name,
        "config": config_of(config),
        "spouts": [_vertex(vertex, spec, True) for vertex, spec in spouts.items()],
        "bolts": [_vertex(vertex, spec, False) for vertex, spec in bolts.items()],
        "streams": [
            _stream(vertex, stream, grouping)
            for vertex, spec in [*spouts.items(), *bolts.items()]
            for stream, grouping in (_common(vertex, spec).inputs or {}).items()
        ],
    }


def parse_config(text: str | None) -> dict[str, Any]:
    """The config sent as JSON; TopologyError if invalid."""
    try:
        config = json.loads(text or "{}")
    except (ValueError, RecursionError):
        raise TopologyError(f"the config is not JSON: {shown(text)}") from None
    if not isinstance(config, dict):
        raise TopologyError(f"the config is not an object of JSON: {shown(text)}")
    return config


def config_of(config: Mapping[str, Any]) -> dict[str, Any]:
    """Without nulls, which mean unset keys, and without sparse's own notes."""
    return {
        key: value for key, value in config.items() if value is not None and key not in PREPARATION
    }


def needs_code(topology: StormTopology) -> bool:
    """Whether some component is a program, whose files are in the archive."""
    return any(
        _object(name, spec).shell is not None
        for vertices in (topology.spouts, topology.bolts)
        for name, spec in (vertices or {}).items()
    )


def _object(name: str, spec: Any) -> ComponentObject:
    found = getattr(spec, "spout_object", None) or getattr(spec, "bolt_object", None)
    if found is None:
        raise TopologyError(f"component {name!r} does not say what runs it")
    return found  # type: ignore[no-any-return]


def _common(name: str, spec: Any) -> Struct:
    if spec.common is None:
        raise TopologyError(f"component {name!r} does not say what it reads and emits")
    return spec.common  # type: ignore[no-any-return]


def _vertex(name: str, spec: Any, is_spout: bool) -> dict[str, Any]:
    common = _common(name, spec)
    return {
        "id": name,
        **_what_runs(name, _object(name, spec), is_spout, common.streams or {}),
        "parallelism": _parallelism(name, common.parallelism_hint),
        "config": config_of(parse_config(common.json_conf)),
    }


def _parallelism(name: str, hint: int | None) -> int:
    if hint is not None and hint < 1:
        raise TopologyError(f"component {name!r}: its parallelism is {hint}, and not 1 or more")
    return hint or 1


def _what_runs(
    name: str, runs: ComponentObject, is_spout: bool, streams: Mapping[str, StreamInfo]
) -> dict[str, Any]:
    if runs.java_object is not None:
        return _java(runs.java_object)
    if runs.shell is None:
        raise TopologyError(
            f"component {name!r} is a serialised Java object, which only Storm can run: write it in"
            " Python, or run it as a shell component"
        )
    default = streams.get(DEFAULT)
    plain = default is not None and not default.direct
    fields = list(default.output_fields or ()) if default is not None and plain else []
    return {
        "className": SHELLS[is_spout],
        "constructorArgs": [_command(name, runs.shell), fields or [NO_OUTPUTS]],
        "configMethods": [
            {
                "name": "setDirectStream" if info.direct else "setNamedStream",
                "args": [stream, list(info.output_fields or ())],
            }
            for stream, info in streams.items()
            if stream != DEFAULT or not plain
        ],
    }


def _command(name: str, shell: Any) -> list[str]:
    """As streamparse documents it: arguments are separated by blanks."""
    if not shell.execution_command:
        raise TopologyError(f"component {name!r} is a program without a command")
    try:
        return [shell.execution_command, *shlex.split(shell.script or "")]
    except ValueError as error:
        raise TopologyError(f"component {name!r}: script {shell.script!r}: {error}") from None


def _java(java: Any) -> dict[str, Any]:
    """A class by name: Flux supports Python classes, and classes with a Python equivalent."""
    values = [argument(each) for each in java.args_list or ()]
    return {"className": java.full_class_name or "", "constructorArgs": values}


def argument(given: Struct) -> Any:
    """Value of a JavaObjectArg: its only field set."""
    return next((value for value in vars(given).values() if value is not None), None)


def _stream(name: str, stream: Any, grouping: Grouping) -> dict[str, Any]:
    return {
        "from": stream.componentId,
        "to": name,
        "grouping": {"streamId": stream.streamId, **_grouping(name, grouping)},
    }


def _grouping(name: str, grouping: Grouping) -> dict[str, Any]:
    kind = next((name for name, value in vars(grouping).items() if value is not None), None)
    if kind == "fields":
        fields = list(grouping.fields)
        return {"type": "FIELDS", "args": fields} if fields else {"type": "GLOBAL"}
    if kind == "custom_object":
        return {"type": "CUSTOM", "customClass": _java(grouping.custom_object)}
    if kind in ("custom_serialized", None):
        raise TopologyError(
            f"bolt {name!r} has a grouping that is a serialised Java object, which only Storm can"
            " run: use a Python class derived from ICustomGrouping"
        )
    return {"type": kind.upper()}
