"""Topology classes and the builder: what they accept, refuse and hand to the engine."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import heronpy_compat
from heron_api import api_constants
from heron_api.bolt.bolt import Bolt
from heron_api.component.component_spec import HeronComponentSpec
from heron_api.spout.spout import Spout
from heron_api.stream import Grouping, Stream
from heron_api.submissions import capture_submissions
from heron_api.topology import Topology, TopologyBuilder, TopologyType
from heron_core.errors import TopologyError, UsageError
from heron_core.topology import topology_from_json


class Words(Spout):
    outputs = ["word", Stream(["reason"], name="errors")]


class Count(Bolt):
    outputs = ["word", "count"]


@pytest.fixture(autouse=True)
def _no_heron_options(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HERON_OPTIONS", raising=False)


def word_count_builder(name: str = "WordCount") -> TopologyBuilder:
    builder = TopologyBuilder(name)
    words = builder.add_spout("words", Words, 1)
    builder.add_bolt("count", Count, 2, inputs={words: Grouping.fields("word")}, config={"a": 1})
    builder.set_config({"b": "0123"})
    return builder


def test_a_class_body_is_a_topology() -> None:
    class WordCount(Topology):
        config = {"topology.stmgrs": 2, "mine": "0123"}
        words = Words.spec(par=3)
        count = Count.spec(inputs={words: Grouping.SHUFFLE, words["errors"]: Grouping.ALL})

    assert WordCount.topology_name == "WordCount"
    assert WordCount.topology_id.startswith("WordCount")
    assert [spec.name for spec in WordCount._heron_specs] == ["words", "count"]
    assert WordCount._topo_config["topology.stmgrs"] == "2"
    assert WordCount._topo_config["topology.debug"] == "false"
    spec = WordCount.to_spec()
    assert (spec.name, spec.config) == ("WordCount", {"topology.stmgrs": 2, "mine": 123})
    assert [each.name for each in spec.components] == ["words", "count"]
    assert spec.by_name["words"].parallelism == 3
    assert [(each.component, each.stream) for each in spec.by_name["count"].inputs] == [
        ("words", "default"),
        ("words", "errors"),
    ]


def test_a_derived_topology_inherits_components_and_config() -> None:
    # One topology for production, the same with another spout for a trial.
    class Base(Topology):
        config = {"a": 1}
        words = Words.spec()
        count = Count.spec(inputs=[words])

    class Trial(Base):
        words = Words.spec(par=2)

    spec = Trial.to_spec()
    assert spec.config == {"a": 1}
    assert [(each.name, each.parallelism) for each in spec.components] == [
        ("words", 2),
        ("count", 1),
    ]
    assert Base.to_spec().by_name["words"].parallelism == 1


def test_the_builder_submits_what_a_class_would() -> None:
    with capture_submissions() as submitted:
        word_count_builder().build_and_submit()
    (spec,) = submitted
    assert spec.name == "WordCount"
    assert spec.config == {"b": 123}
    assert spec.by_name["count"].config == {"a": 1}


def test_component_names_may_be_those_of_topology_methods() -> None:
    # heronpy's builder breaks on a component called "write".
    builder = TopologyBuilder("Names")
    words = builder.add_spout("write", Words, 1)
    builder.add_bolt("to_spec", Count, 1, inputs=[words])
    with capture_submissions() as submitted:
        builder.build_and_submit()
    assert list(submitted[0].by_name) == ["write", "to_spec"]


def test_a_program_that_nothing_loads_says_how_to_start_it() -> None:
    with pytest.raises(UsageError, match="start the topology with `heronpy run FILE`"):
        word_count_builder().build_and_submit()


def test_herons_submitter_gets_its_definition_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = f"cmdline.topologydefn.tmpdirectory={tmp_path},cmdline.topology.name=Mine"
    monkeypatch.setenv("HERON_OPTIONS", f"{options},cmdline.topology.initial.state=PAUSED")
    word_count_builder().build_and_submit()
    spec = topology_from_json(json.loads((tmp_path / "Mine.defn").read_text()))
    assert spec.name == "Mine"
    assert spec.config == {"b": 123, "topology.initial.state": "PAUSED"}
    assert spec.by_name["count"].class_path == f"{__name__}.Count"


def test_heron_options(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(RuntimeError, match="HERON_OPTIONS is not set"):
        TopologyType.get_heron_options_from_env()
    monkeypatch.setenv("HERON_OPTIONS", "a=/tmp,b=hello%%%%world,c=")
    assert TopologyType.get_heron_options_from_env() == {"a": "/tmp", "b": "hello world", "c": ""}
    monkeypatch.setenv("HERON_OPTIONS", "a=1,b")
    with pytest.raises(ValueError, match="'b' must be key=value"):
        TopologyType.get_heron_options_from_env()


# Mistakes are found when the class is defined; heronpy raises ValueError for them.


def test_a_topology_needs_a_spout() -> None:
    with pytest.raises(ValueError, match="topology 'JustBolt' has no spout"):

        class JustBolt(Topology):
            bolt = HeronComponentSpec(None, "m.B", False, 4, inputs=[Words.spec(name="words")])


def test_shape_of_spouts_and_bolts() -> None:
    with pytest.raises(ValueError, match=r"spout 's' has no outputs.*\(m\.S\)"):
        TopologyType.add_spout_specs(HeronComponentSpec("s", "m.S", True, 1), {})
    with pytest.raises(ValueError, match=r"bolt 'b' has no inputs.*\(m\.B\)"):
        TopologyType.add_bolt_specs(HeronComponentSpec("b", "m.B", False, 1), {})


def test_mistakes_across_components_are_found() -> None:
    with pytest.raises(
        TopologyError, match="which is not a field of the stream; did you mean 'word'"
    ):

        class Wrong(Topology):
            words = Words.spec()
            count = Count.spec(inputs={words: Grouping.fields("wrod")})

    with pytest.raises(TopologyError, match=r"config of the topology: topology\.stmgrs"):

        class BadConfig(Topology):
            config = {"topology.stmgrs": 0}
            words = Words.spec()


def test_duplicate_and_reserved_names() -> None:
    with pytest.raises(ValueError, match="component name 'same' is used 3 times"):

        class Twice(Topology):
            a = Words.spec(name="same")
            c = Words.spec(name="same")
            b = Words.spec(name="same")

    with pytest.raises(ValueError, match="must not be called 'config'"):

        class Config(Topology):
            config = Words.spec()  # type: ignore[assignment]

    with pytest.raises(TypeError, match="config must be a dict, not"):

        class List(Topology):
            config = ["a"]  # type: ignore[assignment]
            words = Words.spec()

    with pytest.raises(TypeError, match="keys of config must be strings, not None"):
        TopologyType._sanitize_config({None: "a"})


def test_topology_itself_is_none() -> None:
    with pytest.raises(ValueError, match="define a class derived from it"):
        Topology.write()
    with pytest.raises(ValueError, match="define a class derived from it"):
        Topology.to_spec()


def test_wrong_calls_of_the_builder() -> None:
    for name in ("Topology", 1, None):
        for expected in (AssertionError, TypeError):
            with pytest.raises(expected, match="name of a topology must be a string other than"):
                TopologyBuilder(name)  # type: ignore[arg-type]
    builder = word_count_builder()
    with pytest.raises(ValueError, match="has no name"):
        builder.add_spec(Words.spec())
    with pytest.raises(TypeError, match=r"add_spec takes the result of spec\(\), not None"):
        builder.add_spec(None)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="component name 'words' is used already"):
        builder.add_spec(Words.spec(name="words"))
    with pytest.raises(ValueError, match="'config': the name is reserved"):
        builder.add_spout("config", Words, 1)
    with pytest.raises(TypeError, match="config must be a dict"):
        builder.set_config([])  # type: ignore[arg-type]
    builder.add_spec(*(Words.spec(name=str(number)) for number in range(10)))
    assert len(builder._specs) == 12


# Names


def test_the_package_gives_every_name_it_lists() -> None:
    for name in heronpy_compat.__all__:
        assert getattr(heronpy_compat, name).__module__.startswith("heron_api.")
        assert name in dir(heronpy_compat)
    with pytest.raises(AttributeError, match="has no attribute 'Blot'"):
        getattr(heronpy_compat, "Blot")  # noqa: B009 (the name must not be resolved statically)


def test_importing_the_package_imports_none_of_its_modules() -> None:
    # `import heronpy_compat` must stay cheap for each of many instance processes.
    program = (
        "import sys, heronpy_compat;"
        "print([name for name in sys.modules if name.startswith(('heronpy_compat.', 'heron_core')) "
        "or name in ('cloudpickle', 'dataclasses', 'logging')])"
    )
    root = Path(heronpy_compat.__file__).parents[1]
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.strip() == "[]"


def test_constants() -> None:
    constants = {
        name: value for name, value in vars(api_constants).items() if name.startswith("TOPOLOGY_")
    }
    assert len(constants) == len(set(constants.values())) == 32
    assert all(value.startswith("topology.") for value in constants.values())
    mode = api_constants.TopologyReliabilityMode
    assert (mode.ATMOST_ONCE, mode.ATLEAST_ONCE) == ("ATMOST_ONCE", "ATLEAST_ONCE")
    assert mode.EFFECTIVELY_ONCE == "EFFECTIVELY_ONCE"
    defaults: dict[str, Any] = TopologyType.DEFAULT_TOPOLOGY_CONFIG
    assert defaults[api_constants.TOPOLOGY_RELIABILITY_MODE] == "ATMOST_ONCE"
    assert defaults[api_constants.TOPOLOGY_COMPONENT_PARALLELISM] == "1"
    assert len(defaults) == 7
