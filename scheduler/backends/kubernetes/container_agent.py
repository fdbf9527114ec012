"""`python -m scheduler.backends.kubernetes.container_agent`: the container of a pod.

The agent runs `python -m scheduler.container` with the arguments after `--`, answers the
kubelet's probes, and prints the logs of its processes, each line with the name of its log, for
`kubectl logs`. SIGTERM ends the container gracefully. When the container ends, the agent ends
with its exit code, and the kubelet restarts it; after a finished topology the agent stays, idle
and healthy.
"""

import os
import signal
import sys
import threading
from collections.abc import Sequence

from heron_core.exit_codes import ExitCode
from heron_core.plans import MASTER_CONTAINER
from heron_core.version import PROTOCOL, VERSION, engine_text
from heron_engine.scheduler.backends.kubernetes.printed_logs import print_logs
from heron_engine.scheduler.cluster_nodes import keep_nodes
from heron_engine.scheduler.container.agent_arguments import (
    agent_parser,
    parsed,
    remove_old_sockets,
)
from heron_engine.scheduler.container.service_instance import ServiceInstance, health_server
from heron_engine.scheduler.packaging.archive import this_python
from heron_engine.scheduler.socket_folders import sockets_in

MODULE = "heron_engine.scheduler.backends.kubernetes.container_agent"
NODES_SECS, OTHERS_NODES_SECS = 5.0, 30.0
"""Between two polls of the topology's nodes: of the pod with the topology master, and of all
others; each poll is some requests to the API server."""


def main(words: Sequence[str]) -> int:
    """Run the container until the end; returns its exit code."""
    parser = agent_parser(MODULE, __doc__)
    parser.add_argument("--engine", required=True, metavar="TEXT", help="of who has submitted it")
    parser.add_argument("--health-port", required=True, type=int, metavar="PORT")
    parser.add_argument("--pod-ip", required=True, metavar="ADDRESS")
    given = parsed(parser, ["--python", this_python(), *words])
    here = engine_text(VERSION, PROTOCOL)
    if given.own.engine != here:
        print(
            f"the image has {here}, and {given.value('topology')} was submitted by "
            f"{given.own.engine}: name an image of that by kubernetes: image in the cluster's file",
            file=sys.stderr,
        )
        return ExitCode.UNSTARTED
    remove_old_sockets()
    os.makedirs(given.value("logs"), exist_ok=True)
    machine = ("--sockets", sockets_in(os.getcwd()), "--bind-host", given.own.pod_ip, "--waits",
               "--limited-by", "Kubernetes")  # fmt: skip
    instance = ServiceInstance((*given.container, *machine), given.own.silent_secs)
    signal.signal(signal.SIGTERM, lambda *_: instance.stop("SIGTERM"))
    is_master = int(given.value("container")) == MASTER_CONTAINER
    watched = (given.value("store"), given.value("topology"), instance.has_ended,
            NODES_SECS if is_master else OTHERS_NODES_SECS)  # fmt: skip
    threading.Thread(target=keep_nodes, args=watched, name="nodes", daemon=True).start()
    with (
        print_logs(given.value("logs"), sys.stdout),
        health_server(instance, given.own.pod_ip, given.own.health_port) as server,
    ):
        threading.Thread(target=server.serve_forever, name="health", daemon=True).start()
        return instance.run()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
