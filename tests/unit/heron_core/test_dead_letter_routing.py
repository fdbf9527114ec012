"""What `topology.dead.letter` makes of a topology."""

from typing import Any

import pytest

from heron_core import validation
from heron_core.config import DEAD_LETTER
from heron_core.dead_letter_target import BoltTarget, FileTarget, KafkaTarget, target_of
from heron_core.dead_letters import (
    ERRORS,
    FIELDS,
    REPLAYED,
    SINK,
    STREAM,
    has_letters,
    origin_of,
    replay_stream,
    routed,
)
from heron_core.errors import TopologyError
from heron_core.records import replace
from heron_core.topology import (
    ComponentSpec,
    GroupingKind,
    GroupingSpec,
    InputSpec,
    StreamSpec,
    TopologySpec,
)

SHUFFLE = GroupingSpec(GroupingKind.SHUFFLE)
BY_WORD = GroupingSpec(GroupingKind.FIELDS, ("word",))
WORDS = StreamSpec("default", ("word",), types=("string",))


def topology(dead_letter: str | None = None, *more: ComponentSpec) -> TopologySpec:
    """words -> split -> count"""
    config: dict[str, Any] = {} if dead_letter is None else {DEAD_LETTER: dead_letter}
    return TopologySpec(
        "t",
        (
            ComponentSpec("words", True, "m.Words", 1, (WORDS,)),
            bolt("split", "words", (WORDS,)),
            bolt("count", "split", (), BY_WORD),
            *more,
        ),
        config,
    )


def bolt(
    name: str,
    source: str,
    outputs: tuple[StreamSpec, ...] = (),
    grouping: GroupingSpec = SHUFFLE,
    stream: str = "default",
) -> ComponentSpec:
    inputs = (InputSpec(source, stream, grouping),)
    return ComponentSpec(name, False, f"m.{name}", 1, outputs, inputs)


def made(spec: TopologySpec) -> TopologySpec:
    found = routed(spec, lambda path: f"/here/{path}")
    validation.check(found)
    return found


@pytest.mark.parametrize(
    ("text", "target"),
    [
        ("file:out/letters", FileTarget("out/letters")),
        ("kafka:letters@a:9092,b:9092", KafkaTarget("letters", "a:9092,b:9092")),
        ("mourn", BoltTarget("mourn")),
        (None, None),
    ],
)
def test_a_user_names_a_folder_a_topic_or_a_bolt(text: str | None, target: Any) -> None:
    assert target_of({DEAD_LETTER: text}, DEAD_LETTER) == target


@pytest.mark.parametrize("text", ["file:", "kafka:letters", "kafka:@a:1", "", 7, "s3://x"])
def test_what_is_none_of_them_is_refused_with_the_choices(text: Any) -> None:
    with pytest.raises(TopologyError, match=f"{DEAD_LETTER} must be file:FOLDER, kafka:"):
        target_of({DEAD_LETTER: text}, DEAD_LETTER)
    assert validation.problems(topology(text))


def test_nothing_changes_without_the_setting() -> None:
    assert made(topology()) == topology()
    assert not has_letters(topology(), "count")


def test_every_component_sends_its_letters_into_the_folder() -> None:
    spec = made(topology("file:letters"))
    sink = spec.by_name[SINK]
    assert [(each.component, each.stream) for each in sink.inputs] == [
        (name, ERRORS) for name in ("words", "split", "count")
    ]
    assert sink.config == {"file.folder": "/here/letters"}
    assert all(has_letters(spec, name) for name in ("words", "split", "count"))
    assert spec.by_name["count"].stream(ERRORS) == StreamSpec(ERRORS, FIELDS)
    assert spec.config[DEAD_LETTER] == "file:/here/letters"


def test_the_sink_and_the_replays_make_no_letters() -> None:
    spec = made(topology("file:letters"))
    assert not has_letters(spec, SINK)
    assert not has_letters(spec, REPLAYED)


def test_the_same_twice_changes_nothing() -> None:
    once = made(topology("file:letters"))
    assert routed(once, lambda path: path) == once


def test_a_letter_comes_again_as_its_tuple_came() -> None:
    spec = made(topology("file:letters"))
    name = replay_stream("count", "split", "default")
    assert origin_of(name) == ("split", "default")
    assert spec.by_name[REPLAYED].stream(name) == replace(WORDS, name=name)
    assert InputSpec(REPLAYED, name, BY_WORD) in spec.by_name["count"].inputs
    assert {each.component for each in spec.by_name["split"].inputs} == {"words", REPLAYED}


def test_letters_go_into_a_topic_of_kafka() -> None:
    spec = made(topology("kafka:letters@broker:9092"))
    expected = {"kafka.topic": "letters", "kafka.bootstrap.servers": "broker:9092"}
    assert spec.by_name[SINK].config == expected
    assert spec.by_name[REPLAYED].config == expected


def test_a_bolt_of_the_topology_gets_the_letters_and_nothing_behind_it_makes_any() -> None:
    mourn, tell = bolt("mourn", "split", (WORDS,)), bolt("tell", "mourn")
    spec = made(topology("mourn", mourn, tell))
    assert [(each.component, each.stream) for each in spec.by_name["mourn"].inputs] == [
        ("split", "default"), ("words", ERRORS), ("split", ERRORS), ("count", ERRORS),
    ]  # fmt: skip
    assert [name for name in spec.by_name if has_letters(spec, name)] == ["words", "split", "count"]
    validation.check_native(replace(spec, config={"topology.reliability.mode": "EFFECTIVELY_ONCE"}))


def test_a_bolt_that_is_none_is_named_with_those_there_are() -> None:
    with pytest.raises(TopologyError, match=r"'letters' is not a bolt .*split, count.*file:le"):
        made(topology("letters"))
    with pytest.raises(TopologyError, match="not a bolt of the topology"):
        made(topology("words"))


def test_the_setting_in_the_config_of_a_component_is_refused_with_the_cure() -> None:
    odd = replace(bolt("odd", "words"), config={DEAD_LETTER: "file:letters"})
    with pytest.raises(TopologyError, match=r"config of odd: .*inputs=\{odd\['errors'\]"):
        made(topology(None, odd))


def test_a_bolt_may_read_the_letters_of_one_component() -> None:
    spec = made(topology(None, bolt("mourn", "count", stream=ERRORS)))
    assert has_letters(spec, "count")
    assert not has_letters(spec, "split")
    assert spec.by_name["count"].outputs == (STREAM,)


def test_a_stream_of_that_name_which_a_user_declared_stays_the_users() -> None:
    own = bolt("odd", "words", (StreamSpec(ERRORS, ("reason",)),))
    reader = bolt("reader", "odd", stream=ERRORS)
    assert made(topology(None, own, reader)) == topology(None, own, reader)
    assert not has_letters(topology(None, own, reader), "odd")
    with pytest.raises(TopologyError, match="odd declares its own stream 'errors'"):
        made(topology("file:letters", own, reader))
