"""Classes that no other process can import travel by value."""

import subprocess
import sys
from typing import Any

import pytest

from heron_api.class_loading import load_class
from heron_core.errors import TopologyError
from heron_spark.compile.main_classes import by_value, pickled_classes
from heronpy_compat import Bolt, Spout, Topology
from heronpy_compat.testing import TopologyTester


def made_with(factor: int) -> Any:
    """A topology whose classes only this call has."""

    class Numbers(Spout):
        outputs = ["number"]

        def next_tuple(self) -> None:
            """One, and the end."""
            self.emit([7])
            self.finish()

    class Times(Bolt):
        outputs = ["number"]

        def process(self, tup: Any) -> None:
            """A product."""
            self.emit([factor * tup.values[0]])

    class Made(Topology):
        numbers = Numbers.spec()
        times = Times.spec(inputs=[numbers])

    return Made


def test_classes_of_two_calls_of_a_function_are_two() -> None:
    for factor, made in [(each, made_with(each)) for each in (2, 3)]:
        with TopologyTester(made) as tester:
            tester.run_spouts()
            assert list(map(list, tester.values("times"))) == [[factor * 7]]


def test_a_class_from_inside_a_function_is_found_in_another_process() -> None:
    spec = made_with(5).to_spec()
    path = by_value(spec).by_name["times"].class_path
    code = (
        "import sys; from heron_spark.compile import main_classes; "
        "from heron_api.class_loading import load_class; "
        "main_classes.install(sys.stdin.read()); print(load_class(sys.argv[1]).__name__)"
    )
    found = subprocess.run(
        [sys.executable, "-c", code, path],
        input=pickled_classes(spec),
        capture_output=True,
        text=True,
        check=True,
    )
    assert found.stdout == "Times\n"
    assert load_class(spec.by_name["times"].class_path).__name__ == "Times"


def test_a_class_that_cannot_be_sent_is_named() -> None:
    generator = (number for number in range(3))

    class Keeps(Spout):
        outputs = ["number"]
        held = generator

    class Held(Topology):
        keeps = Keeps.spec()

    with pytest.raises(TopologyError, match="'keeps': its class Keeps cannot be sent to"):
        pickled_classes(Held.to_spec())
