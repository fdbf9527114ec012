"""Component specifications of a topology (heronpy.api.component.component_spec)."""

import os
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias, Union

from heron_api.errors import UnnamedInputError, WrongArgumentError
from heron_api.proto.values import heron_value
from heron_api.stream import AnyGrouping, Grouping, Stream, grouping_spec
from heron_core.dead_letters import ERRORS
from heron_core.topology import DEFAULT_STREAM, ComponentSpec, InputSpec, StreamSpec

_GROUPINGS = (
    "Grouping.SHUFFLE, LOCAL_OR_SHUFFLE, ALL, GLOBAL, NONE, DIRECT,"
    " or the result of Grouping.fields(...), partial_key(...) or custom(...)"
)

Input: TypeAlias = Union["HeronComponentSpec", "GlobalStreamId"]
"""A component, meaning its default stream, or one of its streams, `words["errors"]`."""
Inputs: TypeAlias = Mapping[Any, AnyGrouping] | Sequence[Input]
"""Input -> grouping, or Inputs that are each grouped SHUFFLE."""


class HeronComponentSpec:
    """Result of `Spout.spec()` and `Bolt.spec()`: a component and its connections.

    `name` may be None until a Topology class assigns the name of the attribute. `spec["errors"]`
    is the component's stream with the name `errors`, for use as an input.

    Example:

        from heronpy_compat import Bolt

        class Count(Bolt):
            outputs = ["word", "count"]

        count = Count.spec(name="count", par=2)
        assert (count.name, count.parallelism) == ("count", 2)
        letters = Count.spec(name="letters", inputs=[count["errors"]])
    """

    def __init__(
        self,
        name: str | None,
        python_class_path: str,
        is_spout: bool,
        par: int,
        inputs: Inputs | None = None,
        outputs: Any = None,
        config: dict[str, Any] | None = None,
    ) -> None:
        self._sanitize_args(name, python_class_path, is_spout, par)
        self.name = name
        self.python_class_path = python_class_path
        self.is_spout = is_spout
        self.parallelism = par
        self.inputs = inputs
        self.outputs = outputs
        self.custom_config = config
        self.uuid = os.urandom(16).hex()
        if config is not None:
            check_config(self._label, config)

    def __repr__(self) -> str:
        return f"<{self._label} of {self.python_class_path}, par={self.parallelism}>"

    @property
    def _label(self) -> str:
        kind = "spout" if self.is_spout else "bolt"
        return f"{kind} {self.name or self.python_class_path!r}"

    @staticmethod
    def _sanitize_args(name: object, py_class_path: object, is_spout: object, par: object) -> None:
        if name is not None and not isinstance(name, str):
            raise WrongArgumentError(f"name of a component must be a string, not {name!r}")
        if not isinstance(py_class_path, str):
            raise WrongArgumentError(
                f"class path of a component must be a string, not {py_class_path!r}"
            )
        if not isinstance(is_spout, bool):
            raise WrongArgumentError(f"is_spout must be True or False, not {is_spout!r}")
        if isinstance(par, bool) or not isinstance(par, int) or par < 1:
            raise WrongArgumentError(
                f"{name or py_class_path}: par must be a whole number of at least 1, not {par!r}"
            )

    @staticmethod
    def _sanitize_config(custom_config: Any) -> dict[str, Any]:
        """Values as Heron's topology definition holds them; ours keeps the Python values."""
        check_config("component", custom_config)
        return {key: heron_value(value) for key, value in custom_config.items()}

    def to_spec(self) -> ComponentSpec:
        """The component as a value of the core; TopologyError or TypeError for an invalid spec.
        UnnamedInputError without a name."""
        if self.name is None:
            raise UnnamedInputError(f"{self._label} has no name: give it one with spec(name=...)")
        inputs = self._sanitize_inputs() or {}
        return ComponentSpec(
            self.name,
            self.is_spout,
            self.python_class_path,
            self.parallelism,
            tuple(self._streams() or ()),
            tuple(
                InputSpec(stream.component_id, stream.stream_id, grouping_spec(grouping))
                for stream, grouping in inputs.items()
            ),
            arriving_config(self.custom_config or {}),
        )

    def get_protobuf(self) -> Any:
        """The component as heronpy's topology definition has it: a `topology_pb2` Spout or Bolt."""
        from heron_api.proto.definition import component_message

        return component_message(self)

    def _sanitize_inputs(self) -> "dict[GlobalStreamId, Any] | None":
        """stream -> grouping; for a list of inputs every grouping is SHUFFLE."""
        if self.inputs is None:
            return None
        if isinstance(self.inputs, Mapping):
            pairs = list(self.inputs.items())
        elif isinstance(self.inputs, (list, tuple)):
            pairs = [(entry, Grouping.SHUFFLE) for entry in self.inputs]
        else:
            raise WrongArgumentError(
                f"{self._label}: inputs must be a dict of component to grouping or a list of"
                f" components, not {self.inputs!r}"
            )
        groupings: dict[GlobalStreamId, Any] = {}
        for source, grouping in pairs:
            stream = self._input_stream(source)
            if not Grouping.is_grouping_sane(grouping):
                raise WrongArgumentError(
                    f"{self._label}: grouping of input {stream} must be {_GROUPINGS},"
                    f" not {grouping!r}"
                )
            if stream in groupings:
                raise WrongArgumentError(f"{self._label}: input {stream} is given twice")
            groupings[stream] = grouping
        return groupings

    def _input_stream(self, source: Any) -> "GlobalStreamId":
        if isinstance(source, GlobalStreamId):
            return source
        if not isinstance(source, HeronComponentSpec):
            raise WrongArgumentError(
                f"{self._label}: an input must be the result of spec(), add_spout() or "
                f"add_bolt(), or one of its streams as in words['errors'], not {source!r}"
            )
        if source.name is None:
            raise UnnamedInputError(
                f"{self._label}: its input of class {source.python_class_path} has no name: make"
                " it a component of the same topology"
            )
        return GlobalStreamId(source.name, DEFAULT_STREAM)

    def _streams(self) -> list[StreamSpec] | None:
        """The output streams in order; fields of the default stream may come in several parts."""
        if self.outputs is None:
            return None
        streams: list[StreamSpec] = []
        for output in checked_outputs(self._label, self.outputs):
            stream = Stream([output]) if isinstance(output, str) else output
            if stream.stream_id == DEFAULT_STREAM:
                _extend_default(streams, stream)
            else:
                streams.append(_stream_spec(stream))
        return streams

    def _sanitize_outputs(self) -> dict[str, list[str]] | None:
        """stream name -> fields."""
        streams = self._streams()
        return None if streams is None else {each.name: list(each.fields) for each in streams}

    def get_out_streamids(self) -> set[str]:
        """Names of the output streams."""
        return {each.name for each in self._streams() or ()}

    def __getitem__(self, stream_id: str) -> "GlobalStreamId":
        """The output stream with the name; ValueError for an undeclared name. Every component
        has `errors`, the stream of abandoned tuples."""
        names = self.get_out_streamids()
        if stream_id not in {*names, ERRORS}:
            choices = ", ".join(sorted(names)) or "none"
            raise WrongArgumentError(
                f"{self._label} has no stream {stream_id!r}; it has: {choices}"
            )
        return GlobalStreamId(self.name or self, stream_id)


def _stream_spec(stream: Stream) -> StreamSpec:
    return StreamSpec(stream.stream_id, tuple(stream.fields), stream.direct, stream.types)


def _extend_default(streams: list[StreamSpec], part: Stream) -> None:
    for index, known in enumerate(streams):
        if known.name == DEFAULT_STREAM:
            fields = known.fields + tuple(part.fields)
            direct, types = known.direct or part.direct, known.types + part.types
            streams[index] = StreamSpec(DEFAULT_STREAM, fields, direct, types)
            return
    streams.append(_stream_spec(part))


class GlobalStreamId:
    """One stream of one component; equality and hash by "component:stream".

    Example:

        letters = GlobalStreamId("count", "errors")
        count = HeronComponentSpec("count", "words.Count", is_spout=False, par=1)
        assert letters == GlobalStreamId(count, "errors")
    """

    def __init__(self, componentId: str | HeronComponentSpec, streamId: str) -> None:  # noqa: N803
        """TypeError for an invalid component; a spec may be named later."""
        if not isinstance(componentId, (str, HeronComponentSpec)):
            raise WrongArgumentError(
                f"componentId must be a component's name or its spec, not {componentId!r}"
            )
        if not isinstance(streamId, str):
            raise WrongArgumentError(f"streamId must be a string, not {streamId!r}")
        self._component = componentId
        self.stream_id = streamId

    @property
    def component_id(self) -> str:
        """The component's name, or a placeholder with the uuid until a name is assigned."""
        if isinstance(self._component, str):
            return self._component
        return self._component.name or f"<component without a name, uuid: {self._component.uuid}>"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, GlobalStreamId) and str(self) == str(other)

    def __hash__(self) -> int:
        return hash(str(self))

    def __str__(self) -> str:
        return f"{self.component_id}:{self.stream_id}"

    def __repr__(self) -> str:
        return f"GlobalStreamId({self.component_id!r}, {self.stream_id!r})"


def checked_outputs(label: str, outputs: Any) -> Sequence[str | Stream]:
    """`outputs` if it is a list or tuple of field names and Streams, the one Stream of a dict
    {field: type}; TypeError otherwise."""
    if isinstance(outputs, dict):
        return [Stream(outputs)]
    if not isinstance(outputs, (list, tuple)):
        raise WrongArgumentError(
            f"{label}: outputs must be a list of field names and Streams, or a dict of field to "
            f"type, not {outputs!r}"
        )
    for output in outputs:
        if not isinstance(output, (str, Stream)):
            raise WrongArgumentError(
                f"{label}: each of its outputs must be a field name or a Stream, not {output!r}"
            )
    return outputs


def check_config(label: str, config: Any) -> None:
    """TypeError unless `config` is a dict with string keys."""
    if not isinstance(config, dict):
        raise WrongArgumentError(f"{label}: config must be a dict, not {config!r}")
    for key in config:
        if not isinstance(key, str):
            raise WrongArgumentError(f"{label}: keys of config must be strings, not {key!r}")


def arriving_config(config: Mapping[str, Any]) -> dict[str, Any]:
    """`config` as seen by components, by Heron's rules: scalars are stored as strings, and
    strings that look like a number, true or false are parsed ("0123" becomes 123)."""
    return {key: _arriving(value) for key, value in config.items()}


def _arriving(value: Any) -> Any:
    if type(value) is not str:
        return value
    for read in (int, float):
        try:
            return read(value)
        except ValueError:
            pass
    return {"true": True, "false": False}.get(value.lower(), value)
