"""Streamlets in this process, and sources fed by a test."""

from collections.abc import Callable, Iterable
from typing import Any

from heron_core.topology import TopologySpec
from heronpy_compat.streamlet.builder import Builder
from heronpy_compat.streamlet.config import Config
from heronpy_compat.streamlet.context import Context
from heronpy_compat.streamlet.generator import Generator
from heronpy_compat.streamlet.runner import Runner
from tests.unit.local_cluster import LocalCluster, submitted

Program = Callable[[Builder], object]


class Fed(Generator):
    """Gives the elements put into `waiting` of the running copy; endless."""

    def setup(self, context: Context) -> None:
        self.waiting: list[Any] = []

    def get(self) -> Any:
        return self.waiting.pop(0) if self.waiting else None


def given(items: Iterable[Any]) -> Callable[[], Any]:
    """A finite supplier of the given elements."""
    rest = iter(list(items))
    return lambda: next(rest)


def nothing(element: Any) -> None:
    """For `consume`: emits of a stage are visible only with a reader."""


def spec_of(program: Program, config: Config | None = None) -> TopologySpec:
    """The topology submitted by a program of streamlets; each stage is a bolt unless set otherwise
    by `config`, so that a test sees each stage's output."""
    builder = Builder()
    program(builder)
    config = config or Config({"topology.streamlet.fusion": False})
    return submitted(lambda: Runner().run("tested", config, builder))


def fused_of(program: Program, **config: Any) -> TopologySpec:
    """The topology as for a user, fused."""
    return spec_of(program, Config(config))


def cluster_of(program: Program, **config: Any) -> LocalCluster:
    return LocalCluster(spec_of(program), **config)


def feed(cluster: LocalCluster, *elements: Any, source: str = "generator-1") -> None:
    """Let a Fed source emit the elements, and process all consequences."""
    cluster.component(source)._generator.waiting.extend(elements)
    for _ in elements:
        cluster.turn()
