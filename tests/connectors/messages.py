"""Classes of Protobuf for fields of declared types, as protoc would make them of a .proto file."""

import sys
from collections.abc import Mapping, Sequence
from functools import cache
from itertools import count
from types import ModuleType
from typing import Any

from confluent_kafka.schema_registry.common import protobuf  # its pool has Decimal and Date
from google.protobuf.descriptor_pb2 import FieldDescriptorProto as Field
from google.protobuf.descriptor_pb2 import FileDescriptorProto
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message_factory import GetMessageClass

from heron_core.field_types import built

MODULE = "rows_of_conformance_pb2"
PACKAGE = "conformance"
_PLAIN: Mapping[str, Any] = {
    "boolean": Field.TYPE_BOOL, "bigint": Field.TYPE_INT64, "double": Field.TYPE_DOUBLE,
    "string": Field.TYPE_STRING, "binary": Field.TYPE_BYTES, "date": ".google.type.Date",
    "timestamp": ".google.protobuf.Timestamp", "decimal": ".confluent.type.Decimal",
}  # fmt: skip
_FILES = (
    "google/type/date.proto", "google/protobuf/timestamp.proto", "confluent/type/decimal.proto",
)  # fmt: skip
_numbers = count(1)


class NoSuchField(Exception):
    """Protobuf has no field for a declared type."""


@cache
def message_of(fields: tuple[tuple[str, str], ...]) -> str:
    """(field, declared type), … -> MODULE.CLASS, of which each field that can be `optional` is;
    NoSuchField."""
    name = f"Row{next(_numbers)}"
    file = FileDescriptorProto(name=f"{name}.proto", package=PACKAGE, syntax="proto3")
    file.dependency.extend(_FILES)
    message, path = file.message_type.add(name=name), f".{PACKAGE}.{name}"
    for field, declared in fields:
        built(declared, _Fields()).add(message, path, field)
    pool = DescriptorPool()
    protobuf._init_pool(pool)
    pool.Add(file)
    module = sys.modules.setdefault(MODULE, ModuleType(MODULE))
    setattr(module, name, GetMessageClass(pool.FindMessageTypeByName(f"{PACKAGE}.{name}")))
    return f"{MODULE}.{name}"


class _Plain:
    """A field of a scalar or of a well-known message."""

    def __init__(self, kind: Any) -> None:
        self.kind = kind

    def add(self, message: Any, path: str, name: str, repeated: bool = False) -> Any:
        """Give the message at this path such a field."""
        field = message.field.add(name=name, number=len(message.field) + 1)
        field.label = Field.LABEL_REPEATED if repeated else Field.LABEL_OPTIONAL
        if isinstance(self.kind, str):
            field.type, field.type_name = Field.TYPE_MESSAGE, self.kind
            return field
        field.type = self.kind
        if not repeated and not message.options.map_entry:
            field.proto3_optional, field.oneof_index = True, len(message.oneof_decl)
            message.oneof_decl.add(name=f"_{name}")
        return field


class _Array:
    def __init__(self, item: Any) -> None:
        self._item = item

    def add(self, message: Any, path: str, name: str, repeated: bool = False) -> Any:
        """See _Plain."""
        if repeated:
            raise NoSuchField("a list in a list")
        return self._item.add(message, path, name, repeated=True)


class _Struct:
    def __init__(self, fields: Mapping[str, Any]) -> None:
        self._fields = fields

    def add(self, message: Any, path: str, name: str, repeated: bool = False) -> Any:
        """See _Plain."""
        inner, inner_path = message.nested_type.add(name=f"Of_{name}"), f"{path}.Of_{name}"
        for each, kind in self._fields.items():
            kind.add(inner, inner_path, each)
        return _Plain(inner_path).add(message, path, name, repeated)


class _Map:
    def __init__(self, key: Any, item: Any) -> None:
        self._key, self._item = key, item

    def add(self, message: Any, path: str, name: str, repeated: bool = False) -> Any:
        """See _Plain."""
        if repeated:
            raise NoSuchField("a map in a list")
        entry = message.nested_type.add(name=f"{name.capitalize()}Entry")
        entry.options.map_entry = True
        entry_path = f"{path}.{entry.name}"
        self._key.add(entry, entry_path, "key")
        self._item.add(entry, entry_path, "value")
        return _Plain(entry_path).add(message, path, name, repeated=True)


class _Fields:
    """Makes fields of declared types."""

    def plain(self, name: str, numbers: Sequence[int]) -> Any:
        if name not in _PLAIN:
            raise NoSuchField(name)
        return _Plain(_PLAIN[name])

    def array(self, item: Any) -> Any:
        return _Array(item)

    def map(self, key: Any, item: Any) -> Any:
        return _Map(key, item)

    def struct(self, fields: dict[str, Any]) -> Any:
        return _Struct(fields)
