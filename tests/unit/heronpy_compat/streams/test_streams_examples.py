"""The examples of Storm's Streams API do what their docstrings say, against plain Python."""

import pytest

from heron_core.topology import TopologySpec
from heron_frontends.loading.load import load_topology
from heronpy_compat.testing import TopologyTester
from tests.unit.heronpy_compat.streams.streams_oracles import ASKED, EXAMPLES, WANTED, is_answered


def logged(spec: TopologySpec) -> list[str]:
    """What the last stages of a topology log, one after the other."""
    with TopologyTester(spec) as tester:
        tester.run_spouts()
        tester.finish()
        names = [each.name for each in spec.components]
        assert not any(tester.errors(name) for name in names)
        return [line.text for name in names for line in tester.logs(name)]


def loaded(name: str) -> TopologySpec:
    """An example."""
    return load_topology(str(EXAMPLES / f"{name}.py"))


@pytest.mark.parametrize("name", WANTED)
def test_an_example_prints_what_python_computes(fresh_imports: None, name: str) -> None:
    """At least once, as in Storm."""
    spec = loaded(name)
    assert spec.config["topology.reliability.mode"] in ("ATLEAST_ONCE", "EFFECTIVELY_ONCE")
    assert logged(spec) == [str(each) for each in WANTED[name]]


def test_questions_are_answered(fresh_imports: None) -> None:
    assert is_answered(logged(loaded(ASKED)))


def test_every_example_is_here() -> None:
    files = {path.stem for path in EXAMPLES.glob("*.py")}
    assert files == {*WANTED, ASKED}
