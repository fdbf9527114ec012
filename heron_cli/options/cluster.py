"""--cluster and --config-path: the cluster of a command."""

from typing import TYPE_CHECKING, Any

import click

from heron_cli.completers import complete_cluster
from heron_cli.options.common import Function, stacked
from heron_cli.options.spark import CLUSTER_SCHEDULERS
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
    """The cluster named on the command line, or None; UsageError together with --zookeeper, because
    a cluster has its own address."""
    if name is None:
        return None
    from heron_engine.scheduler.clusters.config import (
        cluster_of,  # imports the packing options: 15 ms
    )

    context = click.get_current_context(silent=True)
    source = context and context.get_parameter_source("zookeeper")
    if source is click.core.ParameterSource.COMMANDLINE:
        raise UsageError("the cluster's file says where the state is: leave out --zookeeper")
    return cluster_of(name, config_path)


def scheduled(
    kind: str | None, name: str | None, config_path: str | None
) -> "ClusterConfig | None":
    """The cluster selected by --scheduler and --cluster; None if options suffice.

    One rule for all schedulers: --cluster names a file; --scheduler may repeat the scheduler of the
    file. Without --cluster, `local` and `spark` need no file; for any remaining scheduler the only
    cluster of its kind is selected. UsageError for a contradiction, or unless exactly one cluster
    matches.
    """
    cluster = chosen(name, config_path)
    if cluster is not None:
        if kind not in (None, cluster.scheduler):
            raise UsageError(
                f"--scheduler {kind} is not that of the cluster {name}: {cluster.file} says "
                f"{cluster.scheduler}; leave out one of them"
            )
        return cluster
    if kind not in CLUSTER_SCHEDULERS:
        return None
    name = _only_cluster(kind, config_path)
    cluster = chosen(name, config_path)
    assert cluster is not None
    click.echo(
        f"note: --scheduler {kind} leads to {cluster.file}; other commands need --cluster {name}",
        err=True,
    )
    return cluster


def _only_cluster(kind: str, config_path: str | None) -> str:
    """The name of the only cluster with the scheduler."""
    from heron_engine.scheduler.clusters.config import cluster_of, folder_of, names_in

    folder = folder_of(config_path)
    try:
        names = [
            name for name in names_in(folder) if cluster_of(name, config_path).scheduler == kind
        ]
    except UsageError as error:
        raise UsageError(f"{error} (--cluster NAME reads only the file of NAME)") from None
    if not names:
        raise UsageError(
            f"--scheduler {kind} needs the file of a cluster: write {folder}/NAME.yaml with "
            f"scheduler: {kind} ({_PAGES[kind]})"
        )
    if len(names) > 1:
        raise UsageError(
            f"{len(names)} clusters in {folder} have scheduler: {kind} ({', '.join(names)}): "
            "choose by --cluster"
        )
    return names[0]


_PAGES = {
    "kubernetes": "docs/KUBERNETES.md",
    "yarn": "docs/YARN.md",
    "aurora": "docs/DEPLOY.md#aurora",
}
"""Scheduler -> documentation of the cluster file."""


def with_cluster(function: Function) -> Function:
    """Options --cluster and --config as one parameter `cluster`: a ClusterConfig or None,
    consistent with --scheduler.
    """
    import functools

    @functools.wraps(function)
    def command(cluster: str | None, config_path: str | None, **given: Any) -> object:
        return function(cluster=scheduled(given.get("scheduler"), cluster, config_path), **given)

    return cluster_options(command)
