"""Plans of Spark drawn from a seed, to be laid over a topology's rows and over plain ones.

A plan is a list of transformations and some actions. Results of actions are made comparable: rows
are sorted, and for an order-dependent choice (limit, take) only the number counts, and membership
in the whole.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from random import Random
from typing import Any

from pyspark.sql import functions

Frame = Any
Step = Callable[[Frame], Frame]
"""Both frames have the columns n and seen, both bigint."""


def draw_steps(random: Random, most: int) -> list[tuple[str, Step]]:
    """Up to so many transformations, with their names."""
    drawn = (random.choice(_STEPS)(random) for _ in range(random.randint(0, most)))
    return list(drawn)


def laid_over(frame: Frame, steps: list[tuple[str, Step]]) -> Frame:
    """The frame with the transformations."""
    for _, step in steps:
        frame = step(frame)
    return frame


def _other(frame: Frame, first: int, end: int) -> Frame:
    return frame.sparkSession.range(first, end, 1, 3).selectExpr("id as n", "id % 7 as seen")


def _union(random: Random) -> tuple[str, Step]:
    first, before = random.randint(0, 900), random.random() < 0.5

    def step(frame: Frame) -> Frame:
        other = _other(frame, first, first + 20)
        return other.union(frame) if before else frame.union(other)

    return f"union({first}, {before})", step


def _union_with_itself(random: Random) -> tuple[str, Step]:
    rest = random.randint(0, 2)
    return f"union with n % 3 = {rest}", lambda frame: frame.union(frame.where(f"n % 3 = {rest}"))


def _filter(random: Random) -> tuple[str, Step]:
    rest = random.randint(0, 3)
    return f"where n % 4 <> {rest}", lambda frame: frame.where(f"n % 4 <> {rest}")


def _partitions(random: Random) -> tuple[str, Step]:
    kind, number = random.choice(("coalesce", "repartition", "by n")), random.randint(1, 5)
    by = ("n",) if kind == "by n" else ()
    name = "coalesce" if kind == "coalesce" else "repartition"
    return f"{kind}({number})", lambda frame: getattr(frame, name)(number, *by)


def _join(random: Random) -> tuple[str, Step]:
    kind, first = random.choice(("inner", "left", "left_anti", "left_semi")), random.randint(0, 800)

    def step(frame: Frame) -> Frame:
        other = _other(frame, first, first + 150).select("n")
        return frame.join(other, "n", kind).select("n", "seen")

    return f"{kind} join from {first}", step


def _join_with_itself(random: Random) -> tuple[str, Step]:
    shift = random.randint(0, 3)

    def step(frame: Frame) -> Frame:
        one, number = frame.distinct(), functions.col("n") + shift
        two = one.select(number.alias("n"))
        return one.join(two, "n").select("n", "seen")

    return f"join with itself, {shift} on", step


def _group(random: Random) -> tuple[str, Step]:
    by = random.randint(2, 9)

    def step(frame: Frame) -> Frame:
        groups = frame.groupBy((functions.col("n") % by).alias("n"))
        return groups.agg(functions.sum("seen").alias("seen"))

    return f"groupBy n % {by}", step


def _sorted_limit(random: Random) -> tuple[str, Step]:
    number, down = random.randint(0, 60), random.random() < 0.5

    def step(frame: Frame) -> Frame:
        order = frame.sort(functions.desc("n") if down else "n", "seen")
        return order.limit(number).coalesce(1)

    return f"sort, limit({number})", step


def _sorted(random: Random) -> tuple[str, Step]:
    return "sort", lambda frame: frame.sort("seen", "n")


def _of_both(random: Random) -> tuple[str, Step]:
    kind = random.choice(("exceptAll", "intersect", "intersectAll", "subtract"))
    first = random.randint(0, 900)

    def step(frame: Frame) -> Frame:
        other = frame.sparkSession.range(first, first + 90, 1, 2).selectExpr(
            "id as n", "1L as seen"
        )
        return getattr(frame, kind)(other)

    return f"{kind} from {first}", step


def _broadcast(random: Random) -> tuple[str, Step]:
    first, ours = random.randint(0, 800), random.random() < 0.5

    def step(frame: Frame) -> Frame:
        other = _other(frame, first, first + 150).select("n")
        small = functions.broadcast(frame) if ours else frame
        return other.join(small, "n").select("n", "seen")

    return f"broadcast join from {first}, {ours}", step


def _over(random: Random) -> tuple[str, Step]:
    by = random.randint(2, 9)
    sql = f"sum(seen) over (partition by n % {by} order by n, seen rows unbounded preceding)"
    return f"sum over n % {by}", lambda frame: frame.selectExpr("n", f"{sql} as seen")


def _kept(random: Random) -> tuple[str, Step]:
    kind = random.choice(("cache", "localCheckpoint"))
    return kind, lambda frame: getattr(frame, kind)()


def _limit_of_all(random: Random) -> tuple[str, Step]:
    return "limit of more than all", lambda frame: frame.limit(100_000)


def _offset(random: Random) -> tuple[str, Step]:
    number = random.randint(0, 60)
    return f"sort, offset({number})", lambda frame: frame.sort("n", "seen").offset(number)


def _attempts(random: Random) -> tuple[str, Step]:
    return "the first attempts fail", fails_once


_STEPS: list[Callable[[Random], tuple[str, Step]]] = [
    _union, _union_with_itself, _filter, _partitions, _partitions, _join, _join_with_itself, _group,
    _sorted_limit, _sorted, _of_both, _broadcast, _over, _kept, _limit_of_all, _offset, _attempts,
]  # fmt: skip


def fails_once(frame: Frame) -> Frame:
    """Equal rows; the first attempt of each task fails in the middle of its rows."""
    return frame.mapInArrow(_raises_at_first, frame.schema)


def _raises_at_first(batches: Iterator[Any]) -> Iterator[Any]:
    from pyspark import TaskContext

    context = TaskContext.get()
    for each in batches:
        yield each.slice(0, 1)
        if context is not None and context.attemptNumber() == 0:
            raise RuntimeError("the first attempt")
        yield each.slice(1)


def failed_tasks(spark: Any, group: str) -> int:
    """How many attempts of tasks have failed in the jobs of a group, by Spark's own count."""
    tracker = spark.sparkContext.statusTracker()
    jobs = [tracker.getJobInfo(each) for each in tracker.getJobIdsForGroup(group)]
    stages = {stage for each in jobs if each for stage in each.stageIds}
    return sum(found.numFailedTasks for found in map(tracker.getStageInfo, stages) if found)


def _rows(frame: Frame) -> Any:
    return sorted(map(tuple, frame.collect()), key=repr)


def _some(frame: Frame, number: int) -> int:
    """Number of rows of a limit, all of them rows of the whole."""
    found, whole = Counter(frame.take(number)), Counter(frame.collect())
    assert found <= whole, found - whole
    return found.total()


def _by_sql(frame: Frame) -> Any:
    frame.createOrReplaceTempView("drawn_plan")
    found = frame.sparkSession.sql(
        "select n % 10 as n, count(*) as rows from drawn_plan group by 1"
    )
    return _rows(found)


ACTIONS: dict[str, Callable[[Frame], Any]] = {
    "collect": _rows,
    "count": lambda frame: frame.count(),
    "take": lambda frame: _some(frame, 3),
    "take many": lambda frame: _some(frame, 300),
    "limit": lambda frame: frame.limit(5).count(),
    "first": lambda frame: frame.first() is None,
    "isEmpty": lambda frame: frame.isEmpty(),
    "sum": lambda frame: tuple(frame.agg(functions.sum("n"), functions.max("seen")).first()),
    "iterator": lambda frame: sorted(map(tuple, frame.toLocalIterator()), key=repr),
    "arrow": lambda frame: sorted(map(repr, frame.toArrow().to_pylist())),
    "pandas": lambda frame: sorted(map(tuple, frame.toPandas().itertuples(index=False)), key=repr),
    "sql": _by_sql,
    "rdd": lambda frame: frame.rdd.count(),
    "cache": lambda frame: (frame.cache().count(), _rows(frame), frame.unpersist() is None),
}
BY_THREADS = [name for name in ACTIONS if name not in ("rdd", "cache", "sql")]
"""An RDD's tasks do not know their query, in a separate thread; a cache and a view's name are of
all."""


def draw_actions(random: Random, names: list[str] | None = None) -> list[str]:
    """One to three."""
    return random.choices(names or list(ACTIONS), k=random.randint(1, 3))


def by_threads(calls: Sequence[Callable[[], Any]]) -> list[Any]:
    """Results of simultaneous actions, each in a thread; the first error."""
    with ThreadPoolExecutor(len(calls)) as pool:
        return [each.result() for each in [pool.submit(call) for call in calls]]
