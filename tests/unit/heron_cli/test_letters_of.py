"""Letters are sent again only where the topology looks for them."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from heron_cli.letters_of import location_of, refuse_replay, running_spec, unsendable
from heron_cli.options.find_topology import StoreOptions, Target
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
from heron_engine.scheduler.user_folder import Home
from heron_spark.backend.foreground import ForegroundQuery, announce, query_of


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
        "letter 5f: the failed call process_tick of count had no tuple to replay"
    )
    row = letter("count", "", ["word"], ["a"])
    assert unsendable("t", spec, row).endswith("the letter does not name its input")
    gone = letter("sum", "words", ["word"], ["a"])
    assert unsendable("t", spec, gone) == "letter 5f: sum does not read words.default in t"


def target() -> Target:
    return Target("t", StoreOptions())


def test_the_letters_of_a_query_in_the_foreground_are_found_by_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While it runs, and after its end, be it killed; sent again only while it runs."""
    monkeypatch.setenv("HERONPY_HOME", str(tmp_path))
    home, letters = Home.of_user(), FileTarget(str(tmp_path / "letters"))
    with pytest.raises(HeronError, match="no topology called 't' is running"):
        location_of(target(), "t")
    announce(home, with_letters_in(f"file:{letters.folder}"))
    found, config = location_of(target(), "t")
    assert found == letters
    assert config["topology.dead.letter"] == f"file:{letters.folder}"
    refuse_replay("t", running_spec(target(), "t"), letters)
    assert os.stat(home.query_file("t")).st_mode & 0o077 == 0

    child = os.fork()
    if child == 0:
        announce(home, with_letters_in(f"file:{letters.folder}"))
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    assert location_of(target(), "t")[0] == letters
    with pytest.raises(HeronError, match="t has ended: letters are sent again while"):
        running_spec(target(), "t")


def test_the_next_run_of_a_name_counts_for_its_letters(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HERONPY_HOME", str(tmp_path))
    home = Home.of_user()
    announce(home, with_letters_in("file:/first"))
    announce(home, topology())
    with pytest.raises(HeronError, match="t keeps no dead letters: start it with"):
        location_of(target(), "t")
    home.clean_logs("t")  # a run on processes begins
    assert query_of(home, "t") is None


def test_a_damaged_note_of_a_query_is_named(tmp_path: Path) -> None:
    home = Home(str(tmp_path))
    announce(home, topology())
    path = Path(home.query_file("t"))
    assert query_of(home, "t") == ForegroundQuery(topology(), os.getpid(), _started(path))
    for text in ("{", "{}", "[]"):
        path.write_text(text)
        with pytest.raises(HeronError, match=r"query\.json cannot be read: .*; delete the file"):
            query_of(home, "t")


def _started(path: Path) -> str:
    started: str = json.loads(path.read_text())["started"]
    return started
