"""Output streams and groupings (streamparse.dsl.stream)."""

from collections.abc import Mapping, Sequence
from typing import Any

from heron_api.errors import WrongArgumentError
from heron_api.stream import field_types
from heron_core.errors import TopologyError
from heronpy_compat.streamparse.dsl.util import to_java_arg
from heronpy_compat.streamparse.thrift import Grouping as ThriftGrouping
from heronpy_compat.streamparse.thrift import JavaObject, NullStruct, StreamInfo


class Stream(StreamInfo):
    """An output stream; a plain string in `outputs` is a field of the default stream instead.

    Example:

        class WordSpout(Spout):
            outputs = [Stream(fields=["word"]), Stream(fields=["reason"], name="errors")]
    """

    def __init__(
        self,
        fields: Sequence[str] | Mapping[str, str] | None = None,
        name: str = "default",
        direct: bool = False,
    ) -> None:
        """TypeError for arguments of the wrong type."""
        if not isinstance(name, str):
            raise WrongArgumentError(f"name of a Stream must be a string, not {name!r}")
        if fields is not None and not isinstance(fields, (list, tuple, dict)):
            raise WrongArgumentError(
                f"fields of the Stream {name!r} must be a list of strings, not {fields!r}"
            )
        for field in fields or ():
            if not isinstance(field, str):
                raise WrongArgumentError(
                    f"fields of the Stream {name!r} must all be strings, not {field!r}"
                )
        if not isinstance(direct, bool):
            raise WrongArgumentError(
                f"direct of the Stream {name!r} must be True or False, not {direct!r}"
            )
        super().__init__(output_fields=list(fields or ()), direct=direct)
        self.name = name
        self.types = field_types(f"Stream {name!r}", fields)
        """Types of the fields, given as {field: type}; empty if not declared."""

    @property
    def fields(self) -> list[str]:
        """The names of the fields."""
        found: list[str] = self.output_fields
        return found

    def __repr__(self) -> str:
        return f"Stream(fields={self.fields!r}, name={self.name!r}, direct={self.direct!r})"


class _Grouping(ThriftGrouping):
    """A grouping with a readable repr."""

    def __repr__(self) -> str:
        for name, value in vars(self).items():
            if value is not None:
                return name.upper() if isinstance(value, NullStruct) else f"{name}({value!r})"
        return "no grouping"


class Grouping:
    """Groupings: distribution of a stream's tuples over a bolt's tasks.

    SHUFFLE: evenly; LOCAL_OR_SHUFFLE: evenly within the container if possible; GLOBAL: all to the
    lowest task; ALL: to every task; NONE: left to the engine; DIRECT: to the task named by the
    emitter. Default: SHUFFLE, and DIRECT for a direct stream.

    Example:

        from heronpy_compat.streamparse import Bolt, Spout, Topology

        class Words(Spout):
            outputs = ["word"]

        class Counts(Topology):
            words = Words.spec()
            count = Bolt.spec(inputs={words: Grouping.fields("word")}, par=2)
            log = Bolt.spec(inputs={words: Grouping.SHUFFLE})
    """

    __slots__ = ()

    SHUFFLE = _Grouping(shuffle=NullStruct())
    GLOBAL = _Grouping(fields=[])
    DIRECT = _Grouping(direct=NullStruct())
    ALL = _Grouping(all=NullStruct())
    NONE = _Grouping(none=NullStruct())
    LOCAL_OR_SHUFFLE = _Grouping(local_or_shuffle=NullStruct())

    @classmethod
    def fields(cls, *fields: Any) -> _Grouping:
        """Tuples with equal values in `fields` (names, or one list of names) go to one task.

        ValueError without a field, TypeError for a name that is not a string.
        """
        names = fields[0] if len(fields) == 1 and isinstance(fields[0], (list, tuple)) else fields
        if not names:
            raise TopologyError(
                'Grouping.fields cannot be empty: name the fields, as in Grouping.fields("word"),'
                " or use Grouping.GLOBAL"
            )
        for name in names:
            if not isinstance(name, str):
                raise WrongArgumentError(f"names in Grouping.fields must be strings, not {name!r}")
        return _Grouping(fields=list(names))

    @classmethod
    def custom_object(cls, java_class_name: str, arg_list: Sequence[Any]) -> _Grouping:
        """Grouping by a class, constructed with the arguments in `arg_list`.

        Supported: org.apache.storm.grouping.PartialKeyGrouping, with the fields as arguments, or a
        Python class derived from ICustomGrouping, named MODULE.CLASS.
        """
        arguments = [to_java_arg(each) for each in arg_list]
        return _Grouping(
            custom_object=JavaObject(full_class_name=java_class_name, args_list=arguments)
        )

    @classmethod
    def custom_serialized(cls, java_serialized: bytes) -> _Grouping:
        """Grouping by a serialised Java object, supported by Storm only. TypeError unless bytes."""
        if not isinstance(java_serialized, bytes):
            raise WrongArgumentError(
                "Grouping.custom_serialized takes a serialised Java object as bytes,"
                f" not {java_serialized!r}"
            )
        return _Grouping(custom_serialized=java_serialized)
