"""Options for topologies on Spark: as a query, or in containers on Spark."""

import functools
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import click

from heron_cli.options.common import Function, stacked
from heron_cli.options.numbers import Seconds
from heron_core.errors import UsageError

if TYPE_CHECKING:
    from heron_core.plans import PackingPlan
    from heron_core.topology import TopologySpec
    from heron_engine.scheduler.backends.protocol import Backend
    from heron_spark.options import SparkOptions as QueryOptions

NATIVE, SPARK, LOCAL = "native", "spark", "local"
CLUSTER_SCHEDULERS = ("yarn", "aurora", "kubernetes")
"""Schedulers that require a cluster file: command-line options do not suffice."""
LOCAL_MASTER = "local[*]"

_engine = stacked(
    click.option(
        "--engine",
        type=click.Choice([NATIVE, SPARK]),
        default=NATIVE,
        show_default=True,
        help="spark: compile the topology into one Structured Streaming query, exactly once.",
    ),
    click.option(
        "--checkpoint",
        metavar="DIR",
        help=(
            "--engine spark: checkpoint folder, from which the query resumes after a stop or "
            "a crash. Default of submit: ~/.heronpy/checkpoints/NAME."
        ),
    ),
    click.option(
        "--max-batch",
        type=click.IntRange(min=1),
        metavar="N",
        help="--engine spark: maximum deliveries of all spouts per batch.",
    ),
    click.option(
        "--batch-secs",
        type=Seconds(min_open=True),
        metavar="SECONDS",
        help="--engine spark: target duration of a batch.",
    ),
)
_scheduler = stacked(
    click.option(
        "--scheduler",
        type=click.Choice([LOCAL, SPARK, *CLUSTER_SCHEDULERS]),
        help=(
            "Where the containers run: on this machine (local, the default), as tasks of Spark, "
            "or (submit) on the only cluster of that kind in ~/.heronpy/clusters."
        ),
    ),
    click.option(
        "--master",
        metavar="URL",
        help="Spark master URL: local[2], local-cluster[2,1,600], spark://HOST:PORT, yarn, k8s://…",
    ),
    click.option(
        "--spark-config",
        "spark_config",
        multiple=True,
        metavar="KEY=VALUE",
        help="Setting of Spark; overrides ours. Repeatable.",
    ),
    click.option("--python", metavar="PATH", help="Python executable of Spark's workers."),
    click.option(
        "--gang", is_flag=True, help=("Start all containers together, in one barrier stage.")
    ),
)
_OF_THE_ENGINE = ("checkpoint", "max_batch", "batch_secs")
_OF_BOTH = ("master", "spark_config", "python", "gang")


@dataclass(frozen=True, slots=True)
class SparkCommandOptions:
    """Spark options of the command line."""

    scheduler: str | None
    """None: the scheduler of the cluster's file; without a cluster, the local machine."""
    master: str | None
    spark_config: tuple[str, ...]
    python: str | None
    gang: bool
    engine: str = NATIVE
    checkpoint: str | None = None
    max_batch: int | None = None
    batch_secs: float | None = None

    def check_cluster(self) -> None:
        """UsageError if an option says what the file of the chosen cluster says."""
        if self.compiles:
            raise UsageError("--cluster selects the scheduler: leave out --engine")
        for name in _OF_BOTH:
            if getattr(self, name):
                raise UsageError(f"the cluster's file has what {_option(name)} says: leave it out")

    def check_foreground(self) -> None:
        """UsageError for a scheduler that runs topologies after the command has ended."""
        if self.scheduler in CLUSTER_SCHEDULERS:
            raise UsageError(
                f"heronpy run ends its topology, and {self.scheduler} keeps it running: use "
                f"`heronpy submit --scheduler {self.scheduler}`"
            )

    @property
    def is_local(self) -> bool:
        """Whether everything runs on the local machine."""
        return self.master is None or self.master.startswith(LOCAL)

    @property
    def compiles(self) -> bool:
        """Whether the topology becomes a query."""
        return self.engine == SPARK

    def check(self) -> None:
        """UsageError for contradictory options."""
        if self.compiles and self.scheduler not in (None, LOCAL):
            raise UsageError("--engine spark needs no --scheduler: the query is the whole topology")
        if not self.compiles and self.scheduler != SPARK:
            self._refuse("--scheduler spark or --engine spark", *_OF_BOTH)
        if not self.compiles:
            self._refuse("--engine spark", *_OF_THE_ENGINE)
        if self.gang and self.scheduler != SPARK:
            raise UsageError("--gang requires --scheduler spark")

    def _refuse(self, needed: str, *names: str) -> None:
        for name in names:
            if getattr(self, name):
                raise UsageError(f"{_option(name)} requires {needed}")

    def options(self, seconds: float | None) -> "QueryOptions":
        """Options for heron_spark; UsageError for a --spark-config that is not KEY=VALUE."""
        from heron_engine.scheduler.backends.spark.render import parsed_settings
        from heron_spark.options import SparkOptions as QueryOptions

        given: dict[str, Any] = {
            name: getattr(self, name)
            for name in ("python", "max_batch", "batch_secs")
            if getattr(self, name)
        }
        return QueryOptions(
            master=self.master or LOCAL_MASTER,
            checkpoint=self.checkpoint,
            seconds=seconds,
            config=tuple(parsed_settings(self.spark_config)),
            **given,
        )

    def backend(self, name: str) -> "Backend":
        """The runner of the topology called `name`."""
        from heron_engine.scheduler.backends.registry import local_backend, spark_backend

        if self.compiles:
            from heron_spark.backend.query_backend import query_backend

            return query_backend(self.options(None), name)
        if self.scheduler != SPARK:
            return local_backend()
        master = self.master or LOCAL_MASTER
        return spark_backend(master, self.spark_config, self.python, self.gang)

    def packing(self, topology: "TopologySpec") -> "PackingPlan":
        """The packing plan; a query has one instance."""
        from heron_cli.configure import packing_plan

        if not self.compiles:
            return packing_plan(topology)
        from heron_spark.compile.plan import one_container

        return one_container(topology)


def _option(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def with_spark_options(function: Function) -> Function:
    """All the options above as one parameter `spark`, checked."""
    return stacked(_engine, _scheduler)(_joined(function))


def _joined(function: Function) -> Function:
    names = [each.name for each in fields(SparkCommandOptions)]

    @functools.wraps(function)
    def command(**given: Any) -> Any:
        spark = SparkCommandOptions(**{name: given.pop(name) for name in names if name in given})
        spark.check()
        return function(spark=spark, **given)

    return command
