"""From a cluster's file to the back end that its topologies run on."""

import os
from collections.abc import Callable, Mapping

from heron_engine.scheduler.backends.protocol import Backend
from heron_engine.scheduler.backends.registry import local_backend, spark_backend
from heron_engine.scheduler.clusters.config import ClusterConfig

YARN_CONF_VARIABLE = "HADOOP_CONF_DIR"
YARN_QUEUE = "spark.yarn.queue"


def backend_of(cluster: ClusterConfig) -> Backend:
    """The back end; UsageError if what the file says about it cannot be."""
    return _BACKENDS[cluster.scheduler](cluster)


def _local(_: ClusterConfig) -> Backend:
    return local_backend()


def _spark(cluster: ClusterConfig) -> Backend:
    """Spark on YARN finds YARN through an environment variable."""
    options = cluster.options
    folder, queue = options.get("conf_dir"), options.get("queue")
    if folder is not None:
        os.environ[YARN_CONF_VARIABLE] = os.path.abspath(os.path.expanduser(folder))
    settings = {**({} if queue is None else {YARN_QUEUE: queue}), **options.get("settings", {})}
    words = tuple(f"{key}={value}" for key, value in settings.items())
    master = options.get("master", "local[*]")
    return spark_backend(master, words, options.get("python"), options.get("gang", False))


def _yarn(cluster: ClusterConfig) -> Backend:
    from heron_engine.scheduler.backends.yarn.backend import YarnBackend

    return YarnBackend(cluster)


def _aurora(cluster: ClusterConfig) -> Backend:
    from heron_engine.scheduler.backends.aurora.backend import AuroraBackend

    return AuroraBackend(cluster)


def _kubernetes(cluster: ClusterConfig) -> Backend:
    from heron_engine.scheduler.backends.kubernetes.backend import KubernetesBackend

    return KubernetesBackend(cluster)


_BACKENDS: Mapping[str, Callable[[ClusterConfig], Backend]] = {
    "local": _local,
    "spark": _spark,
    "yarn": _yarn,
    "aurora": _aurora,
    "kubernetes": _kubernetes,
}
