"""Java components by name: what stands for them, or what to do."""

from typing import Any

import pytest

from heron_api.class_loading import load_class
from heron_core.errors import TopologyError
from heron_core.topology import StreamSpec
from heron_frontends.components import Fields, java
from heron_frontends.components.java import resolve

STORM = "org.apache.storm."


@pytest.mark.parametrize(
    ("name", "args", "is_spout", "outputs"),
    [
        ("testing.TestWordSpout", [], True, ["word"]),
        ("testing.TestWordSpout", [True], True, ["word"]),
        ("testing.TestWordCounter", [], False, ["word", "count"]),
        ("testing.TestGlobalCount", [], False, ["global-count"]),
        ("testing.TestAggregatesCounter", [], False, ["agg-global"]),
        ("flux.wrappers.bolts.LogInfoBolt", [], False, []),
        ("starter.bolt.PrinterBolt", [], False, []),
        ("starter.WordCountTopology$WordCount", [], False, ["word", "count"]),
        ("starter.WordCountTopology$SplitSentence", [], False, ["word"]),
        ("starter.spout.RandomSentenceSpout", [], True, ["word"]),
        ("starter.spout.RandomIntegerSpout", [], True, ["value", "ts", "msgid"]),
        ("perf.spout.FileReadSpout", ["a.txt"], True, ["sentence"]),
        ("perf.bolt.DevNullBolt", [], False, []),
    ],
)
def test_well_known_components(name: str, args: list[Any], is_spout: bool, outputs: Any) -> None:
    class_path, config, declared = resolve(STORM + name, args, is_spout, "c")
    kind: Any = load_class(class_path)
    assert hasattr(kind, "next_tuple") is is_spout
    own = getattr(kind, "outputs", [])
    found = own if declared is None else list(declared[0].fields)
    assert found == outputs
    assert all(isinstance(key, str) for key in config)


@pytest.mark.parametrize(
    "name",
    [
        "org.apache.storm.starter.spout.RandomSentenceSpout",
        "storm.starter.spout.RandomSentenceSpout",
        "backtype.storm.starter.spout.RandomSentenceSpout",
    ],
)
def test_old_packages(name: str) -> None:
    assert java.is_known(name)
    class_path, config, outputs = resolve(name, [], True, "c")
    assert class_path == "heron_frontends.components.RandomWords"
    assert len(config["library.random.words"]) == 5
    assert outputs is None


def test_settings_of_constructors() -> None:
    _, config, outputs = resolve("org.apache.storm.perf.spout.FileReadSpout", ["x"], True, "c")
    assert config == {"library.file.path": "x"}
    assert outputs == [StreamSpec("default", ("sentence",))]
    _, config, _ = resolve("backtype.storm.testing.TestWordSpout", [False], True, "c")
    assert config == {"topology.max.task.parallelism": 1}


@pytest.mark.parametrize(
    ("name", "args", "is_spout", "command", "outputs"),
    [
        ("flux.wrappers.bolts.FluxShellBolt", [["a", "b"], ["x"]], False, ["a", "b"], ["x"]),
        ("flux.wrappers.bolts.FluxShellBolt", [["a"]], False, ["a"], None),
        ("flux.wrappers.bolts.FluxShellBolt", [["a"], [java.NO_OUTPUTS]], False, ["a"], []),
        ("flux.wrappers.spouts.FluxShellSpout", [("a",), ("x", "y")], True, ["a"], ["x", "y"]),
        ("task.ShellBolt", ["python3", "a.py"], False, ["python3", "a.py"], None),
        ("spout.ShellSpout", [["python3", "a.py"]], True, ["python3", "a.py"], None),
    ],
)
def test_shells(name: str, args: Any, is_spout: bool, command: Any, outputs: Any) -> None:
    class_path, config, found = resolve(STORM + name, args, is_spout, "c")
    kind = "Spout" if is_spout else "Bolt"
    assert class_path == f"heron_frontends.adapters.multilang.Shell{kind}"
    assert config == {"heronpy.shell.command": command}
    assert found == (outputs and [StreamSpec("default", tuple(outputs))])


@pytest.mark.parametrize(
    ("name", "args", "is_spout", "expected"),
    [
        ("kafka.KafkaSpout", [], True, "component 'c': Java class org.apache.storm.kafka.Kaf"),
        ("kafka.KafkaSpout", [], True, "heronpy_compat.connectors.kafka.KafkaSpout"),
        ("cassandra.Sink", [], True, "docs/PORTING.md, Java classes in a JVM"),
        ("bolts.LogInfoBolt", [], False, f"did you mean {STORM}flux.wrappers.bolts.LogInfoBolt?"),
        ("testing.TestWordSpout", [], False, "TestWordSpout is a spout, not a bolt"),
        ("task.ShellBolt", ["a"], True, "ShellBolt is a bolt, not a spout"),
        ("testing.TestWordSpout", ["yes"], True, "takes true, false or nothing, not ['yes']"),
        ("testing.TestWordCounter", [1], False, "takes no arguments, not [1]"),
        ("perf.spout.FileReadSpout", [], True, "takes one argument, the path of the file"),
        ("starter.spout.RandomSentenceSpout", [1], True, "takes no arguments"),
        ("flux.wrappers.bolts.FluxShellBolt", ["a", ["x"]], False, "takes the command and"),
        ("flux.wrappers.bolts.FluxShellBolt", [], False, "takes the command and"),
    ],
)
def test_what_cannot_be(name: str, args: list[Any], is_spout: bool, expected: str) -> None:
    with pytest.raises(TopologyError) as caught:
        resolve(STORM + name, args, is_spout, "c")
    assert expected in str(caught.value)
    assert "'c'" in str(caught.value)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("com.acme.Bolt", True),
        ("storm.kafka.KafkaSpout", True),
        ("words.Outer$Inner", True),
        ("words.bolts.Count", False),
        ("community.Bolt", False),
    ],
)
def test_what_looks_like_java(name: str, expected: bool) -> None:
    assert java.resembles_java(name) is expected


def test_fields() -> None:
    path = java.value_class("backtype.storm.tuple.Fields")
    assert path is not None
    assert load_class(path) is Fields
    assert Fields("a", "b") == Fields(["a", "b"]) == ("a", "b")
    assert java.value_class("org.apache.storm.tuple.Values") is None
