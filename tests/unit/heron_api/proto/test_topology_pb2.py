"""heronpy's messages: what programs read in the definition of a topology."""

from typing import Any

import pytest

from heron_api.bolt.bolt import Bolt
from heron_api.custom_grouping import ICustomGrouping
from heron_api.proto import topology_pb2
from heron_api.serializer import default_serializer
from heron_api.spout.spout import Spout
from heron_api.stream import Grouping, Stream
from heron_api.topology import Topology, TopologyType


class Words(Spout):
    outputs = ["word", Stream(["reason", "code"], name="errors")]


class Count(Bolt):
    outputs = ["word", "count"]


class Chosen(ICustomGrouping):
    pass


CUSTOM = Grouping.custom(Chosen())


class Defined(Topology):
    config = {"topology.stmgrs": 2, "flag": False, "list": [1, 2]}
    words = Words.spec(par=3, config={"text": "0123", "none": None})
    by_field = Count.spec(
        inputs={words: Grouping.fields("word"), words["errors"]: Grouping.GLOBAL}, par=2
    )
    others = Count.spec(
        inputs={
            words: CUSTOM,
            words["errors"]: Grouping.LOCAL_OR_SHUFFLE,
            by_field: Grouping.partial_key("word", "count"),
        }
    )


def values(config: Any) -> dict[str, Any]:
    """key -> its text, or the object in it."""
    kinds = topology_pb2.ConfigValueType
    found: dict[str, Any] = {}
    for pair in config.kvs:
        if pair.HasField("value"):
            assert pair.type == kinds.Value("STRING_VALUE")
            found[pair.key] = pair.value
        else:
            assert kinds.Name(pair.type) == "PYTHON_SERIALIZED_VALUE"
            found[pair.key] = [default_serializer.deserialize(pair.serialized_value)]
    return found


def test_a_topology_is_a_message() -> None:
    message = Defined.protobuf_topology
    assert isinstance(message, topology_pb2.Topology)
    assert (message.id, message.name) == (Defined.topology_id, "Defined")
    assert message.state == topology_pb2.TopologyState.Value("RUNNING")
    assert message.state == topology_pb2.RUNNING  # type: ignore[attr-defined]
    assert [each.comp.name for each in message.spouts] == ["words"]
    assert [each.comp.name for each in message.bolts] == ["by_field", "others"]
    assert values(message.topology_config) == {
        **TopologyType.DEFAULT_TOPOLOGY_CONFIG,
        "topology.stmgrs": "2",
        "flag": "false",
        "list": [[1, 2]],
    }


def test_a_paused_topology(monkeypatch: pytest.MonkeyPatch) -> None:
    """Submitted with --deploy-deactivated."""
    monkeypatch.setenv("HERON_OPTIONS", "cmdline.topology.initial.state=PAUSED")

    class Paused(Topology):
        words = Words.spec()

    assert topology_pb2.TopologyState.Name(Paused.protobuf_topology.state) == "PAUSED"


def test_a_spout_is_a_message() -> None:
    (spout,) = Defined._protobuf_spouts.values()
    assert isinstance(spout, topology_pb2.Spout)
    assert spout.comp.class_name == f"{__name__}.Words"
    assert spout.comp.spec is not None
    assert topology_pb2.ComponentObjectSpec.Name(spout.comp.spec) == "PYTHON_CLASS_NAME"
    assert values(spout.comp.config) == {
        "topology.component.parallelism": "3", "text": "0123", "none": [None],
    }  # fmt: skip
    streams = {
        (each.stream.id, each.stream.component_name): [field.key for field in each.schema.keys]
        for each in spout.outputs
    }
    assert streams == {("default", "words"): ["word"], ("errors", "words"): ["reason", "code"]}
    assert not hasattr(spout, "inputs")


def test_the_inputs_of_bolts() -> None:
    by_field, others = Defined._protobuf_bolts.values()
    assert isinstance(by_field, topology_pb2.Bolt)
    word, errors = by_field.inputs
    assert (word.stream.component_name, word.stream.id) == ("words", "default")
    assert word.gtype == topology_pb2.Grouping.Value("FIELDS")
    assert word.grouping_fields is not None
    assert [field.key for field in word.grouping_fields.keys] == ["word"]
    assert errors.gtype == topology_pb2.LOWEST  # type: ignore[attr-defined]
    assert not errors.HasField("grouping_fields")
    custom, local, partial = others.inputs
    assert custom.custom_grouping_object == CUSTOM.python_serialized
    assert custom.type == topology_pb2.CustomGroupingObjectType.Value("PYTHON_OBJECT")
    # What Heron's messages cannot say is said as what comes next to it.
    names = [topology_pb2.Grouping.Name(each.gtype) for each in (custom, local, partial)]
    assert names == ["CUSTOM", "SHUFFLE", "FIELDS"]


def test_messages_can_be_made_and_compared() -> None:
    one = topology_pb2.StreamId()
    one.id, one.component_name = "default", "words"
    assert one == topology_pb2.StreamId(id="default", component_name="words")
    assert one != topology_pb2.StreamId(id="errors", component_name="words")
    config = topology_pb2.Config()
    config.kvs.append(topology_pb2.Config.KeyValue(key="a", value="1"))
    assert [(pair.key, pair.value) for pair in config.kvs] == [("a", "1")]
    assert topology_pb2.StreamSchema.KeyType("word").type == topology_pb2.Type.Value("OBJECT")


@pytest.mark.parametrize("name", ["kvs", "nothing"])
def test_repeated_and_unknown_fields_cannot_be_asked_for(name: str) -> None:
    with pytest.raises(ValueError, match=f"Config has no single field '{name}'"):
        topology_pb2.Config().HasField(name)


def test_enums_know_names_and_numbers() -> None:
    grouping = topology_pb2.Grouping
    assert grouping.items() == [
        ("SHUFFLE", 1), ("FIELDS", 2), ("ALL", 3), ("LOWEST", 4), ("NONE", 5), ("DIRECT", 6),
        ("CUSTOM", 7),
    ]  # fmt: skip
    assert (grouping.keys()[0], grouping.values()[0]) == ("SHUFFLE", 1)
    with pytest.raises(ValueError, match="enum Grouping has no value called 'SHUFFLED'"):
        grouping.Value("SHUFFLED")
    with pytest.raises(ValueError, match="enum Grouping has no name for 99"):
        grouping.Name(99)
