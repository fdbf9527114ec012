"""Trident on a real Spark: a micro-batch is a batch, and each is in the states once."""

import sqlite3
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from heron_core.records import replace
from heron_tester.sources import topology_of
from heronpy_compat.testing import TopologyTester
from heronpy_compat.trident import OpaqueSerializer, TransactionalSerializer
from spark_support import HERE, Watched, run
from trident_topologies import BATCHES, PARTITIONS, built, lines_of

EXPECTED = Counter(
    word
    for partition in range(PARTITIONS)
    for batch in range(BATCHES)
    for line in lines_of(partition, 4 * batch)
    for word in line.split()
)


def in_database(folder: Path, kind: str) -> dict[str, int]:
    with sqlite3.connect(folder / "counts.db") as database:
        rows = list(database.execute("select word, value from counts"))
    if kind == "opaque":
        return {word: OpaqueSerializer().deserialize(value).curr for word, value in rows}
    return {word: TransactionalSerializer().deserialize(value).val for word, value in rows}


def in_memory(folder: Path) -> dict[str, int]:
    lines = (folder / "memory").read_text().splitlines()
    return {word: int(count) for word, count in map(str.split, lines)}


def shown(folder: Path, name: str) -> list[str]:
    return sorted((folder / name).read_text().splitlines())


@pytest.mark.parametrize("kind", ["transactional", "opaque"])
def test_counts_are_exact_and_answers_those_of_the_tester(
    spark: Any, tmp_path: Path, kind: str
) -> None:
    """A host dies between the commit of a state and that of its batch; the query is stopped, and
    another one goes on."""
    on_spark, tested = tmp_path / "spark", tmp_path / "tested"
    for folder in (on_spark, tested):
        folder.mkdir()
    (tested / "killed").touch()  # nothing dies there
    spec = replace(topology_of(built(kind, on_spark), None, None, {}), search_paths=(HERE,))
    first, second = Watched(stop_after=4), Watched()
    assert run(spark, spec, tmp_path / "checkpoint", first) == 0
    assert (on_spark / "killed").exists()
    assert len(first.batches) == 4
    assert run(spark, spec, tmp_path / "checkpoint", second) == 0
    assert second.batches[0].batch == 4
    with TopologyTester(built(kind, tested)) as tester:
        tester.run_spouts()
    assert in_database(on_spark, kind) == in_database(tested, kind) == EXPECTED
    assert in_memory(on_spark) == in_memory(tested) == EXPECTED
    # What a bolt shows is no part of a batch, and comes again if its host dies.
    assert set(shown(on_spark, "joined")) == set(shown(tested, "joined")) == {"p0 P0"}
    assert set(shown(on_spark, "merged")) == set(shown(tested, "merged")) == {"1", "2", "3"}
