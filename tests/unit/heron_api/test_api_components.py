"""heronpy's spouts, bolts, streams and groupings keep their names, signatures and errors."""

import inspect
import logging
from typing import Any

import cloudpickle
import pytest

from heron_api.bolt.base_bolt import BaseBolt
from heron_api.bolt.bolt import Bolt
from heron_api.component.base_component import BaseComponent
from heron_api.component.component_spec import GlobalStreamId, HeronComponentSpec
from heron_api.custom_grouping import ICustomGrouping
from heron_api.spout.base_spout import BaseSpout
from heron_api.spout.spout import Spout
from heron_api.stream import Grouping, Stream, grouping_spec
from heron_api.tuple import Tuple, TupleHelper
from heron_core.errors import TopologyError
from heron_core.topology import GroupingKind, GroupingSpec, InputSpec, StreamSpec


class Words(Spout):
    outputs = ["word", Stream(fields=["reason"], name="errors")]


class Count(Bolt):
    outputs = ("word", "count")


class First(ICustomGrouping):
    def prepare(self, context: Any, component: str, stream: str, target_tasks: list[int]) -> None:
        self.tasks = target_tasks

    def choose_tasks(self, values: list[Any]) -> list[int]:
        return self.tasks[:1]


def parameters(function: Any) -> list[str]:
    return list(inspect.signature(function).parameters)


# A ported heronpy topology calls these by position and by keyword.


def test_signatures_are_those_of_heronpy() -> None:
    assert parameters(Spout.spec) == ["name", "par", "config", "optional_outputs"]
    assert parameters(Bolt.spec) == ["name", "inputs", "par", "config", "optional_outputs"]
    assert parameters(Spout.emit)[1:] == [
        "tup",
        "tup_id",
        "stream",
        "direct_task",
        "need_task_ids",
    ]
    assert parameters(Bolt.emit)[1:] == [
        "tup",
        "stream",
        "anchors",
        "direct_task",
        "need_task_ids",
    ]
    assert (
        parameters(Spout.initialize)
        == parameters(Bolt.initialize)
        == [
            "self",
            "config",
            "context",
        ]
    )
    assert issubclass(Spout, BaseSpout)
    assert issubclass(Bolt, BaseBolt)
    assert issubclass(BaseSpout, BaseComponent)
    assert issubclass(BaseBolt, BaseComponent)


def test_the_runtime_can_replace_emit_ack_and_fail_of_one_instance(bolt_delegate: Any) -> None:
    # The instance process sets closures in place of the methods, which is twice as fast.
    bolt = Count(delegate=bolt_delegate)
    seen: list[Any] = []
    for name in ("emit", "ack", "fail"):
        setattr(bolt, name, seen.append)
    bolt.emit(["a"])
    bolt.ack("tuple 1")
    bolt.fail("tuple 2")
    assert seen == [["a"], "tuple 1", "tuple 2"]
    assert bolt_delegate.emitted == []


# Each action of a component reaches its delegate.


def test_a_spout_emits_and_finishes_through_its_delegate(spout_delegate: Any) -> None:
    spout = Words(delegate=spout_delegate)
    assert spout.emit(["a"]) is None
    assert spout.emit(["b"], 5, "errors", direct_task=3, need_task_ids=True) == [7]
    spout.finish()
    first, second = spout_delegate.emitted
    assert (first.values, first.id, first.stream, first.task) == (["a"], None, "default", None)
    assert (second.values, second.id, second.stream, second.task) == (["b"], 5, "errors", 3)
    assert spout_delegate.finished == 1


def test_a_bolt_emits_acks_and_fails_through_its_delegate(bolt_delegate: Any) -> None:
    bolt = Count(delegate=bolt_delegate)
    received = Tuple("1", "words", "default", 1, ["a"])
    assert bolt.emit(["a", 1], anchors=[received], need_task_ids=True) == [7]
    bolt.ack(received)
    bolt.fail(received)
    (emitted,) = bolt_delegate.emitted
    assert (emitted.values, emitted.anchors, emitted.stream) == (["a", 1], [received], "default")
    assert bolt_delegate.acked == bolt_delegate.failed == [received]


def test_a_component_can_be_the_delegate_of_another(bolt_delegate: Any) -> None:
    # heronpy's users wrap bolts: the outer bolt constructs the inner with delegate=self.
    outer = Bolt(delegate=bolt_delegate)
    inner = Count(delegate=outer)
    inner.emit(["a", 1], anchors=["tuple"])
    inner.ack("tuple")
    assert bolt_delegate.emitted[0].anchors == ["tuple"]
    assert bolt_delegate.acked == ["tuple"]
    assert inner.logger is bolt_delegate.logger


def test_log_levels(bolt_delegate: Any, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    bolt = Count(delegate=bolt_delegate)
    for level in (None, "trace", "debug", "info", "warn", "error"):
        bolt.log("hello", level)
    assert [record.levelname for record in caplog.records] == [
        "INFO",
        "DEBUG",
        "DEBUG",
        "INFO",
        "WARNING",
        "ERROR",
    ]
    with pytest.raises(ValueError, match=r"log level must be one of trace, debug.*not 'loud'"):
        bolt.log("hello", "loud")


def test_only_next_tuple_and_process_must_be_defined(
    spout_delegate: Any, bolt_delegate: Any
) -> None:
    spout, bolt = Words(delegate=spout_delegate), Count(delegate=bolt_delegate)
    spout.initialize({}, None)  # type: ignore[arg-type]
    bolt.initialize({}, None)  # type: ignore[arg-type]
    for hook in (spout.activate, spout.deactivate, spout.close, bolt.on_finish):
        hook()
    for callback in (spout.ack, spout.fail):
        callback(1)
    bolt.process_tick(Tuple("0", "__system", "__tick", None, None))
    with pytest.raises(NotImplementedError, match=r"Words must define next_tuple\(self\)"):
        spout.next_tuple()
    with pytest.raises(NotImplementedError, match=r"Count must define process\(self, tup\)"):
        bolt.process(Tuple("0", "words", "default", None, []))
    assert (Bolt.auto_ack, Bolt.auto_anchor, Bolt.auto_fail) == (False, False, False)


def test_tuples_and_ticks() -> None:
    assert Tuple._fields == ("id", "component", "stream", "task", "values")
    tick = Tuple(TupleHelper.TICK_TUPLE_ID, TupleHelper.TICK_SOURCE_COMPONENT, "__tick", None, None)
    assert tick[:2] == ("__tick", "__system")
    assert Bolt.is_tick(tick)
    assert not Bolt.is_tick(Tuple("0", "words", "default", None, ["a"]))


# Streams


def test_a_stream_takes_fields_a_name_and_may_be_direct() -> None:
    assert Stream.DEFAULT_STREAM_ID == "default"
    assert (Stream().fields, Stream().stream_id, Stream().direct) == ([], "default", False)
    stream = Stream(("error", "message"), name="errors", direct=True)
    assert (stream.fields, stream.stream_id, stream.direct) == (
        ["error", "message"],
        "errors",
        True,
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            {"fields": {"a": 1}},
            "Stream 'default': the type of field 'a' must be a string, not 1",
        ),
        (
            {"fields": "word"},
            (
                "fields of a Stream must be a list or tuple of strings, or a dict of field to "
                "type, not 'word'"
            ),
        ),
        ({"fields": ["a", 1]}, "fields of a Stream must be strings, not 1"),
        ({"name": None}, "name of a Stream must be a string, not None"),
        ({"name": True}, "name of a Stream must be a string, not True"),
        ({"direct": 1}, "direct of a Stream must be True or False, not 1"),
    ],
)
def test_a_wrong_stream_is_a_type_error(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(TypeError) as caught:
        Stream(**arguments)
    assert str(caught.value) == message


# Groupings


def test_plain_groupings_have_herons_numbers_and_our_meaning() -> None:
    expected = {
        Grouping.SHUFFLE: (1, GroupingKind.SHUFFLE),
        Grouping.ALL: (3, GroupingKind.ALL),
        Grouping.LOWEST: (4, GroupingKind.GLOBAL),
        Grouping.NONE: (5, GroupingKind.NONE),
        Grouping.DIRECT: (6, GroupingKind.DIRECT),
        Grouping.LOCAL_OR_SHUFFLE: (8, GroupingKind.LOCAL_OR_SHUFFLE),
    }
    for grouping, (number, kind) in expected.items():
        assert grouping == number
        assert Grouping.is_grouping_sane(grouping)
        assert grouping_spec(grouping) == GroupingSpec(kind)
    assert Grouping.GLOBAL == Grouping.LOWEST


@pytest.mark.parametrize("method", [Grouping.fields, Grouping.partial_key])
def test_groupings_by_fields(method: Any) -> None:
    assert method("a", "b").fields == method(["a", "b"]).fields == ["a", "b"]
    assert Grouping.is_grouping_sane(method("a"))
    for wrong in (["a", True], 1, None):
        with pytest.raises(TypeError, match="must be strings, not"):
            method(wrong)
    with pytest.raises(ValueError, match="needs at least one field"):
        method()
    with pytest.raises(ValueError, match="needs at least one field"):
        method([])


def test_fields_and_partial_key_stay_apart() -> None:
    assert grouping_spec(Grouping.fields("a")) == GroupingSpec(GroupingKind.FIELDS, ("a",))
    assert grouping_spec(Grouping.partial_key("a")) == GroupingSpec(
        GroupingKind.PARTIAL_KEY, ("a",)
    )
    assert Grouping.fields("a").gtype == 2
    assert isinstance(Grouping.fields("a"), Grouping.FIELDS)


def test_custom_groupings_travel_as_pickles() -> None:
    grouping = Grouping.custom(First())
    assert grouping.gtype == 7
    assert Grouping.is_grouping_sane(grouping)
    spec = grouping_spec(grouping)
    assert spec.kind is GroupingKind.CUSTOM
    assert spec.custom is not None
    assert type(cloudpickle.loads(spec.custom)).__name__ == "First"
    assert cloudpickle.loads(Grouping.custom("my.Grouping").python_serialized) == "my.Grouping"
    for wrong in (None, True, First):
        with pytest.raises(TypeError, match="an instance of ICustomGrouping or its class path"):
            Grouping.custom(wrong)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="takes bytes, not 'x'"):
        Grouping.custom_serialized("x")  # type: ignore[arg-type]


def test_groupings_in_java_are_refused_with_the_alternative() -> None:
    with pytest.raises(NotImplementedError, match=r"use Grouping\.custom"):
        Grouping.custom_serialized(b"x")
    with pytest.raises(NotImplementedError, match=r"use Grouping\.custom"):
        Grouping.custom_object("a.B", [])


@pytest.mark.parametrize(
    "wrong", [2, 7, 0, True, None, "shuffle", Grouping.FIELDS, Grouping.fields]
)
def test_what_is_no_grouping_is_not_sane(wrong: object) -> None:
    assert not Grouping.is_grouping_sane(wrong)


# Component specs


def test_spec_of_a_spout() -> None:
    spec = Words.spec(par=3, config={"a": 1}, optional_outputs=["count"])
    assert spec.name is None
    assert spec.is_spout
    assert (spec.parallelism, spec.custom_config) == (3, {"a": 1})
    assert spec.python_class_path == f"{__name__}.Words"
    assert spec.get_out_streamids() == {"default", "errors"}
    spec.name = "words"
    component = spec.to_spec()
    assert component.outputs == (
        StreamSpec("default", ("word", "count")),
        StreamSpec("errors", ("reason",)),
    )
    assert component.config == {"a": 1}
    assert len(Words.outputs) == 2  # the class attribute is not touched


def test_spec_of_a_bolt() -> None:
    words = Words.spec(name="words")
    spec = Count.spec("count", {words: Grouping.ALL, words["errors"]: Grouping.fields("reason")}, 2)
    component = spec.to_spec()
    assert component.parallelism == 2
    assert component.inputs == (
        InputSpec("words", "default", GroupingSpec(GroupingKind.ALL)),
        InputSpec("words", "errors", GroupingSpec(GroupingKind.FIELDS, ("reason",))),
    )


def test_inputs_in_a_list_are_shuffled() -> None:
    words = Words.spec(name="words")
    inputs = Count.spec("count", [words, GlobalStreamId("other", "x")]).to_spec().inputs
    shuffle = GroupingSpec(GroupingKind.SHUFFLE)
    assert inputs == (InputSpec("words", "default", shuffle), InputSpec("other", "x", shuffle))


def test_the_default_stream_may_be_declared_in_parts() -> None:
    spec = HeronComponentSpec("s", "m.S", True, 1, outputs=["a", Stream(["b"]), "c"])
    assert spec._sanitize_outputs() == {"default": ["a", "b", "c"]}
    assert HeronComponentSpec("s", "m.S", True, 1)._sanitize_outputs() is None


def test_config_values_arrive_by_herons_rules() -> None:
    # Heron writes 5 down as "5", and every string that looks like a number arrives as one.
    config = {"text": "0123", "int": 5, "flag": True, "none": None, "list": [1]}
    assert Words.spec(name="w", config=config).to_spec().config == {**config, "text": 123}
    assert HeronComponentSpec._sanitize_config(config) == {
        "text": "0123",
        "int": "5",
        "flag": "true",
        "none": None,
        "list": [1],
    }


def test_stream_ids_follow_the_name_their_component_gets_later() -> None:
    words = Words.spec()
    stream = words["errors"]
    assert words.uuid in stream.component_id
    assert stream == GlobalStreamId(words, "errors")
    words.name = "words"
    assert stream == GlobalStreamId("words", "errors")
    assert hash(stream) == hash(GlobalStreamId("words", "errors"))
    assert str(stream) == "words:errors"
    assert stream != "words:errors"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((1, "m.S", True, 1), "name of a component must be a string, not 1"),
        (("s", None, True, 1), "class path of a component must be a string, not None"),
        (("s", "m.S", 1, 1), "is_spout must be True or False, not 1"),
        (("s", "m.S", True, "1"), "s: par must be a whole number of at least 1, not '1'"),
        (("s", "m.S", True, 1.5), "s: par must be a whole number of at least 1, not 1.5"),
        (("s", "m.S", True, 0), "s: par must be a whole number of at least 1, not 0"),
        (("s", "m.S", True, True), "s: par must be a whole number of at least 1, not True"),
        ((None, "m.S", True, -1), "m.S: par must be a whole number of at least 1, not -1"),
        (("s", "m.S", True, 1, None, None, []), "spout 's': config must be a dict, not []"),
        (
            ("s", "m.S", True, 1, None, None, {1: 2}),
            "spout 's': keys of config must be strings, not 1",
        ),
    ],
)
def test_wrong_arguments_of_a_spec(arguments: tuple[Any, ...], message: str) -> None:
    # heronpy's own tests expect AssertionError, its documentation TypeError and ValueError.
    for expected in (AssertionError, TypeError, ValueError, TopologyError):
        with pytest.raises(expected) as caught:
            HeronComponentSpec(*arguments)
        assert str(caught.value) == message


@pytest.mark.parametrize(
    ("inputs", "expected", "message"),
    [
        ("words", TypeError, "bolt 'b': inputs must be a dict of component to grouping"),
        (
            [Words],
            ValueError,
            "bolt 'b': an input must be the result of spec(), add_spout() or add_bolt()",
        ),
        ({"words": 1}, ValueError, "bolt 'b': an input must be the result of spec(), add_spout()"),
        ([Words.spec()], RuntimeError, "bolt 'b': its input of class"),
        (
            {GlobalStreamId("w", "default"): "shuffle"},
            ValueError,
            "bolt 'b': grouping of input w:default must be Grouping.SHUFFLE, LOCAL_OR_SHUFFLE, ALL",
        ),
        (
            [GlobalStreamId("w", "s"), GlobalStreamId("w", "s")],
            ValueError,
            "bolt 'b': input w:s is given twice",
        ),
    ],
)
def test_wrong_inputs(inputs: Any, expected: type[Exception], message: str) -> None:
    with pytest.raises(expected) as caught:
        HeronComponentSpec("b", "m.B", False, 1, inputs=inputs)._sanitize_inputs()
    assert str(caught.value).startswith(message)


def test_wrong_outputs_are_found_when_spec_is_called() -> None:
    class Text(Spout):
        outputs = "word"

    class Number(Spout):
        outputs = ["word", 1]  # type: ignore[list-item]

    with pytest.raises(TypeError, match=r"Text: outputs must be a list .* not 'word'"):
        Text.spec()
    with pytest.raises(TypeError, match=r"Number: each of its outputs must be .*, not 1"):
        Number.spec()
    with pytest.raises(TypeError, match="Count: optional_outputs: outputs must be a list"):
        Count.spec(optional_outputs="word")


def test_an_unknown_stream_names_the_known_ones() -> None:
    with pytest.raises(ValueError, match="has no stream 'error'; it has: default, errors"):
        Words.spec(name="words")["error"]
    with pytest.raises(TypeError, match="componentId must be a component's name or its spec"):
        GlobalStreamId(1, "s")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="streamId must be a string, not 1"):
        GlobalStreamId("w", 1)  # type: ignore[arg-type]
    with pytest.raises(RuntimeError, match="has no name"):
        Words.spec().to_spec()
