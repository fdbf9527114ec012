"""From Storm's Thrift topology to the Flux document that runs as it."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from heron_core.config.names import SHELL_COMMAND
from heron_core.errors import TopologyError
from heron_core.topology import GroupingKind, TopologySpec
from heron_frontends.flux import load_flux
from heron_tracker.nimbus.answers import user_topology
from heron_tracker.nimbus.flux_document import flux_document, needs_code, parse_config
from heronpy_compat.streamparse.thrift import (
    Bolt,
    ComponentCommon,
    ComponentObject,
    GlobalStreamId,
    Grouping,
    JavaObject,
    JavaObjectArg,
    NullStruct,
    ShellComponent,
    SpoutSpec,
    StormTopology,
    StreamInfo,
)
from tests.unit.heron_tracker.nimbus.nimbus_support import storm_topology
from tests.unit.heron_tracker.tracker_support import SPEC

NODE = ComponentObject(shell=ShellComponent("node", "count.js --fast 'a b'"))


def loaded(document: dict[str, Any], tmp_path: Path) -> TopologySpec:
    """What Flux makes of a document."""
    path = tmp_path / "topology.yaml"
    path.write_text(yaml.safe_dump(document), "utf-8")
    return load_flux(str(path))


def with_bolt(runs: ComponentObject, *groupings: Grouping, **common: Any) -> StormTopology:
    """A topology of programs: a bolt with these groupings reads as many streams of a spout."""
    streams = {f"s{number}": StreamInfo(["word"], True) for number, _ in enumerate(groupings)}
    inputs = {
        GlobalStreamId("spout", f"s{number}"): grouping for number, grouping in enumerate(groupings)
    }
    return StormTopology(
        spouts={"spout": SpoutSpec(NODE, ComponentCommon({}, streams))},
        bolts={"bolt": Bolt(runs, ComponentCommon(inputs, **common))},
        state_spouts={},
    )


def test_a_project_of_sparse_is_shells() -> None:
    """Nulls of configs are left out, and what sparse notes for itself."""
    document = flux_document(
        "words", storm_topology(), {"topology.workers": 2, "sudo_user": "me", "x": None}
    )
    assert document["config"] == {"topology.workers": 2}
    (spout,), (bolt,) = document["spouts"], document["bolts"]
    assert spout["constructorArgs"] == [["streamparse_run", "-s", "json", "words.Words"], ["word"]]
    assert (spout["parallelism"], spout["config"]) == (1, {})
    assert bolt["configMethods"] == [{"name": "setDirectStream", "args": ["rare", ["word"]]}]
    assert (bolt["parallelism"], bolt["config"]) == (2, {"topology.tick.tuple.freq.secs": 3})
    (stream,) = document["streams"]
    assert stream["grouping"] == {"streamId": "default", "type": "FIELDS", "args": ["word"]}


def test_every_grouping_comes_through_flux(tmp_path: Path) -> None:
    """In the order of Storm's union."""
    groupings = [
        Grouping(fields=["word"]), Grouping(fields=[]), Grouping(shuffle=NullStruct()),
        Grouping(all=NullStruct()), Grouping(none=NullStruct()), Grouping(direct=NullStruct()),
        Grouping(local_or_shuffle=NullStruct()),
    ]  # fmt: skip
    topology = with_bolt(NODE, *groupings)
    topology.spouts["spout"].common.streams["s0"] = StreamInfo(["word"], False)
    for number in (1, 2, 3, 4, 6):
        topology.spouts["spout"].common.streams[f"s{number}"].direct = False
    spec = loaded(flux_document("words", topology, {}), tmp_path)
    assert [each.grouping.kind for each in spec.by_name["bolt"].inputs] == [
        GroupingKind.FIELDS, GroupingKind.GLOBAL, GroupingKind.SHUFFLE, GroupingKind.ALL,
        GroupingKind.NONE, GroupingKind.DIRECT, GroupingKind.LOCAL_OR_SHUFFLE,
    ]  # fmt: skip
    assert [each.direct for each in spec.by_name["spout"].outputs] == [
        number == 5 for number in range(7)
    ]
    assert spec.by_name["spout"].config[SHELL_COMMAND] == [
        "node", "count.js", "--fast", "a b"
    ]  # fmt: skip


def test_a_class_of_java_with_an_equivalent_runs(tmp_path: Path) -> None:
    """As in a Flux file."""
    java = JavaObject("org.apache.storm.testing.TestWordSpout", [JavaObjectArg(bool_arg=True)])
    spout = SpoutSpec(ComponentObject(java_object=java), ComponentCommon())
    topology = StormTopology(spouts={"spout": spout}, bolts={}, state_spouts={})
    spec = loaded(flux_document("words", topology, {}), tmp_path)
    assert spec.by_name["spout"].class_path.startswith("heron_frontends.components.")
    assert not needs_code(topology)


def test_an_unknown_class_of_java_is_one_line(tmp_path: Path) -> None:
    """Flux says what there is."""
    java = ComponentObject(java_object=JavaObject("com.example.CountBolt", []))
    with pytest.raises(TopologyError, match=r"com\.example\.CountBolt"):
        loaded(flux_document("words", with_bolt(java), {}), tmp_path)


@pytest.mark.parametrize(
    ("topology", "line"),
    [
        (with_bolt(ComponentObject(serialized_java=b"x")), "'bolt' is a serialised Java object"),
        (with_bolt(ComponentObject()), "'bolt' is a serialised Java object"),
        (with_bolt(NODE, Grouping(custom_serialized=b"x")), "a grouping that is a serialised Java"),
        (with_bolt(NODE, Grouping()), "a grouping that is a serialised Java"),
        (with_bolt(NODE, parallelism_hint=0), "its parallelism is 0, and not 1 or more"),
        (with_bolt(NODE, json_conf="[1]"), "the config is not an object of JSON"),
        (with_bolt(ComponentObject(shell=ShellComponent("", "x"))), "a program without a command"),
        (with_bolt(ComponentObject(shell=ShellComponent("a", "'"))), "No closing quotation"),
        (StormTopology(spouts={}, bolts={}), "words has no spout"),
        (StormTopology(spouts={"a": SpoutSpec()}), "'a' does not say what it reads and emits"),
        (StormTopology(spouts={"a": SpoutSpec(None, ComponentCommon())}), "what runs it"),
        (StormTopology(worker_hooks=[b"x"]), "words has worker hooks, which are Java objects"),
        (StormTopology(dependency_jars=["x"]), "words has dependency jars"),
        (StormTopology(state_spouts={"a": SpoutSpec()}), "words has state spouts"),
    ],
)
def test_what_only_storm_can_run_is_named(topology: StormTopology, line: str) -> None:
    with pytest.raises(TopologyError, match=line):
        flux_document("words", topology, {})


def test_a_config_that_is_nested_too_deep_is_an_error() -> None:
    with pytest.raises(TopologyError, match="the config is not JSON"):
        parse_config("[" * 100_000)


def test_a_topology_of_ours_is_told_and_comes_back() -> None:
    """What a client reads of a topology, another Nimbus could take."""
    document = flux_document("words", user_topology(SPEC), {})
    assert [each["id"] for each in document["bolts"]] == ["split", "count"]
    assert document["streams"][1]["grouping"]["args"] == ["word"]
