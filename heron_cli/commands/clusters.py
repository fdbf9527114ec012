"""`heronpy clusters`: the configured clusters, and checks of their requirements."""

import os
import shutil
import socket
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING

import click

from heron_cli.completers import complete_cluster
from heron_cli.options.cluster import config_path_option
from heron_core.errors import HeronError, UsageError
from heron_core.state_tree import lock_path
from heron_io.state_store.opening import open_store

if TYPE_CHECKING:
    from heron_engine.scheduler.clusters.config import ClusterConfig

VERSION_SECS = 2.0
"""Timeout of a ZooKeeper that has just answered: a second answer takes milliseconds."""
VERSION_BYTES_MAX = 4096


@click.command("clusters")
@click.argument("name", required=False, metavar="[NAME]", shell_complete=complete_cluster)
@config_path_option
def clusters_command(name: str | None, config_path: str | None) -> int:
    """List the clusters, and check each: whether the state store answers and is writable, and
    whether the requirements of the scheduler are met. Exit code 1 for a problem.

    \b
    heronpy clusters
    heronpy clusters west
    """
    from heron_engine.scheduler.clusters.config import cluster_of, folder_of, names_in

    folder = folder_of(config_path)
    names = names_in(folder) if name is None else [name]
    if not names:
        click.echo(f"No clusters in {folder}.")
    problems = 0
    for cluster_name in names:
        try:
            cluster = cluster_of(cluster_name, config_path)
        except UsageError as error:
            if name is not None:
                raise
            click.echo(f"{cluster_name}\n  problem: {error}")
            problems += 1
            continue
        click.echo(f"{cluster_name}: {cluster.scheduler}, {cluster.file}")
        for is_problem, line in checked(cluster):
            problems += is_problem
            click.echo(f"  {'problem' if is_problem else 'ok'}: {line}")
    return 1 if problems else 0


def checked(cluster: "ClusterConfig") -> Iterator[tuple[bool, str]]:
    """(whether the check failed, one line) for each requirement of the cluster."""
    yield _store(cluster)
    yield from _CHECKS[cluster.scheduler](cluster)


def _store(cluster: "ClusterConfig") -> tuple[bool, str]:
    """Reachable, and a node can be made and removed."""
    url = cluster.store_url
    path = lock_path(f"clusters__{socket.gethostname()}-{os.getpid()}")
    try:
        store = open_store(url)
        try:
            store.create(path, {"pid": os.getpid()}, ephemeral=True)
            store.delete(path)
        finally:
            store.close()
    except HeronError as error:
        return True, f"state {url}: {error}"
    return False, f"state {url}: {_store_version(url)}, can be written to"


def _store_version(url: str) -> str:
    if url.startswith("kubernetes://"):
        return "ConfigMaps and Leases"
    return zookeeper_version(url) if url.startswith("zk://") else "files of this machine"


def zookeeper_version(url: str) -> str:
    """Self-description of the first responding server (its command srvr)."""
    for address in url.removeprefix("zk://").partition("/")[0].split(","):
        host, _, port = address.rpartition(":")
        try:
            with socket.create_connection((host.strip("[]"), int(port)), VERSION_SECS) as sock:
                sock.sendall(b"srvr")
                answer = sock.recv(VERSION_BYTES_MAX).decode("utf-8", "replace")
        except OSError:
            continue
        if answer.startswith("Zookeeper version: "):
            return f"ZooKeeper {answer.removeprefix('Zookeeper version: ').split('-')[0]}"
    return "ZooKeeper of an unknown version"


def _local(cluster: "ClusterConfig") -> Iterator[tuple[bool, str]]:
    yield False, "containers are processes on this machine"


def _spark(cluster: "ClusterConfig") -> Iterator[tuple[bool, str]]:
    import importlib.util

    from heron_core.errors import JavaMissing
    from heron_engine.scheduler.clusters.backends import backend_of
    from heron_io.java import find_java

    if importlib.util.find_spec("pyspark") is None:
        yield True, "pyspark is not installed: pip install 'heronpy-topologies[spark]'"
    try:
        yield False, f"Java: {find_java()}"
    except JavaMissing as error:
        yield True, f"Java: {error}"
    try:
        backend_of(cluster)
    except HeronError as error:
        yield True, f"{error}"
    if cluster.options.get("master") == "yarn":
        yield _hadoop_folder(cluster)
    python = cluster.options.get("python")
    if python is not None:
        yield False, f"the workers' Python is {python}"


def _hadoop_folder(cluster: "ClusterConfig") -> tuple[bool, str]:
    from heron_engine.scheduler.backends.yarn.configuration import conf_folder

    try:
        key = f"spark: conf_dir in {cluster.file}"
        return False, f"YARN by {conf_folder(cluster.options.get('conf_dir'), key)}"
    except UsageError as error:
        return True, f"{error}"


def _yarn(cluster: "ClusterConfig") -> Iterator[tuple[bool, str]]:
    from heron_engine.scheduler.backends.yarn.backend import YarnBackend
    from heron_engine.scheduler.backends.yarn.checks import checks

    if problem := cluster.store_problem():
        yield True, problem
    try:
        yield from checks(YarnBackend(cluster))
    except HeronError as error:
        yield True, f"{error}"


def _aurora(cluster: "ClusterConfig") -> Iterator[tuple[bool, str]]:
    from heron_engine.scheduler.backends.aurora.backend import AuroraBackend

    backend = AuroraBackend(cluster)
    client, archives = backend.client("NAME"), cluster.archives
    assert archives is not None  # the file was checked
    if problem := cluster.store_problem():
        yield True, problem
    problem = backend.client_problem()
    yield problem is not None, problem or f"client {shutil.which(client.command[0])}"
    problem = backend.archives_problem()
    access = f"archives {archives.folder} can be written to, workers fetch them from {archives.uri}"
    yield problem is not None, problem or access
    yield False, f"jobs are called {client.job}"


def _kubernetes(cluster: "ClusterConfig") -> Iterator[tuple[bool, str]]:
    from heron_engine.scheduler.backends.kubernetes.backend import KubernetesBackend

    if problem := cluster.store_problem():
        yield True, problem
    backend = KubernetesBackend(cluster)
    try:
        with backend.objects() as objects:
            yield False, f"{objects.version()}, namespace {objects.namespace}"
            objects.listed("Deployment", "any")
        yield False, f"image {cluster.options['image']}"
    except HeronError as error:
        yield True, f"{error}"


_CHECKS: Mapping[str, Callable[["ClusterConfig"], Iterator[tuple[bool, str]]]] = {
    "local": _local,
    "spark": _spark,
    "yarn": _yarn,
    "aurora": _aurora,
    "kubernetes": _kubernetes,
}
