"""Shell components in Flux files, as people and as sparse write them."""

from collections.abc import Callable
from typing import Any

import pytest
import yaml

from heron_api.class_loading import load_class
from heron_core.topology import StreamSpec

Load = Callable[..., Any]
Refused = Callable[..., str]

SPOUT = "org.apache.storm.flux.wrappers.spouts.FluxShellSpout"
BOLT = "org.apache.storm.flux.wrappers.bolts.FluxShellBolt"


def test_shell_components(load: Load) -> None:
    topology = load(f"""
        spouts:
          - id: sentences
            className: {SPOUT}
            constructorArgs:
              - ["node", "random.js"]
              - ["sentence"]
            configMethods:
              - {{name: addComponentConfig, args: [rabbit.file, etc/rabbit.yml]}}
              - {{name: addComponentConfig, args: [paths, [a, b]]}}
              - {{name: setEnv, args: [{{LEVEL: 3}}]}}
              - {{name: setEnv, args: [{{WHO: me}}]}}
            config: {{paths: [c]}}
        bolts:
          - id: split
            className: {BOLT}
            constructorArgs: [[python3, split.py]]
            configMethods:
              - {{name: setDefaultStream, args: [[word]]}}
              - {{name: setNamedStream, args: [errors, [line, reason]]}}
        streams:
          - {{from: sentences, to: split, grouping: {{type: SHUFFLE}}}}
        """)
    spout, bolt = topology.components
    assert spout.class_path == "heron_frontends.adapters.multilang.ShellSpout"
    assert spout.outputs == (StreamSpec("default", ("sentence",)),)
    assert spout.config == {
        "heronpy.shell.command": ["node", "random.js"],
        "heronpy.shell.environment": {"LEVEL": "3", "WHO": "me"},
        "rabbit.file": "etc/rabbit.yml",
        "paths": ["c"],
    }
    assert bolt.class_path == "heron_frontends.adapters.multilang.ShellBolt"
    assert bolt.config == {"heronpy.shell.command": ["python3", "split.py"]}
    assert bolt.outputs == (
        StreamSpec("default", ("word",)),
        StreamSpec("errors", ("line", "reason")),
    )


STREAMPARSE = """
class Stream:
    def __init__(self, fields, name="default", direct=False):
        self.fields, self.name, self.direct = fields, name, direct

class Words:
    outputs = ["word"]
    def next_tuple(self):
        pass

class Count:
    outputs = ["word", "count", Stream(["word"], "rare", direct=True)]
    config = {"topology.tick.tuple.freq.secs": 1}
    def process(self, tup):
        pass
"""
BY_SPARSE = f"""
name: words
spouts:
  - id: word_spout
    className: {SPOUT}
    constructorArgs: [[streamparse_run, words.Words], [word]]
    parallelism: 1
bolts:
  - id: count_bolt
    className: {BOLT}
    constructorArgs: [[/env/bin/streamparse_run, "-s json words.Count"], [word, count]]
    configMethods:
      - {{name: setNamedStream, args: [rare, [word]]}}
      - {{name: addComponentConfig, args: [topology.tick.tuple.freq.secs, 5]}}
    parallelism: 2
  - id: sink
    className: {BOLT}
    constructorArgs: [[streamparse_run, -s, msgpack, words.Count],
                      [NONE_BUT_FLUX_WANTS_SOMETHING_HERE]]
streams:
  - {{from: word_spout, to: count_bolt, grouping: {{type: FIELDS, args: [word]}}}}
  - {{from: count_bolt, to: sink, grouping: {{type: DIRECT, streamId: rare}}}}
"""


def test_what_sparse_writes_runs_in_the_instance_itself(
    load: Load, write: Callable[[str, str], str]
) -> None:
    write("src/words.py", STREAMPARSE)
    spout, count, sink = load(BY_SPARSE).components
    assert (spout.class_path, spout.config) == ("words.Words", {})
    assert spout.outputs == (StreamSpec("default", ("word",)),)
    assert (count.class_path, count.parallelism) == ("words.Count", 2)
    assert count.config == {"topology.tick.tuple.freq.secs": 5}
    assert count.outputs == (
        StreamSpec("default", ("word", "count")),
        StreamSpec("rare", ("word",), direct=True),
    )
    assert (sink.class_path, sink.outputs) == ("words.Count", ())


PROJECT = """
from heronpy_compat.streamparse import Bolt, Grouping, Spout, Stream, Topology

class Words(Spout):
    outputs = ["word"]
    def next_tuple(self):
        pass

class Count(Bolt):
    outputs = [Stream(["word", "count"]), Stream(["word"], name="rare", direct=True)]
    config = {"topology.tick.tuple.freq.secs": 1}
    def process(self, tup):
        pass

class Sink(Bolt):
    def process(self, tup):
        pass

class WordCount(Topology):
    config = {"topology.workers": 2}
    words = Words.spec(par=3)
    count = Count.spec(inputs={words: Grouping.fields("word")}, par=2)
    sink = Sink.spec(inputs={words: Grouping.GLOBAL, count: Grouping.LOCAL_OR_SHUFFLE,
                             count["rare"]: Grouping.DIRECT})
"""


def test_a_topology_of_streamparse_is_the_same_by_way_of_flux(
    load: Load, write: Callable[[str, str], str]
) -> None:
    """sparse writes every topology as a Flux file before it submits it."""
    write("src/project.py", PROJECT)
    direct = load("name: words\ntopologySource: {className: project.WordCount}")
    flux = load_class("project.WordCount").to_flux_dict("words")  # type: ignore[attr-defined]
    found = load(yaml.safe_dump(flux))
    assert found.name == direct.name
    assert found.defaults == direct.defaults
    assert found.by_name.keys() == direct.by_name.keys() == {"words", "count", "sink"}
    for name, component in found.by_name.items():
        other = direct.by_name[name]
        assert component.class_path == other.class_path
        assert component.parallelism == other.parallelism
        assert component.config == other.config
        assert set(component.outputs) == set(other.outputs)
        assert set(component.inputs) == set(other.inputs)


def test_a_class_that_is_not_there(refused: Refused, write: Callable[[str, str], str]) -> None:
    write("src/words.py", STREAMPARSE.replace("Count", "Other"))
    assert refused(BY_SPARSE).startswith("t.yaml:9: 'count_bolt': module words has no class 'Count")


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ("constructorArgs: [python3, a.py]", "takes the command and the output fields"),
        ("constructorArgs: [[], [word]]", "takes the command and the output fields"),
        ("constructorArgs: [[a], [b], [c]]", "takes the command and the output fields"),
        ("constructorArgs: [[a, 1], [b]]", "takes the command and the output fields"),
        ("constructorArgs: [{ref: a}]", "takes no references here"),
        (
            "constructorArgs: [[a]], properties: [{name: x, value: 1}]",
            "a shell component has no properties, but configMethods: setDefaultStream,",
        ),
        (
            "constructorArgs: [[a]], configMethods: [{name: setNamedStreams}]",
            "no configMethod 'setNamedStreams'; did you mean 'setNamedStream'?",
        ),
        (
            "constructorArgs: [[a]], configMethods: [{name: setNamedStream, args: [[b], c]}]",
            "setNamedStream takes a text and a list of fields, not [['b'], 'c']",
        ),
        (
            "constructorArgs: [[a]], configMethods: [{name: setDefaultStream, args: [[1]]}]",
            "setDefaultStream: a field is a text, not 1",
        ),
        (
            "constructorArgs: [[a]], configMethods: [{name: setEnv, args: [{ref: a}]}]",
            "setEnv takes a mapping, not []",
        ),
    ],
)
def test_mistakes_of_shell_components(refused: Refused, more: str, expected: str) -> None:
    line = refused(f"spouts:\n  - {{id: s, className: {SPOUT}, {more}}}\n")
    assert line.startswith("t.yaml:2: ")
    assert expected in line


def test_a_shell_without_outputs_is_told_of(refused: Refused) -> None:
    line = refused(f"spouts:\n  - {{id: s, className: {SPOUT}, constructorArgs: [[a]]}}\n")
    assert line.startswith("t.yaml:2: spout 's' has no outputs")
