"""The running topology of a command, and its state store.

NAME may be an argument or, as in sparse, -n NAME. Default: the only topology of the project in
the current folder; for read-only commands first the only running topology.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import click

from heron_cli.completers import complete_running
from heron_cli.environment import NamedEnvironment, environment_of, environments_in
from heron_cli.options.cluster import chosen, cluster_options
from heron_cli.options.common import Function, environment_options, note_ignored, stacked
from heron_cli.options.state_store import opened, store_url, zookeeper_option
from heron_cli.project import project_here, required
from heron_cli.running_topology import RunningTopology, running, running_names
from heron_core.errors import UsageError
from heron_io.state_store.protocol import StateStore


@dataclass(frozen=True, slots=True)
class StoreOptions:
    """Where to look for topologies: --cluster, --zookeeper, or what an environment of the project
    says."""

    environment: str | None = None
    config_file: str | None = None
    zookeeper: str | None = None
    cluster: str | None = None
    config_path: str | None = None

    @contextmanager
    def store(self) -> Iterator[StateStore]:
        """The state store, closed afterwards."""
        with opened(self.store_url()) as store:
            yield store

    def store_url(self) -> str:
        """Of the cluster, or else of ZooKeeper's address."""
        cluster = chosen(self.cluster, self.config_path)
        return store_url(self.zookeeper_address()) if cluster is None else cluster.store_url

    def zookeeper_address(self) -> str | None:
        """HOST:PORT[/ROOT], or None for the user's files; reports ignored options."""
        environment = self._environment()
        note_ignored(each for each in environment.ignored if each == "nimbus")
        return self.zookeeper or environment.zookeeper

    def option(self, key: str) -> Any:
        """The environment's value for a config key of its topologies; None if not set."""
        return self._environment().options.get(key)

    def _environment(self) -> NamedEnvironment:
        project = project_here(self.config_file)
        if self.environment is not None:
            return environment_of(required(project, f"-e {self.environment}"), self.environment)
        if project is None:
            return NamedEnvironment()
        every = [environment_of(project, environment) for environment in environments_in(project)]
        addresses = {each.zookeeper for each in every}
        if len(every) < 2 or (self.zookeeper is None and len(addresses) > 1):
            return environment_of(project, None)
        return NamedEnvironment(zookeeper=every[0].zookeeper)


@dataclass(frozen=True, slots=True)
class Target:
    """The topology named on the command line, if any, and the state store."""

    given: str | None
    store_options: StoreOptions

    def name(self) -> str:
        """The named topology, or the project's only topology; else UsageError."""
        found = self.given or self.of_project()
        if found is None:
            with self.store_options.store() as store:
                known = ", ".join(running_names(store)) or "none"
            raise UsageError(f"give the NAME of a topology (running: {known})")
        return found

    def name_or_only(self) -> str:
        """Like `name`, but the only running topology precedes the project's."""
        return self.given or self.only_running() or self.name()

    def only_running(self) -> str | None:
        """The running topology, if exactly one runs."""
        with self.store_options.store() as store:
            names = running_names(store)
        return names[0] if len(names) == 1 else None

    def of_project(self) -> str | None:
        """The topology of the project in the current folder, if exactly one exists."""
        project = project_here(self.store_options.config_file)
        files = project.topology_files() if project is not None else {}
        return next(iter(files)) if len(files) == 1 else None

    @contextmanager
    def running(self, name: str) -> Iterator[RunningTopology]:
        """The running topology called `name`."""
        with running(name, self.store_options.store_url()) as topology:
            yield topology


def with_store_options(function: Function) -> Function:
    """-e, --config, --zookeeper and those of a cluster, for the parameter `store_options`."""
    import functools

    @functools.wraps(function)
    def command(**given: Any) -> Any:
        names = StoreOptions.__dataclass_fields__
        return function(
            store_options=StoreOptions(**{name: given.pop(name) for name in names}), **given
        )

    return stacked(environment_options, zookeeper_option, cluster_options)(command)


def target_options(*, override: bool = False) -> Callable[[Function], Function]:
    """NAME and -n NAME in addition to the state store options; passed to the function as
    `target`.

    `override` adds sparse's -N, a synonym of -n here.
    """
    import functools

    def decorate(function: Function) -> Function:
        @functools.wraps(function)
        def command(**given: Any) -> Any:
            words = (given.pop("topology"), given.pop("name"))
            name = given.pop("override_name", None) or _one_of(*words)
            return function(target=Target(name, given.pop("store_options")), **given)

        names = (_NAME_ARGUMENT, _NAME_OPTION, *((_OVERRIDE_OPTION,) if override else ()))
        return stacked(*names)(with_store_options(command))

    return decorate


def _one_of(argument: str | None, option: str | None) -> str | None:
    if argument is not None and option is not None and argument != option:
        raise UsageError(f"both {argument!r} and -n {option!r} are named: leave one out")
    return argument or option


_NAME_ARGUMENT = click.argument(
    "topology", metavar="[NAME]", required=False, shell_complete=complete_running
)
_NAME_OPTION = click.option(
    "-n",
    "--name",
    metavar="NAME",
    shell_complete=complete_running,
    help="Name of the topology; alias of the argument NAME.",
)
_OVERRIDE_OPTION = click.option(
    "-N",
    "--override-name",
    metavar="NAME",
    shell_complete=complete_running,
    help="Name given by `submit -N`.",
)
