"""Builds topologies, runs them in the session's Spark, and reads what their sinks printed."""

import json
import os
import pickle
import signal
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from heron_core.topology import (
    ComponentSpec,
    GroupingKind,
    GroupingSpec,
    InputSpec,
    StreamSpec,
    TopologySpec,
)
from heron_spark.compile.plan import compile_topology
from heron_spark.driver.progress import Progress
from heron_spark.driver.run import checkpoint, run_in
from heron_spark.options import SparkOptions

HERE = str(Path(__file__).parent)
NUMBER = StreamSpec("default", ("number", "key"))
WINDOWS = ("ByWindow", "ByTimer")


def spout(name: str, kind: str = "Numbers", par: int = 1, **config: Any) -> ComponentSpec:
    """A spout of spark_topologies."""
    outputs = (
        (StreamSpec("default", ("number",)),)
        if kind == "Lines"
        else (
            NUMBER,
            StreamSpec("third", ("number",)),
            StreamSpec("chosen", ("number",), direct=True),
        )
    )
    return ComponentSpec(name, True, f"spark_topologies.{kind}", par, outputs, (), config)


def bolt(name: str, kind: str, par: int, *inputs: InputSpec, **config: Any) -> ComponentSpec:
    """A bolt of spark_topologies or spark_windows."""
    outputs = (NUMBER,) if kind in ("Times", "Ticking", "Mixing", *WINDOWS) else ()
    keys = {f"test.{key}": value for key, value in config.items()}
    module = "spark_windows" if kind in WINDOWS else "spark_topologies"
    return ComponentSpec(name, False, f"{module}.{kind}", par, outputs, inputs, keys)


def reads(
    component: str, kind: str = "shuffle", *fields: str, stream: str = "default"
) -> InputSpec:
    """A subscription."""
    custom = pickle.dumps("spark_topologies.ByParity") if kind == "custom" else None
    return InputSpec(component, stream, GroupingSpec(GroupingKind(kind), fields, custom))


def topology(name: str, count: int, *components: ComponentSpec, **config: Any) -> TopologySpec:
    """A topology whose spouts emit `count` numbers."""
    return TopologySpec(name, components, {"test.count": count, **config}, search_paths=(HERE,))


@dataclass
class Watched:
    """Collects each batch; with `stop_after` it presses Ctrl-C when so many are done."""

    stop_after: int | None = None
    batches: list[Progress] = field(default_factory=list)

    def __call__(self, progress: Progress) -> None:
        self.batches.append(progress)
        if len(self.batches) == self.stop_after:
            os.kill(os.getpid(), signal.SIGINT)

    @property
    def printed(self) -> list[dict[str, Any]]:
        """The JSON lines that components printed."""
        lines = [
            line for each in self.batches for result in each.results for line in result["printed"]
        ]
        return [json.loads(line.partition(" | ")[2]) for line in lines]

    def seen(self, component: str) -> dict[int, list[Any]]:
        """task -> numbers seen, of a component of Seen."""
        return {
            each["task"]: each["seen"]
            for each in self.printed
            if each.get("component") == component
        }

    @property
    def counts(self) -> dict[Any, int]:
        found: dict[Any, int] = {}
        for each in self.printed:
            for value, number in each.get("counts", ()):
                found[value] = found.get(value, 0) + number
        return found


def run(
    spark: Any,
    spec: TopologySpec,
    folder: Path,
    watched: Callable[[Progress], None],
    max_batch: int = 100_000,
    seconds: float | None = None,
) -> int:
    """Run a topology in a session with a checkpoint, until its end or a stop."""
    options = SparkOptions(checkpoint=str(folder), max_batch=max_batch, seconds=seconds)
    plan = compile_topology(spec)
    with checkpoint(plan, options) as claimed:
        return run_in(spark, plan, claimed, options, watched)


def numbers(seen: Sequence[Any], at: int = 2) -> list[int]:
    """The first value of each tuple seen, sorted."""
    return sorted(each[at] for each in seen)
