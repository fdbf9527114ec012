"""The reader of topologies: nodes of a topology that is being submitted or removed."""

import socket
from contextlib import closing
from pathlib import Path

import pytest

from heron_core.state_tree import execution_path, scheduler_path, topology_path
from heron_core.topology import topology_to_json
from heron_engine.scheduler.stored_outcomes import LOST
from heron_io.state_store.file_store import FileStore
from heron_tracker.model.reader import TrackerReader
from tests.unit.heron_tracker.tracker_support import SPEC

GONE = {"kind": "local", "host": socket.gethostname(), "pid": 2**22 + 1, "started": 1.0}
"""A scheduler of this machine; Linux gives no process such a number."""


@pytest.mark.parametrize(
    ("scheduler", "state"),
    [(None, "RUNNING"), (GONE, LOST), ({"kind": "yarn", "host": "far"}, "RUNNING")],
    ids=["not registered yet", "killed", "on a cluster"],
)
def test_a_topology_without_a_schedulers_node_is_not_lost(
    scheduler: object, state: str, tmp_path: Path
) -> None:
    """A submit creates the topology's node first, the scheduler adds its own after a second; the
    alert of a lost topology does not wait."""
    with FileStore(str(tmp_path)) as store:
        store.create(topology_path("words"), topology_to_json(SPEC))
        store.put(execution_path("words"), {"state": "RUNNING"})
        if scheduler is not None:
            store.put(scheduler_path("words"), scheduler)
        with closing(TrackerReader(store, 0.1)) as reader:
            assert reader.read("words").state == state
