"""What an executor on this machine is started with."""

import os
import socket
from pathlib import Path

import pytest

from heron_core.plans import MASTER_CONTAINER, ContainerPlan, InstancePlan, PackingPlan, Resource
from heron_core.records import replace
from heron_core.topology import ComponentSpec, TopologySpec
from heron_engine.scheduler.backends.local import container_job
from heron_engine.scheduler.container import executor
from heron_engine.scheduler.registration import is_alive
from heron_engine.scheduler.submission import Submission
from heron_engine.scheduler.user_folder import Home
from heron_io.processes import SupervisorLink, started_at

NOTHING = Resource(0.0, 0, 0)
SUBMITTED = TopologySpec("words", (ComponentSpec("lines", True, "words.Lines", 1),))
CHANGED = replace(SUBMITTED, components=(ComponentSpec("lines", True, "words_2.Lines", 1),))


def test_an_executor_that_is_started_again_has_the_code_that_its_plan_has(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    # After its kill -9, when `heronpy update --code` has changed what was submitted.
    started: list[TopologySpec] = []

    def run(spec: executor.ContainerSpec, link: SupervisorLink) -> int:
        started.append(spec.topology)
        return 0

    monkeypatch.setattr(executor, "run", run)
    instances = (InstancePlan(1, "lines", 0, NOTHING),)
    packing = PackingPlan("words", (ContainerPlan(1, instances, NOTHING),), CHANGED)
    submission = Submission(SUBMITTED, packing, "file:///s", Home("/home"), foreground=True)
    for container in (MASTER_CONTAINER, 1):
        container_job(submission, container, str(tmp_path)).main(SupervisorLink(-1))
    assert started == [SUBMITTED, CHANGED]


def test_a_topology_whose_scheduler_was_killed_runs_as_long_as_its_guardian_does() -> None:
    """`list`, `kill` and `update` find it while the guardian takes the scheduler's place."""
    gone = {"pid": 2**22 + 1, "started": "1"}
    ours = {"pid": os.getpid(), "started": started_at(os.getpid())}
    node = {"kind": "local", "host": socket.gethostname(), **gone}
    assert not is_alive(node)
    assert is_alive({**node, "guardian": ours})
    assert not is_alive({**node, "guardian": gone})
    assert not is_alive({**node, "guardian": {**ours, "started": "another life"}})
