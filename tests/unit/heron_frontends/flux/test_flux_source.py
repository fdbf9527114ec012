"""topologySource: Python that makes the topology."""

from collections.abc import Callable
from typing import Any

import pytest

from heron_core.topology import TopologySpec

Load = Callable[..., Any]
Refused = Callable[..., str]
Write = Callable[[str, str], str]

MAKERS = """
from heron_core.topology import ComponentSpec, StreamSpec, TopologySpec
from heronpy_compat import Grouping, Topology, TopologyBuilder
from parts import Count, Lines

class Words(Topology):
    config = {"topology.debug": True, "size": 1}
    lines = Lines.spec()
    count = Count.spec(inputs=[lines])

def builder(config=None):
    made = TopologyBuilder("Built")
    lines = made.add_spout("lines", Lines, (config or {}).get("par", 1))
    made.add_bolt("count", Count, 1, inputs=[lines])
    return made

def submits(config):
    builder(config).build_and_submit()

def fails():
    raise ValueError("not today")

def exits():
    raise SystemExit(3)

def nothing():
    return 42

def without_a_class():
    outputs = (StreamSpec("default", ("word",)),)
    return TopologySpec("x", (ComponentSpec("lines", True, "parts.Nothing", 1, outputs),))

class Maker:
    def __init__(self, par, kept=None):
        self.par, self.kept = par, kept
    def with_twice(self):
        self.par *= 2
    def getTopology(self, config):
        return builder({"par": self.par + config["more"]})
    def other(self):
        return Words
"""


@pytest.fixture
def source(load: Load, write: Write) -> Callable[[str], TopologySpec]:
    write("makers.py", MAKERS)

    def loaded(more: str) -> TopologySpec:
        found: TopologySpec = load(f"""
            name: mine
            config: {{par: 3, more: 10, size: 2}}
            components: [{{id: f, className: parts.Filter, constructorArgs: [[]]}}]
            topologySource: {{{more}}}
            """)
        return found

    return loaded


@pytest.mark.parametrize(
    ("more", "parallelism"),
    [
        ("className: makers.Words", 1),
        ("className: makers.builder", 3),
        ("className: makers.submits", 3),
        ("className: makers.Maker, constructorArgs: [4]", 14),
        ("className: makers.Maker, constructorArgs: [4], configMethods: [{name: withTwice}]", 18),
        ("className: makers.Maker, constructorArgs: [4, {ref: f}], methodName: other", 1),
    ],
)
def test_who_makes_the_topology(
    source: Callable[[str], TopologySpec], more: str, parallelism: int
) -> None:
    topology = source(more)
    assert topology.name == "mine"
    assert [each.name for each in topology.components] == ["lines", "count"]
    assert topology.components[0].parallelism == parallelism
    assert topology.config["size"] == 2


def test_a_topology_keeps_the_config_and_defaults_of_its_door(
    source: Callable[[str], TopologySpec],
) -> None:
    topology = source("className: makers.Words")
    assert topology.config == {"topology.debug": True, "size": 2, "par": 3, "more": 10}
    assert topology.defaults == {}


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ("className: makers.fails", "makers.fails: makers.py:21: ValueError: not today"),
        ("className: makers.exits", "makers.exits: makers.py:24: the program exits with 3"),
        ("className: makers.nothing", "makers.nothing returned 42, not a topology"),
        ("className: makers.without_a_class", "component 'lines': module parts has no class"),
        ("className: makers.Makers", "module makers has no class 'Makers'; did you mean 'Maker'?"),
        ("className: makers.Maker", "the constructor of makers.Maker does not take 0 arguments"),
        (
            "className: makers.Maker, constructorArgs: [1], methodName: get",
            "makers.Maker has no method 'get': name it with methodName",
        ),
        ("className: org.acme.Topology", "Java class org.acme.Topology has no equivalent"),
        ("methodName: get", "topologySource has no className"),
    ],
)
def test_mistakes_of_the_source(refused: Refused, write: Write, more: str, expected: str) -> None:
    write("makers.py", MAKERS)
    line = refused(f"topologySource: {{{more}}}\n")
    assert line.startswith("t.yaml:1: ")
    assert expected in line


def test_a_source_and_spouts(refused: Refused) -> None:
    line = refused("""
        spouts: [{id: s, className: parts.Lines}]
        topologySource: {className: makers.Words}
        """)
    assert line == (
        "t.yaml:3: a topology has either a topologySource or spouts, bolts and streams, not both"
    )
