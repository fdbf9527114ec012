"""The examples on real processes: each prints what it prints in the tester, whose oracles are unit
tests."""

from collections import Counter

import pytest

from tests.examples_together import EXAMPLES, OPTIONS, in_the_tester, plain
from tests.process.process_support import Place

SIDE_BY_SIDE = 4
"""Topologies at once, of some five processes each."""
SHOWN = {  # by an older test of processes
    "click_through_rate", "custom_grouping", "multi_stream", "storm_starter/sliding_tuple_ts",
    "storm_starter/sliding_window", "storm_starter/stateful_windowing", "streamlets/running_words",
    "streamlets/track_state",
}  # fmt: skip
SECS = 120.0
"""For some topologies that start together on a busy machine."""


def test_examples_print_on_processes_what_they_print_in_the_tester(
    place: Place, capsys: pytest.CaptureFixture[str]
) -> None:
    names = sorted(OPTIONS.keys() - SHOWN)
    found: dict[str, Counter[str]] = {}
    for at in range(0, len(names), SIDE_BY_SIDE):
        started = []
        for name in names[at : at + SIDE_BY_SIDE]:
            words = [
                word for item in OPTIONS[name].items() for word in ("-o", "{}={}".format(*item))
            ]
            started.append((name, place.start("run", EXAMPLES / f"{name}.py", *words)))
        for name, running in started:
            lines = running.wait(SECS).succeeded().out.splitlines()
            found[name] = Counter(plain(line.partition(" | ")[2]) for line in lines)
    assert found == {name: in_the_tester(name, capsys) for name in names}
    assert all(found.values())
    place.nothing_is_left()
