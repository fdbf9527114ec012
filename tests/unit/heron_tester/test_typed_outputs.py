"""Declared types of fields, from any API down to the emit of the engine."""

from typing import Any

import pytest

from heron_core.errors import TopologyError
from heron_core.topology import StreamSpec, topology_from_json, topology_to_json
from heron_frontends.loading.streamparse_topology import to_topology_spec
from heronpy_compat import Bolt, Grouping, Spout, Stream, Topology
from heronpy_compat.streamparse import Bolt as StormBolt
from heronpy_compat.streamparse import Spout as StormSpout
from heronpy_compat.streamparse import Topology as StormTopology
from heronpy_compat.testing import TopologyTester


class Numbers(Spout):
    """Fed by the test."""

    outputs = {"key": "string", "number": "int"}

    def next_tuple(self) -> None:
        """Nothing of its own."""


class Halves(Bolt):
    """Emits half of each number, on two streams."""

    outputs = [Stream({"half": "int"}), Stream(["half"], name="untyped")]

    def process(self, tup: Any) -> None:
        """Half of it is an int for even numbers alone."""
        half = tup["number"] / 2
        self.emit([half], stream="untyped")
        self.emit([int(half) if half.is_integer() else half])


class Typed(Topology):
    """Two components whose fields have types."""

    numbers = Numbers.spec()
    halves = Halves.spec(inputs={numbers: Grouping.fields("key")})
    more = Halves.spec(inputs=[numbers], optional_outputs={"further": "string"})


def test_a_value_that_does_not_fit_its_type_fails_the_emit() -> None:
    with TopologyTester(Typed) as tester:
        tester.feed("numbers", ["even", 2])
        tester.feed("numbers", ["odd", 3])
        tester.run()
        assert tester.values("halves", "default") == [[1]]
        assert tester.values("halves", "untyped") == [[1.0], [1.5]]
        (error,) = tester.errors("halves")
        assert (
            "TypeError: halves.default: field 'half' is declared as int, but got a float: 1.5"
            in (str(error))
        )
        assert tester.errors("more")


def test_types_travel_with_the_topology() -> None:
    spec = Typed.to_spec()
    streams = spec.by_name["more"].outputs
    assert streams[0] == StreamSpec("default", ("half", "further"), types=("int", "string"))
    assert topology_from_json(topology_to_json(spec)).by_name["more"].outputs == streams
    assert spec.by_name["halves"].outputs[1].types == ()


def test_streamparse_s_classes_declare_types_as_well() -> None:
    class Words(StormSpout):
        outputs = {"word": "string"}

    class Count(StormBolt):
        outputs = ["plain"]

    class Words2(StormTopology):
        words = Words.spec()
        count = Count.spec(inputs=[words])

    found = to_topology_spec(Words2, "words", None)
    assert [each.types for each in found.by_name["words"].outputs] == [("string",)]
    assert [each.types for each in found.by_name["count"].outputs] == [()]


@pytest.mark.parametrize(
    ("outputs", "complaint"),
    [
        ({"word": "text"}, "field 'word': 'text' is not a type"),
        ({"word": 7}, "the type of field 'word' must be a string, not 7"),
        (["a", Stream({"b": "int"})], "declares types for 1 of its 2 fields"),
    ],
)
def test_what_is_no_declaration_is_named(outputs: Any, complaint: str) -> None:
    class Wrong(Spout):
        pass

    Wrong.outputs = outputs
    with pytest.raises(TopologyError, match=complaint):
        type("Bad", (Topology,), {"wrong": Wrong.spec()})
