"""Topologies written against streamparse: what is understood, and what each mistake says.

Rules and errors: streamparse's dsl package (release 5.0.1). Messages name the component and the
cure.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from heronpy_compat.streamparse import (
    Bolt,
    Grouping,
    JavaBolt,
    JavaSpout,
    ShellBolt,
    ShellSpout,
    Spout,
    Stream,
)
from heronpy_compat.streamparse.dsl.component import ComponentSpec
from heronpy_compat.streamparse.dsl.topology import TopologyType
from heronpy_compat.streamparse.storm import Component
from heronpy_compat.streamparse.thrift import (
    GlobalStreamId,
    JavaObjectArg,
    StreamInfo,
)
from tests.unit.heronpy_compat.streamparse.dsl_support import (
    Count,
    Direct,
    Sink,
    Split,
    Words,
    message,
    topology,
)

# Names


def test_components_are_named_after_their_attributes() -> None:
    words = Words.spec()
    found = topology(words=words, other=Words.spec(name="more-words"), number=7)
    assert [each.name for each in found.specs] == ["words", "more-words"]
    assert words.name == "words"
    assert repr(found) == "<topology Trial: words, more-words>"
    assert repr(words) == '<ShellSpoutSpec Words "words">'


def test_names_are_unique() -> None:
    duplicate = {"words": Words.spec(), "count": Count.spec(name="words", inputs=[Words.spec()])}
    assert message(ValueError, lambda: topology(**duplicate)) == (
        "Duplicate component name: words (Count and Words); names are unique"
    )


def test_a_component_itself_is_no_specification() -> None:
    words = Words.__new__(Words)  # without __init__, which would take stdin and stdout
    assert message(TypeError, lambda: topology(words=words)) == (
        "Topology classes should have ComponentSpec attributes, but words is a Words itself: write"
        " words = Words.spec(...)"
    )


def test_only_spouts_and_bolts_have_specifications() -> None:
    class Neither(Component):
        pass

    assert message(TypeError, Neither.spec) == (
        "Specifications should either be bolts or spouts: derive Neither from Spout or Bolt"
    )
    other = ComponentSpec(Words, name="other")
    assert message(TypeError, lambda: topology(other=other)) == (
        'Specifications should be of bolts or spouts, not <ComponentSpec Words "other">'
    )


# What every topology and component needs


def test_a_topology_needs_a_spout() -> None:
    assert message(ValueError, topology) == (
        "A Topology requires at least one Spout: Trial has none; add a spout as in words = "
        "WordSpout.spec()"
    )


@pytest.mark.parametrize("inputs", [None, [], {}])
def test_a_bolt_needs_inputs(inputs: Any) -> None:
    members = {"words": Words.spec(), "count": Count.spec(inputs=inputs)}
    assert message(ValueError, lambda: topology(**members)) == (
        'Count "count" requires at least one input, because it is a Bolt: add an input with '
        "spec(inputs=[words])"
    )


def test_a_spout_needs_outputs() -> None:
    class Silent(Spout):
        pass

    assert message(ValueError, lambda: topology(silent=Silent.spec())) == (
        'Silent "silent" requires at least one output, because it is a Spout: list its fields, as'
        ' in outputs = ["word"]'
    )


# par


def test_par_is_the_class_attribute_unless_given() -> None:
    words = Words.spec()
    assert (words.par, Count.spec(inputs=[words]).par) == (1, 3)
    assert Count.spec(inputs=[words], par=8).common.parallelism_hint == 8
    assert Words.spec(par={"beta": 1, "prod": 9}).par == {"beta": 1, "prod": 9}
    assert Words.spec(par=True).par == 1


@pytest.mark.parametrize(
    ("par", "kind", "expected"),
    [
        (
            1.0,
            TypeError,
            (
                "Words: par must be a whole number of at least 1, or a dict of"
                " environment to number, not 1.0"
            ),
        ),
        (
            "2",
            TypeError,
            (
                "Words: par must be a whole number of at least 1, or a dict of"
                " environment to number, not '2'"
            ),
        ),
        (0, ValueError, "Words: par must be a whole number of at least 1, not 0"),
        (-3, ValueError, "Words: par must be a whole number of at least 1, not -3"),
        ({1: 2}, TypeError, "Words: keys of par must be names of environments, not 1"),
        (
            {"prod": 2.5},
            TypeError,
            (
                "Words, environment 'prod': par must be a whole number of at"
                " least 1, or a dict of environment to number, not 2.5"
            ),
        ),
        (
            {"prod": 0},
            ValueError,
            ("Words, environment 'prod': par must be a whole number of at least 1, not 0"),
        ),
    ],
)
def test_par_must_be_a_number(par: Any, kind: type[Exception], expected: str) -> None:
    assert message(kind, lambda: Words.spec(par=par)) == expected


# Inputs


def inputs_of(inputs: Any) -> dict[Any, Any]:
    found: dict[Any, Any] = Sink.spec(inputs=inputs).inputs
    return found


def test_inputs_are_a_dict_a_list_or_one_component() -> None:
    words, split = Words.spec(name="words"), Split.spec(name="split")
    stream, errors = GlobalStreamId("words", "default"), GlobalStreamId("split", "errors")
    assert inputs_of(words) == {stream: Grouping.SHUFFLE}
    assert inputs_of([words]) == inputs_of((words,)) == {stream: Grouping.SHUFFLE}
    assert inputs_of([split["errors"]]) == {errors: Grouping.SHUFFLE}
    given = {words: Grouping.ALL, errors: Grouping.NONE}
    assert inputs_of(given) == {stream: Grouping.ALL, errors: Grouping.NONE}
    assert list(given) == [words, errors], "the caller's dict is left alone"


def test_a_list_means_direct_where_the_default_stream_is_direct() -> None:
    orders = Direct.spec(name="orders")
    stream = GlobalStreamId("orders", "default")
    assert inputs_of([orders]) == {stream: Grouping.DIRECT}
    # As in the original: a stream alone does not tell.
    assert inputs_of([orders["default"]]) == {stream: Grouping.SHUFFLE}


def test_inputs_of_the_wrong_type() -> None:
    assert message(TypeError, lambda: Sink.spec(inputs="words")) == (
        "Sink: inputs must be a dict of component to Grouping or a list of components, not 'words'"
    )
    expected = (
        "Sink: an input must be the result of spec(), one of its streams as in words['errors'], "
        "or a GlobalStreamId, not 'words'"
    )
    assert message(TypeError, lambda: Sink.spec(inputs=["words"])) == expected
    assert message(TypeError, lambda: Sink.spec(inputs={"words": Grouping.ALL})) == expected
    words = Words.spec(name="words")
    assert message(TypeError, lambda: Sink.spec(inputs={words: "word"})) == (
        'Sink: the grouping of input <ShellSpoutSpec Words "words"> must be one of Grouping\'s, as'
        " Grouping.SHUFFLE or Grouping.fields(\"word\"), not 'word'"
    )


def test_an_unknown_stream() -> None:
    split = Split.spec(name="split")
    assert message(KeyError, lambda: split["erors"]) == (
        "Split \"split\" has no stream 'erors'; did you mean 'errors'? (streams: default, errors)"
    )


def test_fields_of_a_grouping_must_be_fields_of_the_stream() -> None:
    words = Words.spec()
    count = Count.spec(inputs={words: Grouping.fields("word", "lenght")})
    assert message(ValueError, lambda: topology(words=words, count=count)) == (
        "Count \"count\": Field 'lenght' specified in grouping is not a valid output field for the"
        " 'words' 'default' stream; did you mean 'length'? (fields: word, length)"
    )


def test_a_component_in_a_cycle_is_named() -> None:
    words = Words.spec()
    again = GlobalStreamId("count", "default")
    first = Count.spec(inputs={words: Grouping.SHUFFLE, again: Grouping.fields("word")})
    count = Count.spec(inputs=[first])
    found = topology(words=words, first=first, count=count)
    assert list(found.specs[1].inputs) == [GlobalStreamId("words", "default"), again]


def test_a_typo_in_the_name_of_a_component_or_a_stream() -> None:
    words = Words.spec()

    def reading(component: str, stream: str) -> Callable[[], object]:
        sink = Sink.spec(inputs=[GlobalStreamId(component, stream)])
        return lambda: topology(words=words, sink=sink)

    assert message(KeyError, reading("wrods", "default")) == (
        "Sink \"sink\" reads from 'wrods', no component; did you mean 'words'? (components: words)"
    )
    assert message(KeyError, reading("words", "defualt")) == (
        "Sink \"sink\" reads 'defualt', which is not a stream of 'words'; did you mean 'default'?"
        " (streams: default)"
    )


def test_inputs_of_another_topology() -> None:
    stray, words = Words.spec(), Words.spec()
    sink = Sink.spec(inputs=[stray])
    assert message(TypeError, lambda: topology(words=words, sink=sink)) == (
        'Sink "sink": its input Words has no name: make it a component of the same topology'
    )


def test_the_same_input_twice() -> None:
    words = Words.spec()
    sink = Sink.spec(
        inputs={words: Grouping.ALL, GlobalStreamId("words", "default"): Grouping.NONE}
    )
    assert message(ValueError, lambda: topology(words=words, sink=sink)) == (
        'Sink "sink" reads words:default twice; give each input one grouping'
    )


# Groupings and streams


def test_groupings() -> None:
    assert Grouping.GLOBAL.fields == []
    assert Grouping.fields("a", "b") == Grouping.fields(["a", "b"])
    assert Grouping.fields("a").fields == ["a"]
    assert [repr(each) for each in (Grouping.SHUFFLE, Grouping.LOCAL_OR_SHUFFLE)] == [
        "SHUFFLE",
        "LOCAL_OR_SHUFFLE",
    ]
    assert repr(Grouping.fields("a")) == "fields(['a'])"
    made = Grouping.custom_object("org.example.Grouping", [True, 7, "x", b"y", 1.5]).custom_object
    assert made.full_class_name == "org.example.Grouping"
    assert made.args_list == [
        JavaObjectArg(bool_arg=True),
        JavaObjectArg(long_arg=7),
        JavaObjectArg(string_arg="x"),
        JavaObjectArg(binary_arg=b"y"),
        JavaObjectArg(double_arg=1.5),
    ]
    assert Grouping.custom_serialized(b"x").custom_serialized == b"x"


def test_groupings_that_cannot_be() -> None:
    empty = (
        'Grouping.fields cannot be empty: name the fields, as in Grouping.fields("word"), or use'
        " Grouping.GLOBAL"
    )
    assert message(ValueError, Grouping.fields) == empty
    assert message(ValueError, lambda: Grouping.fields([])) == empty
    assert message(TypeError, lambda: Grouping.fields(1)) == (
        "names in Grouping.fields must be strings, not 1"
    )
    # The original returns this error instead of raising it.
    assert message(TypeError, lambda: Grouping.custom_serialized("x")) == (  # type: ignore[arg-type]
        "Grouping.custom_serialized takes a serialised Java object as bytes, not 'x'"
    )
    assert message(TypeError, lambda: Grouping.custom_object("a.B", [None])) == (
        "arguments of a Java constructor must be bool, int, float, str or bytes, not None: only"
        " basic data types can be sent to Storm"
    )


def test_streams() -> None:
    stream = Stream(fields=("a", "b"), name="errors", direct=True)
    assert (stream.fields, stream.name, stream.direct) == (["a", "b"], "errors", True)
    assert (Stream().fields, Stream().name, Stream().direct) == ([], "default", False)
    assert repr(stream) == "Stream(fields=['a', 'b'], name='errors', direct=True)"


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (
            {"fields": "word"},
            "fields of the Stream 'default' must be a list of strings, not 'word'",
        ),
        ({"fields": ["a", 1]}, "fields of the Stream 'default' must all be strings, not 1"),
        ({"name": 1}, "name of a Stream must be a string, not 1"),
        ({"direct": 1}, "direct of the Stream 'default' must be True or False, not 1"),
    ],
)
def test_streams_of_the_wrong_type(given: dict[str, Any], expected: str) -> None:
    assert message(TypeError, lambda: Stream(**given)) == expected


# Outputs and config


def test_outputs_are_fields_and_streams() -> None:
    class Several(Bolt):
        outputs = ["a", Stream(fields=["why"], name="errors"), "b"]

    words = Words.spec()
    assert Several.spec(inputs=[words]).outputs == {
        "default": StreamInfo(["a", "b"], False),
        "errors": StreamInfo(["why"], False),
    }
    assert Several.outputs[0] == "a", "the class's own list is left alone"
    assert Sink.spec(inputs=[words]).outputs == {}


@pytest.mark.parametrize(
    ("outputs", "expected"),
    [
        ("word", "Wrong: outputs must be a list of field names and Streams, not 'word'"),
        (["a", 1], "Wrong: each of its outputs must be a field name or a Stream, not 1"),
    ],
)
def test_outputs_of_the_wrong_type(outputs: Any, expected: str) -> None:
    wrong: Any = type("Wrong", (Spout,), {"outputs": outputs})
    assert message(TypeError, wrong.spec) == expected


def test_config_of_components_and_of_the_topology() -> None:
    words = Words.spec()
    assert words.config == "{}"
    assert Count.spec(inputs=[words]).config == '{"topology.tick.tuple.freq.secs": 5}'
    assert Count.spec(inputs=[words], config={}).config == "{}"
    assert topology(words=words).config == {}
    assert topology(words=words, config={"a": 1}).config == {"a": 1}


def test_config_of_the_wrong_type() -> None:
    config: Any = [1]
    assert message(TypeError, lambda: Words.spec(config=config)) == (
        "Words: config must be a dict, not [1]"
    )
    assert message(TypeError, lambda: Words.spec(config={"a": {1}})) == (
        "Words: config must be of JSON's types: Object of type set is not JSON serializable"
    )
    assert message(TypeError, lambda: topology(words=Words.spec(), config=config)) == (
        "Trial: Topology config must be a dict, not [1]"
    )
    assert message(ValueError, lambda: topology(config=Words.spec())) == (
        "Trial: a component must not be called 'config', that is the topology's config"
    )


# Java and shell components


def test_java_components() -> None:
    bolt = JavaBolt.spec(full_class_name="org.example.Bolt", args_list=[1], inputs=[Words.spec()])
    assert bolt.component_object.java_object.full_class_name == "org.example.Bolt"
    assert bolt.component_object.java_object.args_list == [JavaObjectArg(long_arg=1)]
    assert JavaSpout.spec(serialized_java=b"x").component_object.serialized_java == b"x"


@pytest.mark.parametrize(
    ("given", "kind", "expected"),
    [
        (
            {"args_list": []},
            ValueError,
            "JavaSpout: full_class_name is required: the Java class with its package",
        ),
        (
            {"full_class_name": "a.B"},
            TypeError,
            (
                "JavaSpout: args_list must not be None; if the constructor of a.B takes no"
                " arguments, say []"
            ),
        ),
        (
            {"serialized_java": "x"},
            TypeError,
            "JavaSpout: serialized_java must be bytes or None, not 'x'",
        ),
        (
            {"full_class_name": "a.B", "args_list": [{}]},
            TypeError,
            (
                "arguments of a Java constructor must be bool, int, float, str or bytes, not {}:"
                " only basic data types can be sent to Storm"
            ),
        ),
    ],
)
def test_java_components_that_cannot_be(
    given: dict[str, Any], kind: type[Exception], expected: str
) -> None:
    assert message(kind, lambda: JavaSpout.spec(**given)) == expected
    with pytest.raises(kind):
        JavaBolt.spec(**given)


def test_shell_components() -> None:
    shell = ShellBolt.spec(command="node", script="a.js", inputs=[Words.spec()]).component_object
    assert (shell.shell.execution_command, shell.shell.script) == ("node", "a.js")


@pytest.mark.parametrize("kind", [ShellSpout, ShellBolt])
def test_shell_components_that_cannot_be(kind: Any) -> None:
    name = kind.__name__
    for command in (None, ""):
        spec = partial(kind.spec, command=command, script="")
        assert message(ValueError, spec) == (
            f"{name}: command is required: the program to run, as in"
            ' spec(command="node", script="bolt.js")'
        )
    assert message(TypeError, lambda: kind.spec(command="node")) == (
        f"{name}: script must not be None; if 'node' takes no arguments, say \"\""
    )


# Whole topologies


def test_a_topology_inherits_components_and_config() -> None:
    words = Words.spec()
    first = topology(words=words, count=Count.spec(inputs=[words]), config={"a": 1})

    class Second(first):  # type: ignore[misc,valid-type]
        words = Words.spec(par=2)
        sink = Sink.spec(inputs=[GlobalStreamId("count", "default")])

    assert [(each.name, each.par) for each in Second.specs] == [
        ("words", 2),
        ("count", 3),
        ("sink", 1),
    ]
    assert Second.config == {"a": 1}
    assert [each.name for each in first.specs] == ["words", "count"]
    assert first.specs[0].par == 1
    assert topology(words=Words.spec(), config={"b": 1}).config == {"b": 1}


def test_a_topology_that_fails_leaves_its_parts_alone() -> None:
    words = Words.spec()
    first = topology(words=words, count=Count.spec(inputs=[words]))
    sink = Sink.spec(inputs=[GlobalStreamId("nobody", "default")])
    with pytest.raises(KeyError, match="reads from 'nobody'"):
        TopologyType("Second", (first,), {"sink": sink})
    assert list(first.specs[1].inputs) == [GlobalStreamId("words", "default")]
