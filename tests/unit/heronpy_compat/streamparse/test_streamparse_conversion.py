"""A topology written against streamparse, as the engine's value: expected results by Storm's
rules, worked out by hand. That the installed package gives the same is in test_both_packages."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from heron_api.class_loading import load_grouping
from heron_core import config as keys
from heron_core.errors import TopologyError
from heron_core.topology import GroupingKind, GroupingSpec, InputSpec, StreamSpec, TopologySpec
from heron_core.validation import problems
from heron_frontends.loading import streamparse_topology
from heron_frontends.loading.load import load_topology
from heronpy_compat.streamparse import (
    Bolt,
    Grouping,
    JavaBolt,
    JavaSpout,
    ShellSpout,
    Spout,
    Topology,
)
from heronpy_compat.streamparse.dsl.topology import TopologyType

TOPOLOGIES = Path(__file__).parent / "topologies"


class Words(Spout):
    outputs = ["word", "length"]


class Sink(Bolt):
    pass


class NoGrouping:
    pass


class Failing:
    choose_tasks = prepare = None

    def __init__(self, number: int) -> None:
        raise ValueError(f"not {number}")


def converted(environment: str | None = None, **members: Any) -> TopologySpec:
    """The class with these attributes as a TopologySpec called trial."""
    kind = TopologyType("Trial", (Topology,), members)
    return streamparse_topology.to_topology_spec(kind, "trial", environment)


def refusal(environment: str | None = None, **members: Any) -> str:
    with pytest.raises(TopologyError) as caught:
        converted(environment, **members)
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.fixture
def everything(fresh_imports: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[TopologySpec]:
    monkeypatch.setenv("HERONPY_STREAMPARSE", "builtin")
    finders = list(sys.meta_path)
    yield load_topology(str(TOPOLOGIES / "sp_everything.py"))
    sys.meta_path[:] = finders


def grouping_of(topology: TopologySpec, bolt: str, source: str) -> GroupingSpec:
    (found,) = (each for each in topology.by_name[bolt].inputs if each.component == source)
    return found.grouping


def test_everything_can_run(everything: TopologySpec) -> None:
    assert problems(everything) == []
    assert everything.name == "sp_everything"
    assert len(everything.components) == 17


def test_components(everything: TopologySpec) -> None:
    words = everything.by_name["words"]
    assert (words.class_path, words.is_spout, words.parallelism) == ("sp_components.Words", True, 4)
    assert words.outputs == (StreamSpec("default", ("word", "length")),)
    events = everything.by_name["all-events"]
    assert events.parallelism == 2
    assert events.outputs == (
        StreamSpec("default", ("user-id", "event")),
        StreamSpec("errors", ("reason",)),
    )
    assert everything.by_name["orders"].outputs == (StreamSpec("default", ("order",), True),)
    assert everything.by_name["inner"].class_path == "sp_components.Count.Inner"
    assert everything.by_name["single"].parallelism == 1
    assert everything.by_name["local"].parallelism == 3
    assert not everything.by_name["local"].is_spout


def test_groupings(everything: TopologySpec) -> None:
    fields = GroupingSpec(GroupingKind.FIELDS, ("word",))
    assert grouping_of(everything, "by_field", "words") == fields
    assert grouping_of(everything, "by_field", "all-events") == GroupingSpec(GroupingKind.ALL)
    assert grouping_of(everything, "by_list", "words").fields == ("word", "length")
    assert grouping_of(everything, "global_", "words") == GroupingSpec(GroupingKind.GLOBAL)
    assert grouping_of(everything, "local", "words").kind is GroupingKind.LOCAL_OR_SHUFFLE
    assert grouping_of(everything, "local", "all-events").kind is GroupingKind.NONE
    assert grouping_of(everything, "direct", "orders").kind is GroupingKind.DIRECT
    assert everything.by_name["shuffled"].inputs == (
        InputSpec("words", "default", GroupingSpec(GroupingKind.SHUFFLE)),
        InputSpec("all-events", "default", GroupingSpec(GroupingKind.SHUFFLE)),
        InputSpec("all-events", "errors", GroupingSpec(GroupingKind.SHUFFLE)),
        InputSpec("orders", "default", GroupingSpec(GroupingKind.DIRECT)),
    )


def test_storms_partial_key_grouping_goes_by_its_fields_or_by_the_first(
    everything: TopologySpec,
) -> None:
    partial = GroupingKind.PARTIAL_KEY
    assert grouping_of(everything, "partial", "words") == GroupingSpec(partial, ("word",))
    by_both = GroupingSpec(partial, ("user-id", "event"))
    assert grouping_of(everything, "partial", "all-events") == by_both


def test_a_custom_grouping_is_made_with_its_arguments(everything: TopologySpec) -> None:
    found = grouping_of(everything, "custom", "words")
    assert found.kind is GroupingKind.CUSTOM
    assert found.custom is not None
    grouping: Any = load_grouping(found.custom)
    assert (grouping.limit, grouping.label) == (3, "short")


def test_programs_and_java_classes(everything: TopologySpec) -> None:
    feed = everything.by_name["feed"]
    assert feed.class_path == "heron_frontends.adapters.multilang.ShellSpout"
    assert feed.config == {"heronpy.shell.command": ["node", "feed.js", "--fast", "two words"]}
    script = everything.by_name["script"]
    assert script.class_path == "heron_frontends.adapters.multilang.ShellBolt"
    assert script.config == {"heronpy.shell.command": ["./bolt"]}
    assert everything.by_name["printer"].class_path == "heron_frontends.components.Print"


def test_config(everything: TopologySpec) -> None:
    # Storm's null says that a key is not set.
    assert everything.config == {"topology.workers": 2, "own": [1, "a"]}
    assert everything.by_name["orders"].config == {"b": 1.5}
    assert everything.by_name["all-events"].config == {"topology.max.spout.pending": 7}


def test_tuples_are_tracked_unless_there_are_no_ackers(everything: TopologySpec) -> None:
    assert everything.defaults == {"topology.reliability.mode": "ATLEAST_ONCE"}

    def mode(**config: Any) -> str:
        settled = converted(words=Words.spec(), config=config.get("config", {})).with_config(
            config.get("extra", {}), config.get("below", {})
        )
        return keys.reliability(keys.with_defaults(settled.config))

    none = {keys.STORM_ACKERS: 0}
    assert mode() == "ATLEAST_ONCE"
    assert mode(config={keys.STORM_ACKERS: 3}) == "ATLEAST_ONCE"
    assert mode(config={keys.STORM_ACKERS: None}) == "ATLEAST_ONCE"
    assert [mode(config=none), mode(extra=none), mode(below=none)] == ["ATMOST_ONCE"] * 3


def test_a_class_that_streamparse_run_would_run_is_run_here(fresh_imports: None) -> None:
    spout = ShellSpout.spec(
        command="/opt/bin/streamparse_run", script="-s json a.b.C", outputs=["x"]
    )
    assert converted(spout=spout).by_name["spout"].class_path == "a.b.C"


def test_par_by_environment() -> None:
    members: dict[str, Any] = {"words": Words.spec(par={"beta": 1, "prod": 6})}
    assert converted("prod", **members).by_name["words"].parallelism == 6
    assert refusal(**members) == (
        "component 'words': par depends on the environment: name the environment with -e, "
        "one of beta, prod"
    )
    assert refusal("prood", **members) == (
        "component 'words': par has no number for environment 'prood'; did you mean 'prod'?"
        " (environments: beta, prod)"
    )


def test_java_that_only_storm_can_run() -> None:
    java = JavaSpout.spec(serialized_java=b"x", outputs=["a"])
    assert refusal(java=java) == (
        "component 'java' is a serialised Java object, which only Storm can run: write the "
        "component in Python, or use a shell component"
    )
    words = Words.spec()
    bolt = JavaBolt.spec(full_class_name="org.example.Mine", args_list=[], inputs=[words])
    assert refusal(words=words, bolt=bolt).startswith(
        "component 'bolt': Java class org.example.Mine has no equivalent here"
    )


@pytest.mark.parametrize(
    ("name", "args", "expected"),
    [
        (
            "org.example.Mine",
            [],
            (
                "a grouping in Java, org.example.Mine, cannot run here: write a"
                " Python class derived from ICustomGrouping and name it MODULE.CLASS"
            ),
        ),
        (
            "no_such.Mine",
            [],
            ("custom grouping 'no_such.Mine': module no_such not found (for class Mine)"),
        ),
        (
            f"{__name__}.NoGrouping",
            [],
            (
                f"{__name__}.NoGrouping is not a custom grouping, it has no"
                " prepare and no choose_tasks: derive it from ICustomGrouping"
            ),
        ),
        (f"{__name__}.Failing", [7], f"{__name__}.Failing cannot be made with [7]: "),
        (
            "org.apache.storm.grouping.PartialKeyGrouping",
            [7],
            "PartialKeyGrouping takes names of fields here, not [7]",
        ),
    ],
)
def test_custom_groupings_that_cannot_be(name: str, args: list[Any], expected: str) -> None:
    words = Words.spec()
    sink = Sink.spec(inputs={words: Grouping.custom_object(name, args)})
    found = refusal(words=words, sink=sink)
    assert found.startswith(f"component 'sink': input words:default: {expected}")


def test_a_serialised_grouping() -> None:
    words = Words.spec()
    sink = Sink.spec(inputs={words: Grouping.custom_serialized(b"x")})
    assert refusal(words=words, sink=sink) == (
        "component 'sink': input words:default has a grouping that is a serialised Java object,"
        " which only Storm can run: use Grouping.custom_object with a Python class derived from"
        " ICustomGrouping"
    )


def test_a_script_that_is_no_command_line() -> None:
    feed = ShellSpout.spec(command="node", script="it's", outputs=["a"])
    assert refusal(feed=feed) == "component 'feed': script \"it's\": No closing quotation"
