"""Streamlets that run in this process, and sources that a test feeds."""

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
    """Gives what the test puts into `waiting` of the running copy; it never ends."""

    def setup(self, context: Context) -> None:
        self.waiting: list[Any] = []

    def get(self) -> Any:
        return self.waiting.pop(0) if self.waiting else None


def given(items: Iterable[Any]) -> Callable[[], Any]:
    """A supplier of these, that ends."""
    rest = iter(list(items))
    return lambda: next(rest)


def nothing(element: Any) -> None:
    """For `consume`: what a stage emits is only seen if somebody reads it."""


def spec_of(program: Program, config: Config | None = None) -> TopologySpec:
    """The topology that a program of streamlets submits; each stage is a bolt unless `config` says
    otherwise, so that a test sees what comes out of it."""
    builder = Builder()
    program(builder)
    config = config or Config({"topology.streamlet.fusion": False})
    return submitted(lambda: Runner().run("tested", config, builder))


def fused_of(program: Program, **config: Any) -> TopologySpec:
    """The same as a user gets it."""
    return spec_of(program, Config(config))


def cluster_of(program: Program, **config: Any) -> LocalCluster:
    """Its instances."""
    return LocalCluster(spec_of(program), **config)


def feed(cluster: LocalCluster, *elements: Any, source: str = "generator-1") -> None:
    """Let a Fed source emit these, and everything that comes of it happen."""
    cluster.component(source)._generator.waiting.extend(elements)
    for _ in elements:
        cluster.turn()
