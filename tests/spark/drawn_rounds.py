"""Runs drawn topologies on each engine and compares all that they leave with plain Python.

python -m tests.spark.drawn_rounds 1 200                 by the tester and the hosts
python -m tests.spark.drawn_rounds 1 20 native spark     by processes, and in a Spark of two cores

`hosts` are those of the Spark engine, batch by batch, without a JVM.
"""

import gc
import json
import os
import re
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

HERE = str(Path(__file__).parent)
if HERE not in sys.path:
    sys.path.insert(0, HERE)
import drawn_topologies  # noqa: E402 (by the name that the engines import it by)
from drawn_expected import differences, expected, letters_found  # noqa: E402
from drawn_passing import NEVER, RAISES, RAISES_ONCE  # noqa: E402
from drawn_topologies import (  # noqa: E402
    ATLEAST_ONCE,
    EFFECTIVELY_ONCE,
    TO_FILES,
    Drawn,
    Part,
    drawn,
    spec_of,
)
from drawn_values import shown  # noqa: E402
from heron_connectors.letters.folder import letters  # noqa: E402
from heron_connectors.letters.records import values_of  # noqa: E402
from heron_core.records import replace  # noqa: E402
from heron_spark.backend.metrics import QueryMetrics  # noqa: E402
from heron_spark.compile.plan import one_container  # noqa: E402
from heron_spark.driver.progress import Progress  # noqa: E402
from heron_spark.driver.tables import settings  # noqa: E402
from heron_tester.faults import InstanceKilled  # noqa: E402
from heron_tester.sources import topology_of  # noqa: E402
from heronpy_compat.testing import TopologyTester  # noqa: E402
from tests.connectors.runs import SparkRun  # noqa: E402
from tests.process.process_support import Place  # noqa: E402
from tests.spark.spark_support import Watched, run  # noqa: E402

TESTER, HOSTS, NATIVE, SPARK = "tester", "hosts", "native", "spark"
FAST = (TESTER, HOSTS)
NATIVE_SECS = 300.0
ONE_SEED = "5"
"""Of the tests by processes and in a Spark: effectively once, letters to a bolt, in India."""
CHECKPOINT_SHARE, DEATH_SHARE, DEATHS_MAX = 0.7, 0.2, 3
ROOTS = "roots"
"""Where each tuple is tracked, failures are counted at the spouts."""
LATE = "numLateRecordsDropped"


@dataclass(slots=True)
class Counts:
    """An engine's counts: of the whole topology by default."""

    failed: Counter[str]
    late: Counter[str]


def seeds_of(variable: str, default: str) -> range:
    """The seeds that an environment variable names, as `5` or `1:30`."""
    first, _, end = os.environ.get(variable, default).partition(":")
    return range(int(first), int(end) if end else int(first) + 1)


@contextmanager
def time_zone(zone: str) -> Iterator[None]:
    """The local time of this process, and of its children."""
    before = os.environ.get("TZ")
    os.environ["TZ"] = zone
    time.tzset()
    try:
        yield
    finally:
        os.environ.pop("TZ")
        if before is not None:
            os.environ["TZ"] = before
        time.tzset()


def by_the_tester(given: Drawn, folder: Path) -> Counts:
    """In this process, on a virtual clock, tuples of different lanes in any order; with
    checkpoints, processes die at times."""
    random, dying = Random(given.seed), list(_may_die(given))
    with TopologyTester(spec_of(given, folder), order="random", seed=given.seed) as tester:
        while tester.run_spouts(3):
            if given.mode != EFFECTIVELY_ONCE:
                continue
            if random.random() < CHECKPOINT_SHARE:
                tester.checkpoint()
            if random.random() < DEATH_SHARE:
                tester.crash(random.choice(dying))
        tester.finish()
        counts = Counts(Counter(), Counter())
        for part in given.parts:
            for each in tester._engine.instances(f"{part.name}-spout"):
                counts.failed["spouts"] += each.driver.statistics().failed_for_good
            for node in part.nodes:
                counts.late[node.name] = tester.metrics(node.name)["user"].get(LATE, 0)
                for each in tester._engine.instances(node.name):
                    counts.failed[node.name] += each.driver.statistics().failed_for_good
        for name in tester._engine.topology.by_name:
            tester.errors(name)
    return counts


def _may_die(given: Drawn) -> Iterator[str]:
    """Components with restarts outside of the counts: the tester does not count dead processes."""
    for part in given.parts:
        yield from (f"{part.name}-spout", *(f"{name}-seen" for name, _, _ in part.looks))
        for node in part.nodes:
            counts_late = node.kind in ("windows", "storms") and not node.has_late_stream
            if node.how == NEVER and not counts_late:
                yield node.name


def by_hosts(given: Drawn, folder: Path) -> Counts:
    """The Spark engine without Spark, in this process; hosts die now and then."""
    spec = topology_of(spec_of(given, folder), None, None, {})
    made = SparkRun(spec, folder.with_name(f"{folder.name}-checkpoint"), 40)
    random = Random(given.seed)

    def die(level: int) -> None:
        if made.kills < DEATHS_MAX and random.random() < DEATH_SHARE:
            made._host.close()  # its event loops, too: this process goes on
            raise InstanceKilled

    made.before_level = die
    metrics = QueryMetrics(spec, one_container(spec))
    for batch in made.run():
        results = json.loads(json.dumps(made.results))
        metrics.record_batch(Progress(batch, 1.0, tuple(results)), 0.0)
    return _counted(metrics)


def on_spark(given: Drawn, folder: Path, spark: Any) -> Counts:
    """As a query, with batches of a few tuples."""
    spec = topology_of(spec_of(given, folder), None, None, {})
    checkpoint = folder.with_name(f"{folder.name}-checkpoint")
    watched = Watched()
    spark.sparkContext.environment["TZ"] = given.zone  # of Spark's workers, so of the hosts
    with settings(spark, {"spark.sql.session.timeZone": given.session_zone}):
        assert run(spark, spec, checkpoint, watched, max_batch=300) == 0
    metrics = QueryMetrics(spec, one_container(spec))
    for each in watched.batches:
        metrics.record_batch(each, 0.0)
    return _counted(metrics)


def _counted(metrics: QueryMetrics) -> Counts:
    components = metrics.stats(None, 0.0).components
    late = {name: int(each.user_totals.get(LATE, 0)) for name, each in components.items()}
    failed = {name: each.failed_for_good for name, each in components.items()}
    return Counts(Counter(failed), Counter(late))


def natively(given: Drawn, folder: Path, place: Place) -> Counts:
    """`heronpy run`, a process for each instance."""
    place.environment |= {"DRAWN_SEED": str(given.seed), "DRAWN_RESULTS": str(folder)}
    place.environment["TZ"] = given.zone
    place.environment["PYTHONPATH"] = str(Path(HERE).parents[1])
    containers = 1 + given.seed // 3 % 2
    file = Path(drawn_topologies.__file__)
    ended = place.heronpy("run", file, "--containers", containers, secs=NATIVE_SECS)
    failed = re.search(r"INCOMPLETE: ([\d,]+) tuples? failed for good", ended.err)
    late = re.findall(r"(\S+): ([\d,]+) tuples? came too late", ended.err)
    counts = Counts(Counter(), Counter({name: _whole(n) for name, n in late}))
    if failed:
        counts.failed[""] = _whole(failed[1])
    assert "Traceback" not in ended.err, ended.err
    assert ended.code in ((0,) if not failed else (3,)), ended.err
    return counts


def _whole(text: str) -> int:
    return int(text.replace(",", ""))


@dataclass(frozen=True, slots=True)
class Round:
    """One seed on some engines; every run has a folder of its own below `path`."""

    seed: int
    path: Path
    spark: Any = None
    engines: Sequence[str] = FAST

    def complaints(self) -> Iterator[str]:
        """Errors of each engine."""
        given = drawn(self.seed)
        for engine in self.engines:
            for line in self.wrong(engine, given):
                yield f"seed {self.seed}, {engine}, {told(given)}: {line}"

    def wrong(self, engine: str, given: Drawn) -> list[str]:
        """Differences of an engine's results."""
        folder = Path(tempfile.mkdtemp(prefix=engine, dir=self.path))
        results = folder / "results"
        results.mkdir()
        if engine != NATIVE:
            given = replace(given, parts=tuple(_on(engine, each) for each in given.parts))
        with time_zone(given.zone):
            counts = self._run(engine, given, folder)
        gc.collect()  # a process that died in this one has not closed its event loops
        if engine not in (HOSTS, SPARK) and given.mode == ATLEAST_ONCE:
            counts.failed = Counter({ROOTS: counts.failed.total()})
        return list(_differences(given, results, counts))

    def _run(self, engine: str, given: Drawn, folder: Path) -> Counts:
        results = folder / "results"
        if engine == TESTER:
            return by_the_tester(given, results)
        if engine == HOSTS:
            return by_hosts(given, results)
        if engine == SPARK:
            return on_spark(given, results, self.spark)
        (folder / "place").mkdir()
        place = Place(folder / "place")
        try:
            return natively(given, results, place)
        finally:
            place.close()


def _on(engine: str, part: Part) -> Part:
    """The round in an engine's form. Only the native engine restarts a component with a new call:
    the rest abandon a raising tuple at once. Processes cannot end and restart in a run within this
    process."""
    nodes = []
    for each in part.nodes:
        how = each.how
        if how == RAISES_ONCE and each.on_exception == "restart":
            how = RAISES
        elif how == RAISES_ONCE and engine in FAST:
            how = NEVER
        nodes.append(replace(each, how=how))
    return replace(part, nodes=tuple(nodes))


def told(given: Drawn) -> str:
    """Choices of the whole round."""
    return f"{given.mode}, letters {given.letters or 'none'}, TZ {given.zone}"


def _differences(given: Drawn, results: Path, counts: Counts) -> Iterator[str]:
    wanted = [expected(part, given.letters) for part in given.parts]
    for part in given.parts:
        for line in differences(part, results, given.letters, given.mode == ATLEAST_ONCE):
            yield f"{line}\n    {part}"
    failed: Counter[str] = Counter()
    late: Counter[str] = Counter()
    letters: Counter[tuple[str, ...]] = Counter()
    for each in wanted:
        failed += Counter({ROOTS: len(each.roots)}) if ROOTS in counts.failed else each.failed
        late += each.late
        letters += each.letters
    if ROOTS in counts.failed and any(each.is_coupled for each in wanted):
        counts.failed &= failed  # at least so many
    yield from _compared("failed", counts.failed, Counter() if given.letters else failed)
    yield from _compared("late", counts.late, late)
    yield from _compared("letters", _letters(given, results), letters)


def _compared(what: str, found: Counter[Any], wanted: Counter[Any]) -> Iterator[str]:
    found, wanted = +found, +wanted
    if "" in found:  # of all components
        found, wanted = Counter({"": found.total()}), Counter({"": wanted.total()})
    if found != wanted:
        lacks, more = list((wanted - found).items()), list((found - wanted).items())
        yield f"{what}: {lacks[:3]} lack, {more[:3]} too much"


def _letters(given: Drawn, results: Path) -> Counter[tuple[str, ...]]:
    if given.letters != TO_FILES:
        found: Counter[tuple[str, ...]] = letters_found(results)
        return found
    return Counter(
        (
            *(str(each[name]) for name in ("component", "source", "stream", "exception")),
            *map(shown, values_of(each)),
        )
        for each in letters(str(results / "letters"))
    )


def main(first: int, behind: int, *engines: str) -> int:
    """Many rounds; errors are printed at once."""
    from heron_spark.driver.session import session
    from heron_spark.options import SparkOptions

    wrong = 0
    on = engines or FAST
    session_of = session("drawn", SparkOptions(master="local[2]")) if SPARK in on else nullcontext()
    with session_of as spark:
        for seed in range(first, behind):
            with tempfile.TemporaryDirectory(prefix="heron-") as folder:
                found = list(Round(seed, Path(folder), spark, on).complaints())
            wrong += bool(found)
            if found or seed % 20 == 0:
                print("\n".join(found) or f"seed {seed}: as expected", flush=True)
    print(f"{behind - first} seeds on {', '.join(on)}, {wrong} with differences")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), int(sys.argv[2]), *sys.argv[3:]))
