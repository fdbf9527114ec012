"""From a topology's class and specs to heronpy's messages (heron/proto/topology.proto)."""

from collections.abc import Iterable, Mapping
from typing import Any, Protocol

from heron_api.proto import topology_pb2 as messages
from heron_api.proto.values import heron_value
from heron_api.serializer import default_serializer
from heron_core import config as keys
from heron_core.topology import ComponentSpec, InputSpec, StreamSpec


class SpecOfComponent(Protocol):
    """What a message is made of: a HeronComponentSpec, whose module imports this one."""

    is_spout: bool
    parallelism: int
    custom_config: dict[str, Any] | None

    def to_spec(self) -> ComponentSpec:
        """The component as the engine knows it."""


def topology_message(topology: Any) -> messages.Topology:
    """The Topology of a class derived from heron_api.topology.Topology."""
    state = topology._topology_spec.config.get(keys.INITIAL_STATE, "RUNNING")
    return messages.Topology(
        topology.topology_id,
        topology.topology_name,
        list(topology._protobuf_spouts.values()),
        list(topology._protobuf_bolts.values()),
        messages.TopologyState.Value(state),
        config_message(topology._topo_config),
    )


def component_message(spec: SpecOfComponent) -> messages.Spout | messages.Bolt:
    """The Spout or Bolt of a component."""
    core = spec.to_spec()
    config = {keys.COMPONENT_PARALLELISM: spec.parallelism, **(spec.custom_config or {})}
    component = messages.Component(
        core.name,
        core.class_path,
        config=config_message(config),
        spec=messages.ComponentObjectSpec.Value("PYTHON_CLASS_NAME"),
    )
    outputs = [_output(core.name, output) for output in core.outputs]
    if spec.is_spout:
        return messages.Spout(component, outputs)
    return messages.Bolt(component, [_input(entry) for entry in core.inputs], outputs)


def config_message(config: Mapping[str, Any]) -> messages.Config:
    """A Config: scalars as strings, everything else (None, too) as the default serialiser's."""
    return messages.Config([_key_value(key, heron_value(each)) for key, each in config.items()])


def _key_value(key: str, value: Any) -> Any:
    kinds = messages.ConfigValueType
    if isinstance(value, str):
        return messages.Config.KeyValue(key, value, type=kinds.Value("STRING_VALUE"))
    return messages.Config.KeyValue(
        key,
        serialized_value=default_serializer.serialize(value),
        type=kinds.Value("PYTHON_SERIALIZED_VALUE"),
    )


def _schema(names: Iterable[str]) -> messages.StreamSchema:
    return messages.StreamSchema([messages.StreamSchema.KeyType(each) for each in names])


def _output(component: str, stream: StreamSpec) -> messages.OutputStream:
    return messages.OutputStream(messages.StreamId(stream.name, component), _schema(stream.fields))


def _input(spec: InputSpec) -> messages.InputStream:
    grouping = spec.grouping
    message = messages.InputStream(
        messages.StreamId(spec.stream, spec.component),
        messages.Grouping.Value(grouping.kind.of_heron),
    )
    if grouping.fields:
        message.grouping_fields = _schema(grouping.fields)
    if grouping.custom is not None:
        message.custom_grouping_object = grouping.custom
        message.type = messages.CustomGroupingObjectType.Value("PYTHON_OBJECT")
    return message
