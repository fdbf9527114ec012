"""What is wrong with a component in its topology, as errors that name it and the cure."""

from typing import Any

from heron_api.errors import WrongArgumentError
from heron_core.dead_letters import ERRORS
from heron_core.errors import TopologyError
from heron_core.validation import choices
from heronpy_compat.streamparse.dsl.component import ComponentSpec, UnknownNameError


def is_component(value: object) -> bool:
    """Whether it is an instance of a pystorm component, ours or the installed one."""
    return any(
        kind.__name__ == "Component" and kind.__module__.endswith("pystorm.component")
        for kind in type(value).__mro__
    )


def checked_config(classname: str, config: object) -> dict[str, Any]:
    """A topology's own config; TypeError unless it is a dict."""
    if config is None:
        return {}
    if isinstance(config, ComponentSpec):
        raise TopologyError(
            f"{classname}: a component must not be called 'config', that is the topology's config"
        )
    if not isinstance(config, dict):
        raise WrongArgumentError(f"{classname}: Topology config must be a dict, not {config!r}")
    return config


def source_name(spec: ComponentSpec, source: Any) -> str:
    """The name of the component that `spec` reads from; TypeError if it has none."""
    if isinstance(source, str):
        return source
    if isinstance(source, ComponentSpec) and source.name is not None:
        return source.name
    what = source.label if isinstance(source, ComponentSpec) else repr(source)
    raise WrongArgumentError(
        f"{spec.label}: its input {what} has no name: make it a component of the same topology"
    )


def check_input(spec: ComponentSpec, stream_id: Any, grouping: Any, specs: Any) -> None:
    """KeyError unless the stream is there, ValueError unless it has the fields of the grouping."""
    source, stream = stream_id.componentId, stream_id.streamId
    if source not in specs:
        names = [name for name in specs if name != spec.name]
        hint = choices("components", source, names)
        raise UnknownNameError(f"{spec.label} reads from {source!r}, no component; {hint}")
    outputs = specs[source].outputs
    if stream == ERRORS and stream not in outputs:
        return
    if stream not in outputs:
        hint = choices("streams", stream, outputs)
        raise UnknownNameError(
            f"{spec.label} reads {stream!r}, which is not a stream of {source!r}; {hint}"
        )
    known = outputs[stream].output_fields
    for field in grouping.fields or ():
        if field not in known:
            raise TopologyError(
                f"{spec.label}: Field {field!r} specified in grouping is not a valid output field"
                f" for the {source!r} {stream!r} stream; {choices('fields', field, known)}"
            )
