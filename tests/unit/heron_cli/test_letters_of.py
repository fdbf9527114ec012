"""Letters are sent again only where the topology looks for them."""

from pathlib import Path
from typing import Any

import pytest

from heron_cli.letters_of import refuse_replay, unsendable
from heron_core.dead_letter_target import FileTarget, KafkaTarget
from heron_core.dead_letters import routed
from heron_core.errors import HeronError
from heron_core.topology import (
    ComponentSpec,
    GroupingKind,
    GroupingSpec,
    InputSpec,
    StreamSpec,
    TopologySpec,
)


def topology(dead_letter: str | None = None) -> TopologySpec:
    """words -> count"""
    inputs = (InputSpec("words", "default", GroupingSpec(GroupingKind.SHUFFLE)),)
    words = ComponentSpec("words", True, "m.Words", 1, (StreamSpec("default", ("word",)),))
    count = ComponentSpec("count", False, "m.Count", 1, (), inputs)
    config = {} if dead_letter is None else {"topology.dead.letter": dead_letter}
    return TopologySpec("t", (words, count), config)


def with_letters_in(target: str) -> TopologySpec:
    return routed(topology(target), lambda path: path)


def test_a_folder_that_the_topology_does_not_read_is_refused(tmp_path: Path) -> None:
    own, other, link = (tmp_path / each for each in ("own", "other", "link"))
    own.mkdir()
    link.symlink_to(own)
    spec = with_letters_in(f"file:{own}")
    refuse_replay("t", spec, FileTarget(str(link)))
    with pytest.raises(HeronError, match=f"t looks for letters to send again in {own}, not in"):
        refuse_replay("t", spec, FileTarget(str(other)))
    mounted_there = with_letters_in("file:/of/another/machine")
    refuse_replay("t", mounted_there, FileTarget(str(other)))


def test_a_folder_is_refused_where_letters_are_in_a_topic() -> None:
    spec = with_letters_in("kafka:letters@broker:9092")
    refuse_replay("t", spec, KafkaTarget("letters", "broker:9092"))
    with pytest.raises(HeronError, match="in topic letters of Kafka at broker:9092, not in out"):
        refuse_replay("t", spec, FileTarget("out"))


def test_a_topology_without_letters_or_with_a_bolt_for_them_sends_none_again() -> None:
    for spec in (topology(), routed(topology("count"), lambda path: path)):
        with pytest.raises(HeronError, match="it was not started with topology"):
            refuse_replay("t", spec, FileTarget("out"))


def letter(component: str, source: str, fields: list[str], values: list[Any]) -> dict[str, Any]:
    stream = "default" if source else ""
    named = {"component": component, "source": source, "stream": stream}
    return {"id": "5f", **named, "fields": fields, "values": values}


def test_a_letter_that_has_no_tuple_says_why_it_cannot_be_sent_again() -> None:
    spec = topology()
    assert unsendable("t", spec, letter("count", "words", ["word"], ["a"])) == ""
    assert unsendable("t", spec, letter("words", "words", ["word"], ["a"])) == "", "by its source"
    call = letter("count", "", ["call", "about"], ["process_tick", ""])
    assert unsendable("t", spec, call) == (
        "letter 5f: it is of a call of count (process_tick), which has no tuple"
    )
    row = letter("count", "", ["word"], ["a"])
    assert unsendable("t", spec, row).endswith("its letter does not say of which one it was")
    gone = letter("sum", "words", ["word"], ["a"])
    assert unsendable("t", spec, gone) == "letter 5f: sum does not read words.default in t"
