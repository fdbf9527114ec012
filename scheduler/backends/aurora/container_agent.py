"""`python -m scheduler.backends.aurora.container_agent`: an instance of an Aurora job.

The agent runs `python -m scheduler.container` with the arguments after `--`, and answers Aurora
on the port `health`: GET /health is `ok` while the container sends heartbeats; POST
/quitquitquit and /abortabortabort (HttpLifecycleConfig) end the container gracefully, like
SIGTERM. When the container ends, the agent ends with its exit code, and Aurora restarts the
instance. After a finished topology the agent stays, idle and healthy, until the job is killed,
to avoid a restart.
"""

import os
import signal
import sys
import threading
from collections.abc import Sequence

from heron_core.errors import HeronError
from heron_core.exit_codes import ExitCode
from heron_core.plans import MASTER_CONTAINER
from heron_engine.scheduler.cluster_nodes import keep_nodes
from heron_engine.scheduler.container.agent_arguments import (
    agent_parser,
    check_python,
    machine_arguments,
    parsed,
    remove_old_sockets,
)
from heron_engine.scheduler.container.service_instance import ServiceInstance, health_server

MODULE = "heron_engine.scheduler.backends.aurora.container_agent"
LOOPBACK = "127.0.0.1"
NODES_SECS, OTHERS_NODES_SECS = 0.5, 5.0
"""Interval of checks of the topology's nodes: by the instance with the topology master, and, as
a fallback, by all others, of which a job may have a hundred."""
STOP_PATHS = ("/quitquitquit", "/abortabortabort")


def main(words: Sequence[str]) -> int:
    """Run one instance until the end; returns its exit code."""
    parser = agent_parser(MODULE, __doc__)
    parser.add_argument("--health-port", required=True, type=int, metavar="PORT")
    given = parsed(parser, words)
    try:
        check_python(given.own.python, "aurora")
    except HeronError as error:
        print(error, file=sys.stderr)
        return ExitCode.UNSTARTED
    remove_old_sockets()
    os.makedirs(given.value("logs"), exist_ok=True)
    arguments = (*given.container, *machine_arguments(given.value("store")))
    instance = ServiceInstance(arguments, given.own.silent_secs)
    signal.signal(signal.SIGTERM, lambda *_: instance.stop("SIGTERM"))
    is_master = int(given.value("container")) == MASTER_CONTAINER
    watched = (given.value("store"), given.value("topology"), instance.has_ended,
            NODES_SECS if is_master else OTHERS_NODES_SECS)  # fmt: skip
    threading.Thread(target=keep_nodes, args=watched, name="nodes", daemon=True).start()
    # Aurora's executor is local; requests from other machines must not end a container.
    with health_server(instance, LOOPBACK, given.own.health_port, STOP_PATHS) as server:
        threading.Thread(target=server.serve_forever, name="health", daemon=True).start()
        return instance.run()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
