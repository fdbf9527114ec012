"""--cluster and --config-path: which cluster a command is about."""

from typing import TYPE_CHECKING

import click

from heron_cli.completers import complete_cluster
from heron_cli.options.common import Function, stacked
from heron_core.errors import UsageError

if TYPE_CHECKING:
    from heron_engine.scheduler.clusters.config import ClusterConfig

config_path_option = click.option(
    "--config-path",
    metavar="DIR",
    type=click.Path(),
    help="Folder of the cluster files instead of ~/.heronpy/clusters.",
)
cluster_options = stacked(
    click.option(
        "--cluster",
        metavar="NAME",
        shell_complete=complete_cluster,
        help="Cluster described by NAME.yaml in ~/.heronpy/clusters.",
    ),
    config_path_option,
)


def chosen(name: str | None, config_path: str | None) -> "ClusterConfig | None":
    """The cluster that the command line names, if it does; UsageError if it also gives an address
    by --zookeeper, for the cluster has one of its own."""
    if name is None:
        return None
    from heron_engine.scheduler.clusters.config import (
        cluster_of,  # it knows what packing takes: 15 ms
    )

    context = click.get_current_context(silent=True)
    source = context and context.get_parameter_source("zookeeper")
    if source is click.core.ParameterSource.COMMANDLINE:
        raise UsageError("--cluster says where the state is: leave out --zookeeper")
    return cluster_of(name, config_path)


def with_cluster(function: Function) -> Function:
    """Both options as one parameter `cluster`, a ClusterConfig or None."""
    import functools

    @functools.wraps(function)
    def command(cluster: str | None, config_path: str | None, **given: object) -> object:
        return function(cluster=chosen(cluster, config_path), **given)

    return cluster_options(command)
