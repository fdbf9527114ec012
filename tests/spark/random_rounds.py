"""Runs random topologies on both engines and in the tester, against a few lines of Python.

python -m tests.spark.random_rounds 1 18            seeds 1 to 17, six topologies each
python -m tests.spark.random_rounds 1 200 tester    by the tester alone

What goes wrong is made smaller on the engine that it goes wrong on.
"""

import re
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

from heronpy_compat.testing import TopologyTester
from tests.process.process_support import Place
from tests.spark.spark_support import Watched, run

HERE = Path(__file__).parent
if str(HERE) not in sys.path:
    sys.path.insert(0, str(HERE))
import random_topologies  # noqa: E402 (by the name that the engines import it by)
from random_shrinking import shrunk  # noqa: E402
from random_topologies import Node, described, differences, parts_of, spec_of  # noqa: E402

NATIVE_SECS = 300.0
NATIVE, TESTER, SPARK = "native", "tester", "spark"
ENGINES = (TESTER, NATIVE, SPARK)

Parts = Sequence[Sequence[Node]]
RunParts = Callable[[Parts, Path], object]
"""Runs topologies side by side; each leaves its files in the folder."""


def by_the_tester(seed: int, parts: Parts, folder: Path) -> None:
    """In this process, on a virtual clock, tuples of different lanes in any order."""
    with TopologyTester(spec_of(seed, folder, parts), order="random", seed=seed) as tester:
        tester.run_spouts()
        tester.finish()


def natively(seed: int, parts: Parts, folder: Path, place: Place) -> None:
    """`heronpy run`, a process for each instance, one to three containers."""
    place.environment |= {"RANDOM_SEED": str(seed), "RANDOM_RESULTS": str(folder)}
    place.environment["RANDOM_PART"] = described([node for part in parts for node in part])
    containers = 1 + (seed + seed // 3) % 3
    file = Path(random_topologies.__file__)
    place.heronpy("run", file, "--containers", containers, secs=NATIVE_SECS).succeeded()


def on_spark(seed: int, parts: Parts, folder: Path, spark: Any) -> None:
    """As a query, with batches of a few tuples or a single one."""
    most = 300 if seed % 3 else 10_000
    spec = spec_of(seed, folder, parts)
    checkpoint = folder.with_name(f"{folder.name}-checkpoint")
    assert run(spark, spec, checkpoint, Watched(), max_batch=most) == 0


@dataclass(frozen=True, slots=True)
class Round:
    """One seed on all engines; every run has a separate folder below `path`."""

    seed: int
    path: Path
    spark: Any
    engines: Sequence[str] = ENGINES
    numbers: Iterator[int] = field(default_factory=count)

    def complaints(self) -> Iterator[str]:
        """Errors of each engine's results; empty without errors."""
        (self.path / NATIVE).mkdir()
        place = Place(self.path / NATIVE)
        every: dict[str, RunParts] = {
            TESTER: lambda parts, folder: by_the_tester(self.seed, parts, folder),
            NATIVE: lambda parts, folder: natively(self.seed, parts, folder, place),
            SPARK: lambda parts, folder: on_spark(self.seed, parts, folder, self.spark),
        }
        try:
            for name in self.engines:
                found = self.complaint(name, every[name])
                yield "\n".join([found, *_ended(place)]) if found else ""
        finally:
            place.close()

    def complaint(self, engine: str, run_it: RunParts) -> str:
        """By the smallest topology with an error alone; empty if all pass side by side."""
        parts = parts_of(self.seed)
        found = self.wrong(run_it, parts)
        if not found:
            return ""
        part, lines = min(found, key=lambda each: _size(each[0]))
        part = shrunk(part, lambda smaller: bool(self.wrong(run_it, [smaller])))
        alone = self.wrong(run_it, [part])
        lines = alone[0][1] if alone else lines
        text = "\n  ".join([*map(str, part), *lines[:5]])
        return f"seed {self.seed}, {engine}, {len(found)} topologies; the smallest is\n  {text}"

    def wrong(self, run_it: RunParts, parts: Parts) -> list[tuple[Sequence[Node], list[str]]]:
        """Run them side by side: returns the topologies with unexpected results."""
        folder = self.path / f"results-{next(self.numbers)}"
        folder.mkdir()
        run_it(parts, folder)
        differing = ((part, list(differences(part, folder))) for part in parts)
        return [(part, lines) for part, lines in differing if lines]


def _ended(place: Place) -> Iterator[str]:
    """Log lines of the native run about failed processes."""
    for path in place.home.glob("topologies/*/logs/*.log"):
        for line in path.read_text("utf-8").splitlines():
            if "silent for" in line or re.search(r"ended with [^0]", line):
                yield f"  {line}"


def _size(part: Sequence[Node]) -> int:
    return sum(1 + len(each.reads) for each in part)


def main(first: int, behind: int, *engines: str) -> int:
    """Many rounds; errors are printed at once."""
    from heron_spark.driver.session import session
    from heron_spark.options import SparkOptions

    wrong = topologies = 0
    on = engines or ENGINES
    session_of = (
        session("random", SparkOptions(master="local[2]")) if SPARK in on else nullcontext()
    )
    with session_of as spark:
        for seed in range(first, behind):
            with tempfile.TemporaryDirectory(prefix="heron-") as folder:
                found = [each for each in Round(seed, Path(folder), spark, on).complaints() if each]
            wrong += bool(found)
            topologies += len(parts_of(seed))
            print("\n".join(found) or f"seed {seed}: as expected", flush=True)
    print(f"{topologies} topologies on {', '.join(on)}, {wrong} seeds with differences")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), int(sys.argv[2]), *sys.argv[3:]))
