"""Protobuf schemas stored in a registry as text of a .proto file, parsed by protoc.

confluent_kafka's client requests serialized schemas, and Confluent's registry returns them.
Other registries, such as Apicurio 2, return the registered form: text, if registered by Java.
protoc comes from the package grpcio-tools, or from PATH, and runs once per schema.
"""

import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

from heron_connectors.kafka.schema_registry import PROTOBUF, first_line, package

COMPILER, ON_PATH = "grpc_tools", "protoc"
INSTALL = "pip install 'heronpy-topologies[protoc]'"
COMPILE_SECS = 30.0
"""For a file of some kilobytes; protoc takes a tenth of a second."""
MAIN = "__schema__.proto"
"""File name for a schema without a name, distinct from its imports."""
_BASE64 = re.compile(r"[A-Za-z0-9+/=\s]*")
_COMMON = "confluent_kafka.schema_registry.common.protobuf"


class UnreadSchema(Exception):
    """A schema of the registry that the client does not read; the text is a predicate of the
    schema."""


def is_text(schema: Any) -> bool:
    """Whether a schema of confluent_kafka's is a .proto file, and not a serialized descriptor."""
    return _BASE64.fullmatch(schema.schema_str or "") is None


def compiled(schema: Any, client: Any) -> tuple[Any, Any]:
    """(FileDescriptorProto of the schema, pool with the schema and its imports); UnreadSchema,
    or the client's error for an import."""
    protoc = compiler()
    if not protoc:
        raise UnreadSchema(f"is the text of a .proto file, which protoc reads: {INSTALL}")
    common = package(_COMMON, PROTOBUF)
    with tempfile.TemporaryDirectory(prefix="heronpy-proto-") as name:
        folder = Path(name)
        known = common.descriptor_pb2.FileDescriptorSet()
        known.file.extend(_of_the_client(common))
        for path, text in {MAIN: schema, **_imports(schema, client, common)}.items():
            if is_text(text):
                file = _inside(folder / "files", path)
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(text.schema_str, "utf-8")
            else:
                known.file.append(common._str_to_proto(path, text.schema_str))
        return _pool_of(common, _run(protoc, folder, known))


def compiler() -> list[str]:
    """The protoc command; empty if not found."""
    if find_spec(COMPILER) is not None:
        return [sys.executable, "-m", f"{COMPILER}.protoc"]
    found = shutil.which(ON_PATH)
    return [found] if found else []


def _of_the_client(common: ModuleType) -> Iterator[Any]:
    """The files that come with the client: Google's own types, and Confluent's."""
    for each in vars(common).values():
        if isinstance(each, ModuleType) and hasattr(each, "DESCRIPTOR"):
            yield common.descriptor_pb2.FileDescriptorProto.FromString(
                each.DESCRIPTOR.serialized_pb
            )


def _imports(schema: Any, client: Any, common: ModuleType) -> dict[str, Any]:
    """The transitive references of a schema, by import name."""
    imports: dict[str, Any] = {}
    waiting = [schema]
    while waiting:
        for reference in waiting.pop().references or ():
            if reference.name not in imports and not common._is_builtin(reference.name):
                version = client.get_version(
                    reference.subject, reference.version, True, "serialized"
                )
                imports[reference.name] = version.schema
                waiting.append(version.schema)
    return imports


def _inside(folder: Path, path: str) -> Path:
    """The file of an import; UnreadSchema for a name that leads out of the folder."""
    file = (folder / path).resolve()
    if not file.is_relative_to(folder.resolve()):
        raise UnreadSchema(f"imports {path!r}, which is not the name of a file")
    return file


def _run(protoc: Sequence[str], folder: Path, known: Any) -> bytes:
    """protoc's set of descriptors; UnreadSchema with its first line if it refuses a file, or if it
    does not end."""
    (folder / "known").write_bytes(known.SerializeToString())
    command = [
        *protoc, f"--proto_path={folder / 'files'}",
        f"--descriptor_set_in={folder / 'known'}", "--include_imports",
        f"--descriptor_set_out={folder / 'made'}", MAIN,
    ]  # fmt: skip
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=COMPILE_SECS, check=False
        )
    except subprocess.TimeoutExpired:
        raise UnreadSchema(
            f"cannot be read: protoc did not end within {COMPILE_SECS:g} s"
        ) from None
    if done.returncode:
        said = first_line(done.stderr).replace(f"{folder / 'files'}/", "")
        raise UnreadSchema(f"cannot be read: protoc says {said}")
    return (folder / "made").read_bytes()


def _pool_of(common: ModuleType, made: bytes) -> tuple[Any, Any]:
    pool = common.DescriptorPool()
    common._init_pool(pool)
    there = {each.name for each in _of_the_client(common)}
    files = common.descriptor_pb2.FileDescriptorSet.FromString(made).file
    for each in files:  # imports precede the importing file
        if each.name not in there:
            pool.Add(each)
    return files[-1], pool
