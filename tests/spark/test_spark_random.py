"""Random topologies against a few lines of Python; several are parts of one, as batches cost."""

from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

import pytest

from heron_core.topology import ComponentSpec, GroupingKind, TopologySpec
from spark_support import Watched, bolt, reads, run, spout, topology

COUNT = 40
PARTS = 4
BOLTS = 4
KINDS = ("shuffle", "none", "local_or_shuffle", "fields", "partial_key", "all", "global", "custom")


def part(rng: Random, name: str) -> list[ComponentSpec]:
    """A spout and some bolts, each of which reads one to three of those before it."""
    made = [spout(f"{name}-spout", par=rng.randint(1, 2))]
    for number in range(BOLTS):
        sources = rng.sample(made, rng.randint(1, min(3, len(made))))
        inputs = [grouped(rng, each.name) for each in sources]
        numbers = {"factor": rng.randint(1, 9), "shift": rng.randint(0, 9)}
        made.append(bolt(f"{name}-{number}", "Mixing", rng.randint(1, 3), *inputs, **numbers))
    return made


def grouped(rng: Random, source: str) -> Any:
    """A subscription with any grouping."""
    kind = rng.choice(KINDS)
    return reads(source, kind, *(["number"] if kind in ("fields", "partial_key") else []))


def expected(spec: TopologySpec) -> dict[str, Counter[int]]:
    """bolt -> what its tasks get in all, worked out component by component."""
    sent: dict[str, Counter[int]] = {}
    got: dict[str, Counter[int]] = {}
    for each in spec.components:
        if each.is_spout:
            sent[each.name] = Counter(range(COUNT))
            continue
        got[each.name] = sum((delivered(each, one, sent) for one in each.inputs), Counter[int]())
        factor, shift = each.config["test.factor"], each.config["test.shift"]
        sent[each.name] = Counter()
        for value, number in got[each.name].items():
            sent[each.name][(value * factor + shift) % 1000] += number
    return got


def delivered(reader: ComponentSpec, one: Any, sent: dict[str, Counter[int]]) -> Counter[int]:
    """What one subscription brings."""
    tasks = {
        GroupingKind.ALL: lambda value: reader.parallelism,
        GroupingKind.CUSTOM: lambda value: 1 if value % 2 == 0 else reader.parallelism - 1,
    }.get(one.grouping.kind, lambda value: 1)
    return Counter({value: n * tasks(value) for value, n in sent[one.component].items()})


@pytest.mark.parametrize("seed", [1, 2])
def test_random_topologies_get_what_they_should(spark: Any, tmp_path: Path, seed: int) -> None:
    rng = Random(seed)
    components = [each for number in range(PARTS) for each in part(rng, f"part{number}")]
    spec = topology("random", COUNT, *components)
    watched = Watched()
    assert (
        run(spark, spec, tmp_path / "checkpoint", watched, max_batch=rng.choice([60, 10_000])) == 0
    )
    bolts = [each for each in spec.components if not each.is_spout]
    found = {each.name: watched.seen(each.name) for each in bolts}
    totals = {name: Counter(v for seen in by.values() for v in seen) for name, by in found.items()}
    assert totals == {name: +numbers for name, numbers in expected(spec).items()}
    for each in bolts:
        if {one.grouping.kind for one in each.inputs} == {GroupingKind.FIELDS}:
            tasks = [set(seen) for seen in found[each.name].values()]
            assert sum(map(len, tasks)) == len(set().union(*tasks))
