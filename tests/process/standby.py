"""A second topology master of a running topology: python standby.py STORE_URL NAME LOG_FILE.

It lives until it is done, or until its stdin is closed.
"""

import sys

from heron_core.plans import packing_from_json
from heron_core.state_tree import keys_path, packing_path, topology_path
from heron_core.topology import topology_from_json
from heron_engine.topology_master import server
from heron_io.logs import log_to
from heron_io.processes import SupervisorLink
from heron_io.security import Keys
from heron_io.state_store.opening import open_store


def main(store_url: str, name: str, log_file: str) -> int:
    """Stand by with what the state store knows; returns the master's exit code."""
    log_to(log_file, "standby")
    store = open_store(store_url)
    topology = topology_from_json(store.get(topology_path(name)) or {})
    packing = packing_from_json(store.get(packing_path(name)) or {})
    keys = Keys.stored(store.get(keys_path(name)) or {})
    store.close()
    place = server.MasterArguments(store_url, keys)
    return server.run(topology, packing, place, SupervisorLink(sys.stdin.fileno()))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
