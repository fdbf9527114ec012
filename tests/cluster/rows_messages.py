"""Messages of Protobuf as protoc would make them of rows.proto, and of later versions of the file.

Each version is a module's worth of classes in a pool of its own: one pool has one file of a name.
"""

from typing import Any

from google.protobuf.descriptor_pb2 import FieldDescriptorProto as Field
from google.protobuf.descriptor_pb2 import FileDescriptorProto
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message_factory import GetMessageClass

FIRST = {"id": Field.TYPE_INT64, "name": Field.TYPE_STRING}


def _message(fields: dict[str, Any]) -> Any:
    """The class of a message with these fields, numbered in order."""
    file = FileDescriptorProto(name="rows.proto", package="rows", syntax="proto3")
    row = file.message_type.add(name="Row")
    for number, (name, kind) in enumerate(fields.items(), start=1):
        row.field.add(name=name, number=number, type=kind, label=Field.LABEL_OPTIONAL)
    pool = DescriptorPool()
    pool.Add(file)
    return GetMessageClass(pool.FindMessageTypeByName("rows.Row"))


Row = _message(FIRST)
Wider = _message({**FIRST, "shop": Field.TYPE_STRING})
Other = _message({**FIRST, "id": Field.TYPE_STRING})
"""Which the registry does not take for a version of the same subject."""
