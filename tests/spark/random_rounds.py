"""Runs random topologies on both engines and in the tester, against a few lines of Python.

python -m tests.spark.random_rounds 1 18        seeds 1 to 17, six topologies each
"""

import re
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from heronpy_compat.testing import TopologyTester
from tests.process.process_support import Place
from tests.spark.spark_support import Watched, run

HERE = Path(__file__).parent
if str(HERE) not in sys.path:
    sys.path.insert(0, str(HERE))
import random_topologies  # noqa: E402 (by the name that the engines import it by)
from random_topologies import Node, differences, parts_of, spec_of  # noqa: E402

NATIVE_SECS = 300.0


def by_the_tester(seed: int, folder: Path) -> None:
    """In this process, on a virtual clock, tuples of different lanes in any order."""
    with TopologyTester(spec_of(seed, folder), order="random", seed=seed) as tester:
        tester.run_spouts()
        tester.finish()


def natively(seed: int, folder: Path, place: Place) -> None:
    """`heronpy run`, a process for each instance, one to three containers."""
    place.environment |= {"RANDOM_SEED": str(seed), "RANDOM_RESULTS": str(folder)}
    containers = 1 + seed % 3
    file = Path(random_topologies.__file__)
    place.heronpy("run", file, "--containers", containers, secs=NATIVE_SECS).succeeded()


def on_spark(seed: int, folder: Path, spark: Any, checkpoint: Path) -> None:
    """As a query, with batches of a few tuples or a single one."""
    most = 300 if seed % 3 else 10_000
    assert run(spark, spec_of(seed, folder), checkpoint, Watched(), max_batch=most) == 0


def complaint(seed: int, engine: str, folder: Path) -> str:
    """What is wrong with an engine's results, by the smallest topology; empty if nothing is."""
    wrong = [(part, found) for part in parts_of(seed) if (found := list(differences(part, folder)))]
    if not wrong:
        return ""
    part, found = min(wrong, key=lambda each: _size(each[0]))
    lines = "\n  ".join([*map(str, part), *found[:5]])
    return f"seed {seed}, {engine}, {len(wrong)} topologies; the smallest is\n  {lines}"


def _ended(place: Place) -> Iterator[str]:
    """What the logs of the native run say of processes that ended badly."""
    for path in place.home.glob("topologies/*/logs/*.log"):
        for line in path.read_text("utf-8").splitlines():
            if "silent for" in line or re.search(r"ended with [^0]", line):
                yield f"  {line}"


def _size(part: list[Node]) -> int:
    return sum(1 + len(each.reads) for each in part)


def complaints(seed: int, path: Path, spark: Any) -> Iterator[str]:
    """One seed with everybody."""
    (path / "native").mkdir()
    place = Place(path / "native")
    engines: dict[str, Callable[[Path], object]] = {
        "tester": lambda folder: by_the_tester(seed, folder),
        "native": lambda folder: natively(seed, folder, place),
        "spark": lambda folder: on_spark(seed, folder, spark, path / "checkpoint"),
    }
    try:
        for name, run_it in engines.items():
            folder = path / f"results-{name}"
            folder.mkdir()
            run_it(folder)
            found = complaint(seed, name, folder)
            yield "\n".join([found, *_ended(place)]) if found else ""
    finally:
        place.close()


def main(first: int, behind: int) -> int:
    """Many rounds; says what is wrong as it comes."""
    from heron_spark.options import SparkOptions
    from heron_spark.session import session

    wrong = topologies = 0
    with session("random", SparkOptions(master="local[2]")) as spark:
        for seed in range(first, behind):
            with tempfile.TemporaryDirectory(prefix="heron-") as folder:
                found = [each for each in complaints(seed, Path(folder), spark) if each]
            wrong += bool(found)
            topologies += len(parts_of(seed))
            print("\n".join(found) or f"seed {seed}: as expected", flush=True)
    print(f"{topologies} topologies on three engines, {wrong} seeds with differences")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))
