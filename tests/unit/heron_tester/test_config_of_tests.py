"""What a test says in `config` beats what a component says for itself."""

from heronpy_compat.testing import ComponentTester, TopologyTester
from tests.unit.heron_tester.tested_topologies import ConfiguredSink, Redirected


def test_a_tests_config_beats_that_of_a_component() -> None:
    """Else a test of a sink would write into the real folder."""
    with TopologyTester(Redirected, config={"table.path": "/tmp/test"}) as tester:
        assert [each.paths for each in tester.component("count")] == [["/tmp/test"]]
    with TopologyTester(Redirected) as tester:
        assert [each.paths for each in tester.component("count")] == [["/real"]]
    with TopologyTester(Redirected, config={"topology.tasks": 3}) as tester:
        assert len(tester.tasks("count")) == len(tester.tasks("lines")) == 3


def test_a_tests_config_beats_that_of_a_class() -> None:
    inputs, test = {"words": ["word"]}, {"table.path": "/tmp/test"}
    with ComponentTester(ConfiguredSink, inputs=inputs, config=test) as sink:
        assert sink.component.paths == ["/tmp/test"]
    with ComponentTester(ConfiguredSink, inputs=inputs) as sink:
        assert sink.component.paths == ["/real"]
