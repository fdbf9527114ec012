"""Programs of Storm's Streams API that run in this process, and what they print."""

from ast import literal_eval
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from heron_api.topology import TopologyBuilder
from heronpy_compat.streams import StreamBuilder
from heronpy_compat.testing import TopologyTester

Program = Callable[[StreamBuilder], object]
UNFUSED: dict[str, Any] = {"topology.streamlet.fusion": False}
SECS = 60.0
"""Longer than any window of these tests."""


def given(items: Iterable[Any]) -> Callable[[], Any]:
    """A source of these, that ends."""
    rest = iter(list(items))
    return lambda: next(rest)


def printed(
    program: Program, *logs: str, ends: bool = True, settings: Mapping[str, Any] | None = None
) -> list[Any]:
    """What `print` logs, each value as it was; each stage is a bolt of its own."""
    builder, topology = StreamBuilder(), TopologyBuilder("Tested")
    topology.set_config(UNFUSED)
    program(builder)
    builder.build(topology)
    with TopologyTester(topology, config=settings) as tester:
        tester.run_spouts()
        if ends:
            tester.finish()
        else:
            tester.advance(SECS)
        lines = [line for log in logs or ("log-1",) for line in tester.logs(log)]
        return [literal_eval(line.text) for line in lines]
