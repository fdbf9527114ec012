"""The examples of storm-starter on real processes, compared with the oracles of the tester's tests.

Examples run side by side: most of the second that each takes is waiting."""

import json
import re
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from heron_connectors.requests.client import DRPCClient
from heron_connectors.requests.table import RequestLimits
from tests.process.process_support import EXAMPLES, Finished, Place
from tests.unit.heron_connectors.request_server_support import serving
from tests.unit.heronpy_compat.storm_starter_oracles import (
    PRINTED,
    REACH,
    VALUES,
    averages,
    join_bolt,
    stateful,
)
from tests.unit.heronpy_compat.streams import streams_oracles as streams
from tests.unit.heronpy_compat.trident import trident_oracles as trident

STARTER = EXAMPLES / "storm_starter"
SIDE_BY_SIDE = 3
"""Topologies at once, of some six processes each: more topologies would wait for the cores."""
LONG_MINUTES, TIMEOUT = 1, "topology.message.timeout.secs=300"
"""Windows that do not end before their data, and a longer life of tuples."""
SECS = 120.0
"""For some topologies that start together on a busy machine."""


def ended(place: Place, files: Sequence[Path], *options: str) -> Iterator[tuple[str, Finished]]:
    """Name and end of each example."""
    for at in range(0, len(files), SIDE_BY_SIDE):
        some = files[at : at + SIDE_BY_SIDE]
        started = [(file.stem, place.start("run", file, *options)) for file in some]
        for name, running in started:
            yield name, running.wait(SECS).succeeded()


def printed(place: Place, files: Sequence[Path]) -> dict[str, list[str]]:
    """Example -> its printed lines, without the names of instances."""
    lines: dict[str, list[str]] = {}
    for name, finished in ended(place, files):
        split = (line.partition("] | ") for line in finished.out.splitlines())
        lines[name] = [text for _, separator, text in split if separator]
    return lines


def test_windows_and_states(place: Place) -> None:
    files = [STARTER / f"{name}.py" for name in (*PRINTED, "stateful", "join_bolt")]
    for name in ("integers", "stateful"):  # imported by the copy
        shutil.copy(STARTER / f"{name}.py", place.path)
    clocked = with_long_windows(place, STARTER / "persistent_windowing.py")
    lines = printed(place, [*files, clocked])
    assert {name: lines[name] for name in PRINTED} == PRINTED
    assert sorted(lines["join_bolt"]) == join_bolt()
    # The printers of the two sums may overtake each other.
    totals = [line for line in lines["stateful"] if line.startswith("total")]
    assert len(totals) == len(VALUES)
    assert sorted([*set(lines["stateful"]) - set(totals), totals[-1]]) == sorted(stateful())
    # By the clock: the last window has all integers.
    last = averages(lines["persistent_windowing"])[-1]
    assert last[1] == pytest.approx(sum(VALUES) / len(VALUES), abs=0.01)


def with_long_windows(place: Place, file: Path) -> Path:
    """A copy of an example whose windows by the clock end with the data, on a busy machine too."""
    text = re.sub(
        r"Duration\.seconds\(\d+\)", f"Duration.minutes({LONG_MINUTES})", file.read_text()
    )
    text = text.replace('length.duration.ms": 10_000', 'length.duration.ms": 60_000')
    copy = place.path / file.name
    copy.write_text(text)
    return copy


def logged(place: Place, name: str) -> list[str]:
    """The log lines of a topology's tasks, in the order of the tasks."""
    files = [file for file in place.logs(name).glob("*.log") if re.search(r"-\d+$", file.stem)]
    tasks = sorted(
        (int(file.stem.rpartition("-")[2]), file)
        for file in files
        if not file.stem.startswith(("container-", "stream-manager-"))
    )
    lines = (line for _, file in tasks for line in file.read_text().splitlines())
    return [
        text for _, separator, text in (line.partition(" INFO ") for line in lines) if separator
    ]


def test_streams(place: Place) -> None:
    names = (*streams.WANTED, streams.ASKED)
    files = [with_long_windows(place, streams.EXAMPLES / f"{name}.py") for name in names]
    lines = {}
    for name, finished in ended(place, files, "-o", TIMEOUT):
        topology = re.search(r"^(\w+) ended after", finished.err, re.MULTILINE)
        assert topology is not None, finished.err
        lines[name] = logged(place, topology[1])
    assert streams.is_answered(lines.pop(streams.ASKED))
    assert lines == {name: [str(each) for each in streams.WANTED[name]] for name in streams.WANTED}


def test_trident(place: Place) -> None:
    names = (trident.MAP, trident.MIN_MAX)
    lines = printed(place, [EXAMPLES / f"{name}.py" for name in names])
    assert trident.last_counts(lines[trident.MAP]) == trident.map_counts()
    assert sorted(lines[trident.MIN_MAX]) == trident.min_max_lines()


def test_requests_to_states(place: Place) -> None:
    """TridentReach over static states, and TridentWordCount over counts."""
    with serving(RequestLimits(request_secs=SECS)) as server:
        host, port = server.addresses.topologies
        reach, words = (
            place.start("run", STARTER / f"{name}.py", "-o", f"drpc.servers={host}:{port}")
            for name in ("trident_reach", "trident_word_count")
        )
        with DRPCClient(*server.addresses.callers, SECS) as drpc:
            assert {url: drpc.execute("reach", url) for url in REACH} == REACH
            words.until(
                lambda: (
                    sorted(json.loads(drpc.execute("words", trident.ASKED)))
                    == trident.requested_counts()
                ),
                "all words are counted",
            )
        reach.end()
        words.end()
    place.nothing_is_left()
