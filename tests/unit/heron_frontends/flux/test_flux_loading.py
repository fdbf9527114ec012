"""Flux files that are right: what topology each of them is."""

import os
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from heron_api.class_loading import load_grouping
from heron_core.config.names import FLUX_RECIPE
from heron_core.errors import UsageError
from heron_core.topology import (
    GroupingKind,
    GroupingSpec,
    InputSpec,
    StreamSpec,
    topology_from_json,
    topology_to_json,
)
from heron_frontends.flux import load_flux
from heron_io.imports import users_path
from tests.unit.heron_frontends.flux.flux_texts import WORDS

Load = Callable[..., Any]
Write = Callable[[str, str], str]


def test_spouts_bolts_and_streams(load: Load, tmp_path: Path) -> None:
    topology = load()
    assert topology.name == "words"
    assert topology.main_file == str(tmp_path / "t.yaml")
    assert topology.search_paths == (str(tmp_path),)
    assert topology.defaults == {"topology.reliability.mode": "ATLEAST_ONCE"}
    lines, split, count = topology.components
    assert (lines.name, lines.is_spout, lines.class_path) == ("lines", True, "parts.Lines")
    assert lines.outputs == (StreamSpec("default", ("line",)),)
    assert split.outputs == (StreamSpec("default", ("word",)), StreamSpec("empty", ("line",)))
    assert split.inputs == (InputSpec("lines", "default", GroupingSpec(GroupingKind.SHUFFLE)),)
    assert (count.parallelism, count.is_spout, count.config) == (2, False, {})
    fields = GroupingSpec(GroupingKind.FIELDS, ("word",))
    assert count.inputs == (InputSpec("split", "default", fields),)
    assert topology_from_json(topology_to_json(topology)) == topology


def test_folders_of_code_beside_the_file_are_searched(write: Write, tmp_path: Path) -> None:
    write("src/words/__init__.py", "")
    write("src/words/parts.py", "from heronpy_compat import Spout\nclass S(Spout):\n outputs=['a']")
    write("topologies/readme.txt", "")
    path = write("t.yaml", "spouts:\n - {id: s, className: words.parts.S}")
    topology = load_flux(path)
    expected = [str(tmp_path), str(tmp_path / "src"), str(tmp_path / "topologies")]
    assert list(topology.search_paths) == users_path()[:3] == expected


@pytest.mark.parametrize(
    ("own", "wanted", "expected"),
    [("name: one", None, "one"), ("name: one", "one", "one"), ("", "two", "two"), ("", None, "t")],
)
def test_its_name(load: Load, own: str, wanted: str | None, expected: str) -> None:
    text = f"{own}\nspouts:\n  - {{id: s, className: parts.Lines}}"
    assert load(text, name=wanted).name == expected


@pytest.mark.parametrize("name", ["nowhere.yaml", "."])
def test_a_file_that_is_none(name: str) -> None:
    with pytest.raises(UsageError, match="name the YAML file"):
        load_flux(name)


def test_config_of_topology_and_components(load: Load) -> None:
    topology = load("""
        config:
          topology.workers: ${workers}
          own: [1, {a: b}]
          topology.max.spout.pending: null
          text: "${greeting}, ${ENV-HOME}"
          # ${this} stands in a comment
        spouts:
          - id: s
            className: parts.Lines
            config: {topology.tick.tuple.freq.secs: 5, topology.debug: }
        """, use_environment=True, workers="3", greeting="hello")  # fmt: skip
    home = os.environ["HOME"]
    assert topology.config == {
        "topology.workers": 3,
        "own": [1, {"a": "b"}],
        "text": f"hello, {home}",
    }
    assert topology.by_name["s"].config == {"topology.tick.tuple.freq.secs": 5}


def test_loads_are_carried_into_the_packing(load: Load) -> None:
    topology = load("""
        config: {topology.component.cpumap: "b:3"}
        spouts:
          - {id: a, className: parts.Lines, cpuLoad: 50, onHeapMemoryLoad: 100,
             offHeapMemoryLoad: 28, numTasks: 4, parallelism: 2}
          - {id: b, className: parts.Lines, cpuLoad: 200, offHeapMemoryLoad: 64}
        """)
    assert topology.config["topology.component.cpumap"] == "b:3,a:0.5"
    assert topology.config["topology.component.rammap"] == f"a:{128 * 1024 * 1024}"
    assert [each.parallelism for each in topology.components] == [4, 1]


@pytest.mark.parametrize(
    ("grouping", "expected"),
    [
        ("type: ALL", GroupingSpec(GroupingKind.ALL)),
        ("type: SHUFFLE, streamId: empty", GroupingSpec(GroupingKind.SHUFFLE)),
        ("type: local_or_shuffle", GroupingSpec(GroupingKind.LOCAL_OR_SHUFFLE)),
        ("type: GLOBAL", GroupingSpec(GroupingKind.GLOBAL)),
        ("type: NONE", GroupingSpec(GroupingKind.NONE)),
        ("type: FIELDS, args: [word]", GroupingSpec(GroupingKind.FIELDS, ("word",))),
        ("type: PARTIAL_KEY, args: [word]", GroupingSpec(GroupingKind.PARTIAL_KEY, ("word",))),
    ],
)
def test_groupings(load: Load, grouping: str, expected: GroupingSpec) -> None:
    topology = load(f"""
        spouts: [{{id: lines, className: parts.Lines}}]
        bolts:
          - {{id: split, className: parts.Split}}
          - {{id: count, className: parts.Count}}
        streams:
          - {{from: lines, to: split, grouping: {{type: SHUFFLE}}}}
          - {{from: split, to: count, grouping: {{{grouping}}}}}
        """)
    (found,) = topology.by_name["count"].inputs
    assert found.grouping == expected
    assert found.stream == ("empty" if "empty" in grouping else "default")


DIRECT = """
from heronpy_compat import Spout, Stream
class Chooser(Spout):
    outputs = [Stream(fields=["n"], direct=True)]
    def next_tuple(self):
        pass
"""


def test_direct_grouping(write: Write, load: Load) -> None:
    write("direct.py", DIRECT)
    topology = load("""
        spouts: [{id: s, className: direct.Chooser}]
        bolts: [{id: b, className: parts.Count}]
        streams: [{from: s, to: b, grouping: {type: DIRECT}}]
        """)
    assert topology.by_name["b"].inputs[0].grouping.kind is GroupingKind.DIRECT


CUSTOM = """
components:
  - {{id: key, className: org.apache.storm.tuple.Fields, constructorArgs: [line]}}
  - {{id: three, className: builtins.int, constructorArgs: [3]}}
spouts: [{{id: s, className: parts.Lines}}]
bolts: [{{id: b, className: parts.Count}}]
streams:
  - from: s
    to: b
    grouping: {{type: CUSTOM, customClass: {{className: {}}}}}
"""
PARTIAL_KEY = "grouping.PartialKeyGrouping"


def custom_grouping(load: Load, class_and_more: str) -> GroupingSpec:
    found: GroupingSpec = load(CUSTOM.format(class_and_more)).by_name["b"].inputs[0].grouping
    return found


@pytest.mark.parametrize(
    "args", ["", ", constructorArgs: [{ref: key}]", ", constructorArgs: [[line]]"]
)
def test_partial_key_grouping_is_built_in(load: Load, args: str) -> None:
    """Without fields it groups by the first one, as Storm's."""
    expected = GroupingSpec(GroupingKind.PARTIAL_KEY, ("line",))
    assert custom_grouping(load, f"org.apache.storm.{PARTIAL_KEY}{args}") == expected
    assert custom_grouping(load, f"backtype.storm.{PARTIAL_KEY}{args}") == expected


def test_a_custom_grouping_in_python(load: Load) -> None:
    grouping = custom_grouping(load, "parts.ByLength")
    assert grouping.custom is not None
    assert pickle.loads(grouping.custom) == "parts.ByLength"
    assert chosen(grouping, "abc") == [8]
    grouping = custom_grouping(load, "parts.ByLength, constructorArgs: [{ref: three}]")
    assert chosen(grouping, "abc") == [7]


def chosen(grouping: GroupingSpec, word: str) -> list[int]:
    assert grouping.custom is not None
    found = load_grouping(grouping.custom)
    found.prepare(None, "s", "default", [7, 8, 9])  # type: ignore[arg-type]
    return found.choose_tasks([word])


def test_what_a_component_is_made_of_travels_in_its_config(load: Load) -> None:
    topology = load("""
        components:
          - {id: used, className: parts.Filter, constructorArgs: [[a, b]]}
          - {id: unused, className: parts.Filter, factory: of_length, factoryArgs: [3]}
          - {id: top, className: parts.Filter, constructorArgs: [[], {ref: used}]}
        spouts: [{id: lines, className: parts.Lines, properties: [{name: path, value: x}]}]
        bolts:
          - id: split
            className: parts.Split
            constructorArgs: [";", {reflist: [top, used]}, {ref: used, more: 1}]
            configMethods: [{name: withFilter, args: [{ref: top}]}]
          - {id: count, className: parts.Count}
        streams:
          - {from: lines, to: split, grouping: {type: SHUFFLE}}
          - {from: split, to: count, grouping: {type: SHUFFLE}}
        """)
    recipe = topology.by_name["split"].config[FLUX_RECIPE]
    assert [each["id"] for each in recipe["objects"]] == ["used", "top"]
    assert recipe["objects"][0]["place"] == "t.yaml:3"
    assert recipe["object"]["args"] == [
        {"value": ";"},
        {"reflist": ["top", "used"]},
        {"value": {"ref": "used", "more": 1}},
    ]
    assert recipe["object"]["methods"] == [["withFilter", [{"ref": "top"}]]]
    assert topology.by_name["lines"].config[FLUX_RECIPE]["object"]["properties"] == [
        ["path", {"value": "x"}]
    ]
    assert FLUX_RECIPE not in topology.by_name["count"].config
    assert topology_from_json(topology_to_json(topology)) == topology


# Outputs of other APIs' classes

OTHERS = """
class Words:
    outputs = None
    config = {"topology.tick.tuple.freq.secs": 2}
    @classmethod
    def declare_output_fields(cls):
        return {"default": ["word"], "errors": ["line"]}
    def next_tuple(self):
        pass

class Named:
    outputs = None
    def process(self, tup):
        pass
"""


def test_outputs_that_a_method_declares(write: Write, load: Load) -> None:
    write("others.py", OTHERS)
    topology = load("""
        spouts: [{id: s, className: others.Words, config: {own: 1}}]
        bolts: [{id: b, className: others.Named}]
        streams: [{from: s, to: b, grouping: {type: SHUFFLE, streamId: errors}}]
        """)
    spout, bolt = topology.components
    assert spout.outputs == (StreamSpec("default", ("word",)), StreamSpec("errors", ("line",)))
    assert spout.config == {"topology.tick.tuple.freq.secs": 2, "own": 1}
    assert bolt.outputs == ()


# Includes


def test_includes_bring_what_is_not_there_yet(write: Write, load: Load, tmp_path: Path) -> None:
    write("shared/base.yaml", """
name: base
config: {own: from base, both: from base, ${key}: 1}
components:
  - {id: f, className: parts.Filter, constructorArgs: [[base]]}
spouts:
  - {id: lines, className: parts.Lines, parallelism: 5}
bolts:
  - {id: split, className: parts.Split, constructorArgs: [{ref: f}]}
streams:
  - {from: lines, to: split, grouping: {type: SHUFFLE}}
""")  # fmt: skip
    text = """
name: mine
config: {{both: mine}}
includes:
  - {{file: shared/base.yaml, override: {}}}
components:
  - {{id: f, className: parts.Filter, constructorArgs: [[mine]]}}
spouts:
  - {{id: lines, className: parts.Lines, parallelism: 2}}
"""
    kept = load(text.format("false"), key="extra")
    assert kept.name == "mine"
    assert kept.config == {"own": "from base", "both": "mine", "extra": 1}
    assert [(each.name, each.parallelism) for each in kept.components] == [
        ("lines", 2),
        ("split", 1),
    ]
    (made,) = kept.by_name["split"].config[FLUX_RECIPE]["objects"]
    assert made["args"] == [{"value": ["mine"]}]
    overridden = load(text.format("true"), key="extra")
    assert overridden.name == "base"
    assert overridden.config["both"] == "from base"
    assert overridden.by_name["lines"].parallelism == 5
    (made,) = overridden.by_name["split"].config[FLUX_RECIPE]["objects"]
    assert (made["args"], made["place"]) == ([{"value": ["base"]}], "shared/base.yaml:5")


def test_a_resource_is_looked_for_on_the_search_paths(write: Write, load: Load) -> None:
    write("src/configs/base.yaml", "spouts: [{id: s, className: parts.Lines}]")
    topology = load("includes: [{resource: true, file: /configs/base.yaml}]")
    assert [each.name for each in topology.components] == ["s"]


def test_a_stream_of_dead_letters_needs_no_declaration(load: Load) -> None:
    fields = "{type: FIELDS, args: [word]}"
    topology = load(WORDS.replace(fields, "{type: SHUFFLE, streamId: errors}"))
    (letters,) = topology.by_name["count"].inputs
    assert (letters.component, letters.stream) == ("split", "errors")
