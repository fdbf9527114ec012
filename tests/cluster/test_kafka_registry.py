"""Kafka's spout and sink with a real broker and a real schema registry, in Avro, Protobuf and JSON
Schema."""

import uuid
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import confluent_kafka
import psutil
import pytest

from heron_connectors.kafka.formats import FieldReader
from heron_core.errors import ComponentError
from heronpy_compat.connectors.kafka import KafkaSink
from heronpy_compat.testing import ComponentTester
from tests.cluster.kafka_broker import KafkaBroker
from tests.cluster.registry_server import RegistryServer
from tests.cluster.servers import START_SECS
from tests.process.process_support import Place, Running, until

pytestmark = pytest.mark.timeout(600)

FILE = Path(__file__).with_name("registry_copy.py")
ROWS = 200
"""Of each version."""
BATCH = 40
SPARK_SECS = 240.0
"""For operations of half a minute on an idle machine."""
ID = {"name": "id", "type": "long"}
NAME = {"name": "name", "type": "string"}
SHOP = {"name": "shop", "type": "string", "default": "none"}
Row = tuple[int, str]


def avro(*fields: Any) -> dict[str, Any]:
    """The config of a sink of records with these fields."""
    return {"kafka.value.schema": {"type": "record", "name": "Row", "fields": list(fields)}}


def json_schema(**properties: str) -> dict[str, Any]:
    """The config of a sink of objects with these properties."""
    types = {name: {"type": kind} for name, kind in properties.items()}
    schema = {"title": "Row", "type": "object", "properties": types, "required": ["id", "name"]}
    # An added property is compatible where records could not have had it.
    return {"kafka.value.schema": {**schema, "additionalProperties": False}}


def protobuf(name: str) -> dict[str, Any]:
    """The config of a sink of messages of a class."""
    return {"kafka.value.message": f"tests.cluster.rows_messages.{name}"}


@dataclass(frozen=True, slots=True)
class Format:
    """Forms of a row in a format: in its first version, in the second one, and refused."""

    name: str
    first: dict[str, Any]
    second: dict[str, Any]
    refused: dict[str, Any]
    why: str
    reads: dict[str, str]
    """What the copying topology is told besides."""
    no_text: str = "5 is not a text"
    """Why a number is no name."""


AVRO = Format(
    "avro", avro(ID, NAME), avro(ID, NAME, SHOP),
    avro({**ID, "type": "string"}, NAME), "the schema is not compatible with earlier schemas", {},
)  # fmt: skip
PROTOBUF = Format(
    "protobuf", protobuf("Row"), protobuf("Wider"),
    {**protobuf("Other"), "kafka.schema.auto.register": False},
    "register the schema, or set kafka.schema.auto.register: true",
    {"kafka.value.message": "tests.cluster.rows_messages.Row"},
)  # fmt: skip
"""This registry does not compare Protobuf files registered in serialized form."""
JSON = Format(
    "jsonschema", json_schema(id="integer", name="string"),
    json_schema(id="integer", name="string", shop="string"),
    json_schema(id="string", name="string"),
    "the schema is not compatible with earlier schemas", {}, "5 is not of type 'string'",
)  # fmt: skip
TEXT = """// as a Java program registers it
syntax = "proto3";
package rows;
import "google/protobuf/timestamp.proto";
import "parts/shop.proto";
message Row {
  int64 id = 1;
  string name = 2;
  parts.Shop shop = 3;
  google.protobuf.Timestamp at = 4;
}
"""
IMPORTED = 'syntax = "proto3"; package parts; message Shop { string name = 1; }'


@dataclass(frozen=True, slots=True)
class Work:
    """Two topics of a test's own, the second one a copy of the first."""

    broker: KafkaBroker
    registry: RegistryServer
    format: Format
    rows: str
    copy: str

    @property
    def settings(self) -> dict[str, Any]:
        """Of any component."""
        return {
            "kafka.bootstrap.servers": self.broker.address,
            "kafka.schema.registry.url": self.registry.url,
            "kafka.value.format": self.format.name,
        }

    @contextmanager
    def writer(self, version: dict[str, Any], *fields: str) -> Iterator[ComponentTester]:
        """A sink into the first topic."""
        config = {**self.settings, "kafka.topic": self.rows, **version}
        inputs = {"numbers": list(fields)}
        with ComponentTester(KafkaSink, inputs=inputs, config=config, patch_time=False) as sink:
            yield sink

    def write(self, version: dict[str, Any], rows: Sequence[Row], *more: str) -> None:
        """All valid rows are stored on return; rows outside of the schema are not."""
        fields = ("id", "name", "shop")[: 2 + len(more)]
        with self.writer(version, *fields) as sink:
            for row in rows:
                sink.process([*row, *more])
            with pytest.raises(ValueError, match=f"^name: {self.format.no_text}"):
                sink.process([1, 5, *more])
            until(lambda: sink.advance(0.1) or len(sink.acked) == len(rows), "they are stored")

    def copied(self) -> Counter[Row]:
        return self.rows_in(self.copy)

    def rows_in(self, topic: str) -> Counter[Row]:
        outputs = {"id": "bigint", "name": "string"}
        reads = {**self.settings, **self.format.reads}
        with closing(FieldReader(outputs, reads, "the test")) as reader:
            values = self.broker.values(topic)
            return Counter(tuple(reader.values(record(each))) for each in values)

    def start(self, place: Place, *words: object, **more: object) -> Running:
        """The topology that copies."""
        topics = {"kafka.topics": self.rows, "kafka.topic": self.copy}
        settings = {**self.settings, **topics, **self.format.reads, **more}
        options = [word for key, each in settings.items() for word in ("-o", f"{key}={each}")]
        return place.start("run", FILE, *words, *options)


def record(value: bytes) -> Any:
    return SimpleNamespace(value=lambda: value, topic=lambda: "copy", headers=lambda: None)


def rows_of(numbers: range) -> list[Row]:
    return [(number, f"größe {number}") for number in numbers]


FIRST, SECOND = rows_of(range(ROWS)), rows_of(range(ROWS, 2 * ROWS))


def new_topics(kafka: KafkaBroker, registry: RegistryServer, form: Format) -> Work:
    """Both empty."""
    name = uuid.uuid4().hex[:8]
    made = Work(kafka, registry, form, f"rows-{name}", f"copy-{name}")
    kafka.create(made.rows, made.copy)
    return made


@pytest.fixture
def work(request: pytest.FixtureRequest, kafka: KafkaBroker, registry: RegistryServer) -> Work:
    made = new_topics(kafka, registry, request.param)
    made.write(made.format.first, FIRST)
    if made.format is not PROTOBUF:
        registry.compare(f"{made.rows}-value")
    return made


def in_formats(*formats: Format) -> pytest.MarkDecorator:
    """With the work of each of them."""
    return pytest.mark.parametrize("work", formats, ids=lambda each: each.name, indirect=True)


@in_formats(AVRO, PROTOBUF, JSON)
def test_a_topic_is_copied_while_its_schema_grows_and_reader_and_writer_are_killed(
    place: Place, work: Work
) -> None:
    """A refused schema is one line; bytes without a record are left out."""
    running = work.start(place)
    running.until(lambda: work.copied() == Counter(FIRST), "the first version is there", START_SECS)
    for name in ("rows[0]", "copy[0]"):
        running.until(partial(running.process_called, f"heron: {name}"), f"{name} runs").kill()
    with (
        pytest.raises(ComponentError, match=rf"subject {work.rows}-value of .*{work.format.why}"),
        work.writer(work.format.refused, "id", "name"),
    ):
        pass
    producer = confluent_kafka.Producer({"bootstrap.servers": work.broker.address})
    producer.produce(work.rows, b"none")
    assert producer.flush(START_SECS) == 0
    work.write(work.format.second, SECOND, "north")
    both = Counter(FIRST + SECOND)
    running.until(lambda: work.copied() == both, "both versions are there", START_SECS)
    ended = running.end()
    assert "INCOMPLETE: rows: 1 error outside of a tuple" in ended.err
    assert f"{work.rows}[" in ended.err
    assert "is left out" in ended.err
    assert work.copied() == both


@in_formats(AVRO, PROTOBUF)
def test_on_spark_a_copy_has_each_row_once_though_driver_and_workers_are_killed(
    place: Place, work: Work
) -> None:
    work.write(work.format.second, SECOND, "north")
    start: Callable[[], Running] = lambda: work.start(  # noqa: E731
        place, "--engine", "spark", "--checkpoint", place.path / "checkpoint",
        "--max-batch", BATCH, **{"kafka.finish.at.end": True},
    )  # fmt: skip
    running = start()
    running.until(work.copied, "a batch is committed", SPARK_SECS)
    for each in running.processes():
        with suppress(psutil.Error):  # it ends with its parent
            each.kill()
    running.wait()
    assert work.copied().total() < 2 * ROWS, "it was killed too late to show anything"
    start().wait(SPARK_SECS).succeeded()
    assert work.copied() == Counter(FIRST + SECOND)


def test_messages_of_a_proto_file_that_a_java_program_registered_are_written_and_read(
    kafka: KafkaBroker, registry: RegistryServer
) -> None:
    """This registry answers with the text, and with the text of the imported file."""
    work = new_topics(kafka, registry, PROTOBUF)
    imported, subject = f"shop-{work.rows}", f"{work.rows}-value"
    registry.register(imported, IMPORTED)
    registry.register(subject, TEXT, ("parts/shop.proto", imported))
    work.write({**protobuf("Row"), "kafka.schema.use.latest": True}, FIRST)
    assert work.rows_in(work.rows) == Counter(FIRST)
