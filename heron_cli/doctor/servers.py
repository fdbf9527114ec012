"""Checks of what topologies may use beside this machine: Java, ZooKeeper, clusters."""

import os
from collections.abc import Iterator

from heron_cli.doctor.results import CheckResult
from heron_core.errors import HeronError, JavaMissing, UsageError


def server_results(zookeeper: str | None, config_path: str | None) -> Iterator[CheckResult]:
    """Java, the ZooKeeper of --zookeeper, YARN's and Kubernetes' configuration, and each cluster of
    the cluster files in `config_path` (None: the user's)."""
    yield _java()
    yield _zookeeper(zookeeper)
    yield _hadoop()
    yield _kubernetes()
    yield from _clusters(config_path)


def _java() -> CheckResult:
    from heron_io.java import find_java

    try:
        return CheckResult("Java", "ok", f"{find_java()}")
    except JavaMissing as error:
        fault, _, remedy = str(error).partition(": ")
        return CheckResult("Java", "absent", f"{fault}; Spark and YARN need one", remedy)


def _zookeeper(address: str | None) -> CheckResult:
    from heron_cli.commands.clusters import zookeeper_version
    from heron_cli.options.state_store import store_url
    from heron_io.state_store.opening import open_store

    if not address:
        remedy = "set HERONPY_ZOOKEEPER=HOST:PORT where topologies of several machines are wanted"
        return CheckResult(
            "ZooKeeper", "absent", "none is configured, topologies stay here", remedy
        )
    url = store_url(address)
    try:
        with open_store(url) as store:
            number = len(store.children("/topologies"))
    except HeronError as error:
        return CheckResult("ZooKeeper", "problem", str(error), "start it, or set HERONPY_ZOOKEEPER")
    return CheckResult(
        "ZooKeeper", "ok", f"{address}, {zookeeper_version(url)}, {number} topologies"
    )


def _hadoop() -> CheckResult:
    from heron_engine.scheduler.backends.yarn.configuration import FOLDER_VARIABLES, conf_folder

    if not any(map(os.environ.get, FOLDER_VARIABLES)):
        remedy = "set HADOOP_CONF_DIR to the folder with yarn-site.xml to use YARN"
        return CheckResult("YARN", "absent", f"{FOLDER_VARIABLES[0]} is not set", remedy)
    try:
        return CheckResult("YARN", "ok", f"configured in {conf_folder(None, FOLDER_VARIABLES[0])}")
    except UsageError as error:
        return CheckResult("YARN", "problem", str(error))


def _kubernetes() -> CheckResult:
    from heron_io.kubernetes.access import access_of, namespace_of
    from heron_io.kubernetes.client import ApiClient

    try:
        access = access_of(os.environ)
    except UsageError as error:
        fault, _, remedy = str(error).partition(": ")
        return CheckResult("Kubernetes", "absent", fault, remedy)
    client = ApiClient(access)
    try:
        version = client.get("/version").get("gitVersion", "of a version that it does not tell")
    except HeronError as error:
        return CheckResult("Kubernetes", "problem", f"{access.address}: {error}")
    finally:
        client.close()
    namespace = namespace_of(os.environ)
    return CheckResult("Kubernetes", "ok", f"{access.address}, {version}, namespace {namespace}")


def _clusters(config_path: str | None) -> Iterator[CheckResult]:
    from heron_cli.commands.clusters import checked
    from heron_engine.scheduler.clusters.config import cluster_of, folder_of, names_in

    for name in names_in(folder_of(config_path)):
        try:
            lines = list(checked(cluster_of(name, config_path)))
        except HeronError as error:
            lines = [(True, str(error))]
        wrong = [line for is_problem, line in lines if is_problem]
        subject = f"cluster {name}"
        yield from (CheckResult(subject, "problem", line) for line in wrong)
        if not wrong:
            yield CheckResult(subject, "ok", "; ".join(line for _, line in lines))
