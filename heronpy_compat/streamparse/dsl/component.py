"""Component specifications of a topology (streamparse.dsl.component)."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from heron_api.errors import WrongArgumentError
from heron_core.dead_letters import ERRORS
from heron_core.errors import TopologyError
from heron_core.topology import DEFAULT_STREAM
from heron_core.validation import choices
from heronpy_compat.streamparse.dsl.stream import Grouping, Stream
from heronpy_compat.streamparse.dsl.util import to_java_arg
from heronpy_compat.streamparse.thrift import (
    ComponentCommon,
    ComponentObject,
    GlobalStreamId,
    JavaObject,
    ShellComponent,
    StreamInfo,
)
from heronpy_compat.streamparse.thrift import Grouping as ThriftGrouping


class UnknownNameError(TopologyError, KeyError):
    """Unknown component or stream (streamparse: KeyError)."""

    __str__ = Exception.__str__  # KeyError's would put the sentence into quotes


class ComponentSpec:
    """Result of `spec()`: a component and its connections.

    `name` may be None until a Topology class assigns the name of the attribute. `spec["errors"]` is
    the component's stream with the name `errors`, for use as an input. TypeError for an argument of
    the wrong type, ValueError for a number below 1.
    """

    component_object: ComponentObject

    def __init__(
        self,
        component_cls: Any,
        name: str | None = None,
        inputs: Any = None,
        par: Any = 1,
        config: Any = None,
        outputs: Any = None,
    ) -> None:
        self.component_cls = component_cls
        self.name = name
        self.par = self._sanitize_par(component_cls, par)
        self.config = self._sanitize_config(component_cls, config)
        self.outputs = self._sanitize_outputs(component_cls, outputs)
        self.inputs = self._sanitize_inputs(inputs)
        self.common = ComponentCommon(self.inputs, self.outputs, self.par, self.config)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.label}>"

    @property
    def label(self) -> str:
        """Text for messages: class and, once assigned, name."""
        found: str = self.component_cls.__name__
        return f'{found} "{self.name}"' if self.name else found

    @staticmethod
    def _sanitize_par(component_cls: Any, par: Any) -> Any:
        """An int, or {environment: int}; the class's own value for None."""
        parallelism = component_cls.par if par is None else par
        label = component_cls.__name__
        if not isinstance(parallelism, dict):
            _check_par(label, parallelism)
            return parallelism
        for environment, number in parallelism.items():
            if not isinstance(environment, str):
                raise WrongArgumentError(
                    f"{label}: keys of par must be names of environments, not {environment!r}"
                )
            _check_par(f"{label}, environment {environment!r}", number)
        return parallelism

    @staticmethod
    def _sanitize_config(component_cls: Any, config: Any) -> str:
        """The config as JSON; the class's own config for None."""
        settings = component_cls.config if config is None else config
        if not isinstance(settings, (dict, type(None))):
            raise WrongArgumentError(
                f"{component_cls.__name__}: config must be a dict, not {settings!r}"
            )
        try:
            return json.dumps(settings or {})
        except (TypeError, ValueError) as error:
            raise WrongArgumentError(
                f"{component_cls.__name__}: config must be of JSON's types: {error}"
            ) from None

    @staticmethod
    def _sanitize_outputs(component_cls: Any, outputs: Any) -> dict[str, StreamInfo]:
        """stream name -> fields; the class's own outputs for None."""
        declared = component_cls.outputs if outputs is None else outputs
        label = component_cls.__name__
        if isinstance(declared, dict):
            declared = [Stream(declared)]
        if not isinstance(declared, (list, tuple, type(None))):
            raise WrongArgumentError(
                f"{label}: outputs must be a list of field names and Streams, not {declared!r}"
            )
        streams: dict[str, StreamInfo] = {}
        for output in declared or ():
            if isinstance(output, Stream):
                info: Any = StreamInfo(list(output.fields), output.direct)
                streams[output.name] = info
                if output.types:
                    info.types = output.types
            elif isinstance(output, str):
                default = streams.setdefault(DEFAULT_STREAM, StreamInfo([], False))
                default.output_fields.append(output)
            else:
                raise WrongArgumentError(
                    f"{label}: each of its outputs must be a field name or a Stream, not {output!r}"
                )
        return streams

    def _sanitize_inputs(self, inputs: Any) -> dict[GlobalStreamId, Any]:
        """stream -> grouping; without a grouping SHUFFLE, or DIRECT for a direct default stream."""
        if isinstance(inputs, ComponentSpec):
            inputs = [inputs]
        if not isinstance(inputs, (Mapping, list, tuple, type(None))):
            raise WrongArgumentError(
                f"{self.label}: inputs must be a dict of component to Grouping or a list of"
                f" components, not {inputs!r}"
            )
        if isinstance(inputs, Mapping):
            return {
                self._stream(source): self._checked_grouping(source, grouping)
                for source, grouping in inputs.items()
            }
        return {self._stream(source): _usual_grouping(source) for source in inputs or ()}

    def _stream(self, source: Any) -> GlobalStreamId:
        if isinstance(source, GlobalStreamId):
            return source
        if isinstance(source, ComponentSpec):
            return GlobalStreamId(source.name or source, DEFAULT_STREAM)
        raise WrongArgumentError(
            f"{self.label}: an input must be the result of spec(), one of its streams as in "
            f"words['errors'], or a GlobalStreamId, not {source!r}"
        )

    def _checked_grouping(self, source: Any, grouping: Any) -> Any:
        if isinstance(grouping, ThriftGrouping):
            return grouping
        raise WrongArgumentError(
            f"{self.label}: the grouping of input {source!r} must be one of Grouping's, as"
            f' Grouping.SHUFFLE or Grouping.fields("word"), not {grouping!r}'
        )

    def __getitem__(self, stream: str) -> GlobalStreamId:
        """The output stream with the name; KeyError for an undeclared name. Every component has
        `errors`, the stream of abandoned tuples."""
        if stream not in self.outputs and stream != ERRORS:
            hint = choices("streams", stream, self.outputs)
            raise UnknownNameError(f"{self.label} has no stream {stream!r}; {hint}")
        return GlobalStreamId(self.name or self, stream)


class ShellComponentSpec(ComponentSpec):
    """A component run by a program (multi-lang), or a Python class run by streamparse_run."""

    def __init__(
        self,
        component_cls: Any,
        name: str | None = None,
        command: str | None = None,
        script: str | None = None,
        inputs: Any = None,
        par: Any = 1,
        config: Any = None,
        outputs: Any = None,
    ) -> None:
        super().__init__(component_cls, name, inputs, par, config, outputs)
        if not command:
            raise TopologyError(
                f"{self.label}: command is required: the program to run, as in"
                ' spec(command="node", script="bolt.js")'
            )
        if script is None:
            raise WrongArgumentError(
                f'{self.label}: script must not be None; if {command!r} takes no arguments, say ""'
            )
        self.component_object = ComponentObject(shell=ShellComponent(command, script))


class JavaComponentSpec(ComponentSpec):
    """A component run by a Java class."""

    def __init__(
        self,
        component_cls: Any,
        name: str | None = None,
        serialized_java: bytes | None = None,
        full_class_name: str | None = None,
        args_list: Sequence[Any] | None = None,
        inputs: Any = None,
        par: Any = None,
        config: Any = None,
        outputs: Any = None,
    ) -> None:
        super().__init__(component_cls, name, inputs, par, config, outputs)
        if serialized_java is None:
            java_object = self._java_object(full_class_name, args_list)
            self.component_object = ComponentObject(java_object=java_object)
        elif isinstance(serialized_java, bytes):
            self.component_object = ComponentObject(serialized_java=serialized_java)
        else:
            raise WrongArgumentError(
                f"{self.label}: serialized_java must be bytes or None, not {serialized_java!r}"
            )

    def _java_object(self, class_name: str | None, arguments: Sequence[Any] | None) -> JavaObject:
        if not class_name:
            raise TopologyError(
                f"{self.label}: full_class_name is required: the Java class with its package"
            )
        if arguments is None:
            raise WrongArgumentError(
                f"{self.label}: args_list must not be None; if the constructor of {class_name}"
                " takes no arguments, say []"
            )
        return JavaObject(class_name, [to_java_arg(argument) for argument in arguments])


def _check_par(label: str, par: object) -> None:
    if not isinstance(par, int):
        raise WrongArgumentError(
            f"{label}: par must be a whole number of at least 1, or a dict of environment to"
            f" number, not {par!r}"
        )
    if par < 1:
        raise TopologyError(f"{label}: par must be a whole number of at least 1, not {par!r}")


def _usual_grouping(source: Any) -> Any:
    """The directness of a default stream is known to components only, not to a GlobalStreamId."""
    default = source.outputs.get(DEFAULT_STREAM) if isinstance(source, ComponentSpec) else None
    return Grouping.DIRECT if default is not None and default.direct else Grouping.SHUFFLE
