"""`heronpy run` counts exactly, over any number of containers and by every grouping."""

import json
import random
import re
from collections import Counter
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from tests.process.process_support import TOPOLOGIES, Master, Place

AT_MOST, AT_LEAST = "ATMOST_ONCE", "ATLEAST_ONCE"
CHANCE = random.Random(7)
VOCABULARY = [f"word{number}" for number in range(400)] + ["naïve", "日本", "🐦"]
LINES = [" ".join(CHANCE.choices(VOCABULARY, k=CHANCE.randint(1, 8))) for _ in range(3000)]
EXPECTED = Counter(word for line in LINES for word in line.split())


def run(place: Place, file: str, containers: int, mode: str) -> None:
    """Run a topology that reads the text to its end."""
    options = (f"topology.reliability.mode={mode}", f"test.text={written(place)}")
    arguments = (TOPOLOGIES / file, "--containers", containers, "-o", options[0], "-o", options[1])
    place.heronpy("run", *arguments).succeeded()


def written(place: Place) -> Path:
    """The text as a file."""
    file = place.path / "text.txt"
    file.write_text("\n".join(LINES), "utf-8")
    return file


def added(counters: list[dict[str, int]]) -> Counter[str]:
    """The sum of several tasks' counts."""
    return sum(map(Counter, counters), Counter())


@pytest.mark.parametrize(
    ("containers", "spouts", "bolts", "mode"),
    [
        (1, 1, 1, AT_MOST),
        (1, 2, 4, AT_LEAST),
        (2, 1, 1, AT_LEAST),
        (2, 2, 3, AT_MOST),
        (2, 1, 2, AT_MOST),
        (3, 1, 1, AT_MOST),
        (3, 3, 2, AT_LEAST),
        (3, 1, 4, AT_LEAST),
    ],
)
def test_words_are_counted_exactly(
    place: Place, containers: int, spouts: int, bolts: int, mode: str
) -> None:
    """A finite text is counted by more or fewer instances: no word is lost, none counted twice."""
    place.environment |= {"COUNTS_SPOUTS": str(spouts), "COUNTS_BOLTS": str(bolts)}
    run(place, "counts.py", containers, mode)
    counted = place.results_of("count")
    assert len(counted) == bolts
    assert added(list(counted.values())) == EXPECTED
    assert sum(map(len, counted.values())) == len(EXPECTED), "a word was counted in two tasks"
    told = place.results_of("lines").values()
    assert sum(each["acked"] for each in told) == len(LINES)
    assert sum(each["twice"] + each["failed"] for each in told) == 0
    place.nothing_is_left()


@pytest.mark.parametrize(("containers", "mode"), [(1, AT_MOST), (3, AT_LEAST)])
def test_every_grouping_delivers_what_it_promises(place: Place, containers: int, mode: str) -> None:
    """One stream read by bolts with all nine groupings at once, on one and on three containers."""
    run(place, "groupings.py", containers, mode)
    found = {
        name: [Counter(each["counts"]) for _, each in sorted(place.results_of(name).items())]
        for name in (
            *("shuffle", "none", "local", "fields", "partial"),
            *("every", "lowest", "custom", "direct"),
        )
    }
    for name in ("shuffle", "none", "local", "fields", "partial", "custom", "direct"):
        assert added(list(found[name])) == EXPECTED, name
    assert found["every"] == [EXPECTED, EXPECTED]
    assert found["lowest"] == [EXPECTED, Counter()]
    for name in ("shuffle", "none"):
        shares = [each.total() / EXPECTED.total() for each in found[name]]
        assert min(shares) > 0.4, f"{name} is uneven: {shares}"
    assert not found["fields"][0].keys() & found["fields"][1].keys()
    for name in ("custom", "direct"):
        for at, each in enumerate(found[name]):
            assert {len(word) % 2 for word in each} == {at}, name
    # Each of the two emitters picks among a word's two tasks.
    tasks_of_words = Counter(word for each in found["partial"] for word in each)
    assert max(tasks_of_words.values()) == 2


def is_instance(process: psutil.Process) -> bool:
    with suppress(psutil.Error):
        return re.search(r"^heron: \S+\[\d+\]", " ".join(process.cmdline())) is not None
    return False


def test_tuples_cross_tcp_between_containers(place: Place) -> None:
    """Two containers on one machine talk as two machines would: over TCP, not by a short cut."""
    plan = place.heronpy(
        *("run", TOPOLOGIES / "groupings.py", "--containers", 2),
        *("--dry-run", "--dry-run-format", "json"),
    ).succeeded()
    container_of = {
        each["id"]: container["id"]
        for container in json.loads(plan.out)["containers"]
        for each in container["components"]
    }
    running = place.start(
        "run",
        TOPOLOGIES / "groupings.py",
        "--containers",
        2,
        "--keep-running",
        "-o",
        f"test.text={written(place)}",
    )
    names = ("shuffle", "every", "fields")
    running.until(
        lambda: all(len(place.results_of(name)) == 2 for name in names), "all readers finish"
    )
    senders = {
        (container_of[int(source)], container_of[task])
        for name in names
        for task, found in place.results_of(name).items()
        for source in found["senders"]
    }
    assert {(1, 2), (2, 1)} <= senders
    with Master(place.store_url, "Groupings") as master:
        stats = running.until(master.stats, "the master answers")
    assert set(stats.stream_managers) == {1, 2}
    assert all(each.counters["forwarded"] > 0 for each in stats.stream_managers.values())
    first = running.until(
        lambda: running.process_called("heron: stream manager 1 "), "stream manager 1"
    )
    second = running.until(
        lambda: running.process_called("heron: stream manager 2 "), "stream manager 2"
    )
    listening = {each.laddr.port for each in second.net_connections("tcp") if not each.raddr}
    called = {each.raddr.port for each in first.net_connections("tcp") if each.raddr}
    assert listening & called, "stream manager 1 has no TCP connection to stream manager 2"
    remote = [each.raddr.port for each in first.net_connections("tcp") if each.raddr]
    assert sum(port in listening for port in remote) == 1, "connections are those of containers"
    instances = [each for each in running.processes() if is_instance(each)]
    assert len(instances) >= 10
    assert not [each for each in instances if each.net_connections("tcp")]
    running.end()
