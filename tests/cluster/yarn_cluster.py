"""A real YARN: a ResourceManager and two NodeManagers, each a process of its own."""

import getpass
import json
import urllib.request
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

import psutil

from tests.cluster.hdfs import Hdfs
from tests.cluster.servers import START_SECS, Servers, free_ports
from tests.process.process_support import until

NODES = 2
NODE_MEMORY_MB = 4096
NODE_CORES = 8
"""More than a node's memory has containers for: a node without a free core does not enlarge
containers."""
LEAST_MB = 128
"""Memory is given in multiples of it."""
LOST_MS = 6000
"""A NodeManager is lost after this silence: longer than a pause of a busy machine."""
MASTER_LOST_MS = 60000
"""An application master may take so long to start on a busy machine; a death is reported at once by
its node manager."""
HEARTBEAT_MS = 100
SERVER = "org.apache.hadoop.yarn.server"
STATES = ("RUNNING", "LOST", "DECOMMISSIONED", "UNHEALTHY", "REBOOTED", "SHUTDOWN", "NEW")

OPENED = ("java.lang", "java.io", "java.net", "java.nio", "java.util", "java.util.concurrent")
"""Packages that Hadoop looks into and Java 17 keeps closed."""
ADD_OPENS = tuple(f"--add-opens=java.base/{each}=ALL-UNNAMED" for each in OPENED)

SCHEDULER = {
    "root.queues": "default,small,closed",
    "root.default.capacity": 90,
    "root.default.user-limit-factor": 10,
    "root.small.capacity": 10,
    "root.small.maximum-capacity": 10,
    "root.closed.capacity": 0,
    "root.closed.maximum-capacity": 0,
    "root.closed.state": "STOPPED",
    **{
        f"root.{queue}accessible-node-labels.edge.capacity": capacity
        for queue, capacity in (("", 100), ("default.", 100), ("small.", 0), ("closed.", 0))
    },
    "root.default.accessible-node-labels": "edge",
    "root.default.accessible-node-labels.edge.maximum-capacity": 100,
    "maximum-am-resource-percent": 1.0,
    "node-locality-delay": 0,
    # As clusters have it that count cores and not only memory.
    "resource-calculator": "org.apache.hadoop.yarn.util.resource.DominantResourceCalculator",
}


class YarnCluster:
    """Two nodes of 4 GiB and 8 cores; queues `default`, `small` (a tenth) and `closed` (stopped).

    `conf_dir` is HADOOP_CONF_DIR for users. A node keeps its address through a kill and a start;
    its containers survive, as NodeManagers without recovery forget them.
    """

    def __init__(self, folder: Path, jars: Path) -> None:
        self.folder = folder
        self.conf_dir = folder / "conf"
        self._servers = Servers(
            folder,
            jars,
            java_options=ADD_OPENS,
            environment={"HADOOP_CONF_DIR": str(self.conf_dir), "HADOOP_HOME": str(folder)},
        )
        self._hdfs = Hdfs(folder)
        ports = free_ports(5 + 3 * NODES)
        self._manager_ports, self._node_ports = ports[:5], ports[5:]
        self.web_url = f"http://127.0.0.1:{self._manager_ports[4]}"
        self._write_config(jars)

    def start(self) -> None:
        """Everything at the same time; returns when both nodes are registered."""
        self._servers.start("resourcemanager", f"{SERVER}.resourcemanager.ResourceManager")
        self._hdfs.start(self._servers)
        for number in range(NODES):
            self._start_node(number)
        until(self._is_ready, "YARN is ready", START_SECS)

    def _is_ready(self) -> bool:
        self._servers.all_run()
        states = list(self.node_managers().values())
        return states == ["RUNNING"] * NODES and self._hdfs.is_ready()

    def _start_node(self, number: int) -> None:
        ports = self._node_ports[3 * number : 3 * number + 3]
        folder, host = self.folder / f"node-{number}", _host(number)
        own = {
            "yarn.nodemanager.hostname": host,
            "yarn.nodemanager.address": f"{host}:{ports[0]}",
            "yarn.nodemanager.localizer.address": f"{host}:{ports[1]}",
            "yarn.nodemanager.webapp.address": f"{host}:{ports[2]}",
            "yarn.nodemanager.local-dirs": folder / "local",
            "yarn.nodemanager.log-dirs": folder / "logs",
            "hadoop.tmp.dir": folder / "tmp",
        }
        options = (f"-D{name}={value}" for name, value in own.items())
        self._servers.start(f"nodemanager-{number}", f"{SERVER}.nodemanager.NodeManager", *options)

    def kill_node_manager(self, number: int) -> None:
        """kill -9; the ResourceManager notices after LOST_MS."""
        self._servers.kill(f"nodemanager-{number}")

    def start_node_manager(self, number: int) -> None:
        """Start a killed node manager; returns once registered."""
        if not self._servers.is_started(f"nodemanager-{number}"):
            self._start_node(number)
        until(partial(self._is_registered, number), "the node is back", START_SECS)

    def _is_registered(self, number: int) -> bool:
        self._servers.all_run()
        return self.node_managers().get(self.node_id(number)) == "RUNNING"

    def node_id(self, number: int) -> str:
        """YARN's name of the node: HOST:PORT."""
        name = "localhost" if number == 0 else _host(number)
        return f"{name}:{self._node_ports[3 * number]}"

    def add_partition(self, name: str) -> None:
        """As `yarn rmadmin -addToClusterNodeLabels`; only nodes with the label are in it."""
        label = {"name": name, "exclusivity": "true"}
        self._tell("cluster/add-node-labels", {"nodeLabelInfo": [label]})

    def put_in_partition(self, number: int, name: str) -> None:
        """As `yarn rmadmin -replaceLabelsOnNode`; empty: in none."""
        path = f"cluster/nodes/{self.node_id(number)}/replace-labels"
        self._tell(f"{path}?labels={name}" if name else path, {})

    def _tell(self, path: str, body: Mapping[str, Any]) -> None:
        request = urllib.request.Request(
            f"{self.web_url}/ws/v1/{path}",
            json.dumps(body).encode(),
            {"Content-Type": "application/json"},
        )
        urllib.request.urlopen(request, timeout=10).close()

    def node_managers(self) -> dict[str, str]:
        """Node id -> state, such as RUNNING or LOST; empty while the ResourceManager is silent."""
        found = self.ask(f"cluster/nodes?states={','.join(STATES)}")
        nodes = (found.get("nodes") or {}).get("node", [])
        return {each["id"]: each["state"] for each in nodes}

    def applications(self) -> list[dict[str, Any]]:
        """All applications, as the ResourceManager's REST interface describes them."""
        return list((self.ask("cluster/apps").get("apps") or {}).get("app", []))

    def ask(self, path: str) -> dict[str, Any]:
        """The answer of /ws/v1/PATH; empty without an answer."""
        try:
            with urllib.request.urlopen(f"{self.web_url}/ws/v1/{path}", timeout=10) as answer:
                return dict(json.load(answer))
        except (OSError, ValueError):
            return {}

    def processes(self) -> list[psutil.Process]:
        """The servers, their containers, and their descendants."""
        return self._servers.processes()

    def log(self, server: str) -> str:
        """Log of `resourcemanager`, `nodemanager-0` or `nodemanager-1`."""
        return self._servers.log(server)

    def container_logs(self, application: str, name: str) -> Iterator[Path]:
        """Files of a name in the containers of an application on both nodes, the oldest first; YARN
        deletes them at the application's end."""
        found = self.folder.glob(f"node-*/logs/{application}/*/{name}")
        return iter(sorted(found, key=lambda each: each.stat().st_ctime))

    def stop(self) -> None:
        """Kill everything, containers included."""
        self._servers.stop()

    def _write_config(self, jars: Path) -> None:
        queues = {f"yarn.scheduler.capacity.{name}": value for name, value in SCHEDULER.items()}
        self._write("core-site", self._core_site())
        self._write("hdfs-site", self._hdfs.settings)
        self._write("capacity-scheduler", queues)
        self._write("yarn-site", {**self._yarn_site(), "yarn.application.classpath": f"{jars}/*"})

    def _write(self, name: str, settings: Mapping[str, object]) -> None:
        rows = "".join(
            f"<property><name>{name}</name><value>{escape(str(value))}</value></property>\n"
            for name, value in settings.items()
        )
        file = self.conf_dir / f"{name}.xml"
        file.write_text(f"<configuration>\n{rows}</configuration>\n")

    def _core_site(self) -> dict[str, object]:
        return {
            "fs.defaultFS": self._hdfs.url,
            "hadoop.tmp.dir": self.folder / "tmp",
            # User of unauthenticated requests to the web interfaces.
            "hadoop.http.staticuser.user": getpass.getuser(),
            "ipc.client.connect.retry.interval": 200,
        }

    def _yarn_site(self) -> dict[str, object]:
        names = ("address", "scheduler.address", "resource-tracker.address", "admin.address")
        addresses = {
            f"yarn.resourcemanager.{name}": f"127.0.0.1:{port}"
            for name, port in zip((*names, "webapp.address"), self._manager_ports, strict=True)
        }
        labels = {"yarn.node-labels.fs-store.root-dir": f"file://{self.folder}/node-labels"}
        return {**addresses, **YARN_SITE, **labels}


def _host(number: int) -> str:
    """Each node has a host of its own: YARN enlarges a container by its node's host."""
    return f"127.0.0.{1 + number}"


YARN_SITE: dict[str, object] = {
    "yarn.resourcemanager.hostname": "127.0.0.1",
    "yarn.resourcemanager.connect.retry-interval.ms": 200,
    "yarn.resourcemanager.nodemanagers.heartbeat-interval-ms": HEARTBEAT_MS,
    "yarn.nm.liveness-monitor.expiry-interval-ms": LOST_MS,
    "yarn.am.liveness-monitor.expiry-interval-ms": MASTER_LOST_MS,
    "yarn.resourcemanager.am.max-attempts": 4,
    "yarn.scheduler.minimum-allocation-mb": LEAST_MB,
    "yarn.scheduler.maximum-allocation-mb": NODE_MEMORY_MB,
    "yarn.scheduler.maximum-allocation-vcores": NODE_CORES,
    "yarn.nodemanager.resource.memory-mb": NODE_MEMORY_MB,
    "yarn.nodemanager.resource.cpu-vcores": NODE_CORES,
    "yarn.nodemanager.container-monitor.interval-ms": 500,
    "yarn.nodemanager.vmem-check-enabled": "false",
    # Without cgroups the node manager itself kills for memory.
    "yarn.nodemanager.resource.memory.enforced": "false",
    "yarn.nodemanager.disk-health-checker.max-disk-utilization-per-disk-percentage": 100,
    "yarn.nodemanager.recovery.enabled": "false",
    "yarn.node-labels.enabled": "true",
    "yarn.log-aggregation-enable": "true",
    "yarn.nodemanager.remote-app-log-dir": "/aggregated-logs",
}
