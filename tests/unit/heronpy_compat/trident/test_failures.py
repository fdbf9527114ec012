"""T2: counts are exact whatever fails, with two pairs of spout and state, in the tester."""

from collections import Counter
from random import Random
from typing import Any

import pytest

from heron_api.run_store import MemoryRunStore
from heron_core.errors import HeronError
from heronpy_compat.testing import TopologyTester
from heronpy_compat.trident import Count, MemoryMapState, StateFactory, TridentTopology
from heronpy_compat.trident.execution import coordinator
from heronpy_compat.trident.spouts import TridentSpout
from tests.unit.heronpy_compat.trident.trident_support import (
    AT_ONCE,
    SEEN,
    FailBatches,
    Opaque,
    Split,
    Transactional,
    see,
)

PENDING = {**AT_ONCE, "topology.max.spout.pending": 3}
LINES = [f"a b{number % 3} c{number % 5}" for number in range(18)]
EXPECTED = Counter(word for line in LINES for word in line.split())
PARTITIONS = (LINES[:8], LINES[8:12], LINES[12:])
BOLTS = ("spout-lines", "b-0", "b-1")
COORDINATOR = "mastercoord-bg0"
FAULTS_MAX = 4
ROUNDS_MAX = 400


def topology_of(spout: TridentSpout, state: StateFactory) -> TridentTopology:
    topology = TridentTopology()
    lines = topology.new_stream("lines", spout).parallelism_hint(2)
    words = lines.each("value", Split(), "word").parallelism_hint(2)
    counts = words.group_by("word").persistent_aggregate(state, None, Count(), "count")
    counts.parallelism_hint(3)
    counts.new_values_stream().each(None, FailBatches()).peek(see)
    return topology


def break_something(tester: TopologyTester, random: Random) -> None:
    """A fault of any kind, now or at the next input."""
    bolt = random.choice(BOLTS)
    kind = random.choice(["crash", "crash-at", "fail", "drop", "update", "coordinator"])
    if kind == "crash":
        tester.crash(bolt)
    elif kind == "crash-at":
        tester.crash(bolt, when=lambda tup: random.random() < 0.3)
    elif kind == "fail":
        tester.fail(bolt, when=lambda tup: random.random() < 0.3)
    elif kind == "drop":
        tester.drop("b-0", "b-1")
    elif kind == "update":
        FailBatches.left["failing"] += 1
    else:
        tester.crash(COORDINATOR)


@pytest.fixture
def absent_store(monkeypatch: pytest.MonkeyPatch) -> dict[str, int]:
    """Kinds of calls -> refusals by the store of records yet to come."""
    left = {"write": 0, "remove": 0}
    monkeypatch.setattr(coordinator, "RECORD_RETRY_SECS", 0.0)

    def refused(kind: str) -> None:
        original = getattr(MemoryRunStore, kind)

        def call(store: MemoryRunStore, name: str, *record: bytes) -> None:
            if left[kind]:
                left[kind] -= 1
                raise HeronError(f"{name} cannot be written: the test says so")
            original(store, name, *record)

        monkeypatch.setattr(MemoryRunStore, kind, call)

    refused("write")
    refused("remove")
    return left


def counts_seen() -> dict[str, Any]:
    return dict(SEEN)


@pytest.mark.parametrize("kind", ["transactional", "opaque", "transactional-opaque"])
@pytest.mark.parametrize("seed", range(12))
def test_counts_are_exact_whatever_fails(kind: str, seed: int) -> None:
    """Half of a batch's updates may be made when it fails: replays leave each count as it is."""
    SEEN.clear()
    FailBatches.left.clear()
    random = Random(seed)
    make = Opaque if kind == "opaque" else Transactional
    state = MemoryMapState.transactional() if kind == "transactional" else MemoryMapState.opaque()
    builder = topology_of(make(*PARTITIONS), state).build("Lines", PENDING)
    with TopologyTester(builder, order="random", seed=seed) as tester:
        faults = 0
        for _ in range(ROUNDS_MAX):
            if faults < FAULTS_MAX and random.random() < 0.4:
                break_something(tester, random)
                faults += 1
            tester.run_spouts(calls=1)
            # A lost tuple fails by its timeout.
            tester.advance(40)
            if counts_seen() == EXPECTED and faults == FAULTS_MAX:
                break
        assert counts_seen() == EXPECTED
        tester.run_spouts()
        tester.advance(80)
        tester.run_spouts()
        assert counts_seen() == EXPECTED
        assert not tester.component(COORDINATOR)[0].core.active


@pytest.mark.parametrize("kind", ["transactional", "opaque"])
@pytest.mark.parametrize("seed", range(6))
def test_counts_are_exact_though_records_cannot_be_stored(
    kind: str, seed: int, absent_store: dict[str, int]
) -> None:
    """An absent store delays records, and batches go on behind the records."""
    SEEN.clear()
    FailBatches.left.clear()
    random = Random(seed)
    make = Opaque if kind == "opaque" else Transactional
    state = MemoryMapState.transactional() if kind == "transactional" else MemoryMapState.opaque()
    builder = topology_of(make(*PARTITIONS), state).build("Lines", PENDING)
    with TopologyTester(builder, order="random", seed=seed) as tester:
        faults = 0
        for _ in range(ROUNDS_MAX):
            if faults < FAULTS_MAX and random.random() < 0.4:
                absent_store[random.choice(["write", "remove"])] += random.randrange(1, 4)
                faults += 1
            tester.run_spouts(calls=1)
            tester.advance(40)
            is_back = not any(absent_store.values())
            if counts_seen() == EXPECTED and faults == FAULTS_MAX and is_back:
                break
        assert counts_seen() == EXPECTED
        tester.run_spouts()
        tester.advance(80)
        tester.run_spouts()
        assert counts_seen() == EXPECTED
        assert not tester.component(COORDINATOR)[0].core.active
        errors = [text for name in (COORDINATOR, *BOLTS) for text in map(str, tester.errors(name))]
        assert all("the test says so" in text for text in errors)


def test_a_batch_whose_progress_cannot_be_stored_begins_when_it_can(
    absent_store: dict[str, int],
) -> None:
    SEEN.clear()
    FailBatches.left.clear()
    builder = topology_of(Opaque(*PARTITIONS), MemoryMapState.opaque()).build("Lines", PENDING)
    with TopologyTester(builder) as tester:
        absent_store["write"] = 3
        tester.run_spouts(calls=1)
        tester.run_spouts(calls=1)
        assert not SEEN, "tuples of a batch come behind the record"
        for _ in range(ROUNDS_MAX):
            tester.run_spouts(calls=1)
            tester.advance(40)
        assert counts_seen() == EXPECTED
        errors = [str(each) for each in tester.errors(COORDINATOR)]
        assert len(errors) == 3
        assert all("the test says so" in text for text in errors)
