"""The scheduler process of a topology: runs a back end's jobs, and restarts ended jobs.

In the foreground the scheduler ends with its command (its lifeline); detached, it continues. On
any end, the scheduler ends its jobs, removes the topology's nodes and sockets, and leaves logs,
an outcome file, and, unless the topology has ended or was killed by a user, state for the next
run of its name.
"""

import logging
import os
import shutil
from functools import partial
from typing import Any

from heron_core import config as keys
from heron_core.algorithms.backoff import UNLIMITED
from heron_core.config import log_settings
from heron_core.exit_codes import ExitCode
from heron_core.plans import TopologyState
from heron_core.records import replace
from heron_core.state_tree import scheduler_path
from heron_engine.scheduler.backends.local import READY_SECS, LocalBackend
from heron_engine.scheduler.backends.protocol import Supervised
from heron_engine.scheduler.container.supervisor import Supervisor
from heron_engine.scheduler.container.supervisor_events import ProcessSpec, SupervisorOutcome
from heron_engine.scheduler.guardian import Guarded, guardian_job
from heron_engine.scheduler.operation_runner import runner_job
from heron_engine.scheduler.operation_steps import BACK_SECS
from heron_engine.scheduler.outcomes import outcome_of, record_failure, write_outcome
from heron_engine.scheduler.own_nodes import Announcement, is_of
from heron_engine.scheduler.registration import (
    bring_states,
    end_states,
    forget_submission,
    scheduler_node,
)
from heron_engine.scheduler.socket_folders import sockets_folder
from heron_engine.scheduler.submission import Submission
from heron_engine.scheduler.update_plans import read_packings
from heron_io.logs import log_to
from heron_io.processes import ForkedChild, SupervisorLink, fork_child, started_at
from heron_io.state_store.opening import open_store

log = logging.getLogger("scheduler")


def start(submission: Submission, backend: Supervised) -> ForkedChild:
    """Fork the scheduler of a registered topology. Call it before any zmq context exists."""
    name = submission.topology.name
    submission.home.clean_logs(name)
    try:
        bring_states(submission, is_here=backend.kind == LocalBackend.kind)
    except BaseException:
        forget_submission(submission)
        raise

    def main(lifeline: int) -> int:
        if not submission.foreground:
            lifeline = _leave_terminal()
        return _serve(submission, backend, lifeline)

    return fork_child(f"heron: scheduler ({name})", main, killed_with_parent=False)


def _leave_terminal() -> int:
    """Become a daemon; returns a lifeline without an end."""
    os.setsid()
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 0)
    return _endless()


def _endless() -> int:
    """A lifeline without an end."""
    forever, _write_end = os.pipe()
    return forever


def _serve(submission: Submission, backend: Supervised, lifeline: int, sockets: str = "") -> int:
    """`sockets`: folder of the previous scheduler; empty for the first."""
    name = submission.topology.name
    sockets = sockets or sockets_folder()
    settings = log_settings(submission.topology.config)
    log_to(
        os.path.join(submission.home.logs(name), "scheduler.log"), "scheduler", settings=settings
    )
    outcome = SupervisorOutcome(ExitCode.TOPOLOGY_FAILED, "the scheduler failed")
    try:
        _announce(submission, backend, sockets)
        outcome = _supervise(submission, backend, lifeline, sockets)
    except Exception as error:
        log.exception("the scheduler fails")
        outcome = SupervisorOutcome(ExitCode.TOPOLOGY_FAILED, f"the scheduler failed: {error}")
    finally:
        shutil.rmtree(sockets, ignore_errors=True)
        state = write_outcome(submission, outcome)
        record_failure(submission.home, name)
        is_over = state == TopologyState.ENDED or outcome.code == ExitCode.KILLED
        if not submission.remove_at_end:  # else the store is the run's own, and goes as a whole
            is_ours = partial(is_of, _own_node(backend, sockets))
            ended = outcome_of(submission.home, name) or {"state": state, "reason": outcome.reason}
            forget_submission(submission, is_ours, is_over=is_over, ended=ended)
        elif is_over:
            end_states(submission)
        for path in submission.remove_at_end:
            shutil.rmtree(path, ignore_errors=True)
    log.info("the scheduler ends: %s", outcome.reason)
    return outcome.code


def _own_node(backend: Supervised, sockets: str) -> dict[str, Any]:
    """Content of the scheduler's node."""
    ours = {"pid": os.getpid(), "started": started_at(os.getpid()), "sockets": sockets}
    return {**scheduler_node(backend), **ours}


def _announce(submission: Submission, backend: Supervised, sockets: str) -> None:
    """Publish the scheduler of the topology, for kill and for conflicting names."""
    with open_store(submission.store_url) as store:
        store.put(scheduler_path(submission.topology.name), _own_node(backend, sockets))


def _supervise(
    submission: Submission, backend: Supervised, lifeline: int, sockets: str
) -> SupervisorOutcome:
    config = keys.with_defaults(submission.topology.config)
    silent_secs = keys.seconds(config, keys.LIVENESS_TIMEOUT_SECS)
    return Supervisor(
        _jobs(submission, backend, sockets),
        SupervisorLink(lifeline),
        UNLIMITED,
        silent_secs,
        lambda _: _jobs_of_both_plans(submission, backend, sockets),
        # Only of a killed executor; processes of a driver live on.
        kills_orphans=backend.kind == LocalBackend.kind,
        was_up=submission.was_up,
    ).run()


def _jobs(submission: Submission, backend: Supervised, sockets: str) -> list[ProcessSpec]:
    """The back end's, its first as the first, and the runner of operations."""
    are_children = backend.kind == LocalBackend.kind
    back_secs = READY_SECS if are_children else BACK_SECS
    node = _own_node(backend, sockets)
    announced = Announcement.of(submission, node)
    runner = runner_job(submission, announced, are_children, back_secs, sockets)
    jobs = [*backend.jobs(submission, sockets), runner]
    if are_children and not submission.foreground:

        def serve(again: Submission, sockets: str) -> int:
            return _serve(again, backend, _endless(), sockets)

        jobs.append(guardian_job(Guarded(submission, node, sockets, serve)))
    return jobs


def _jobs_of_both_plans(
    submission: Submission, backend: Supervised, sockets: str
) -> list[ProcessSpec]:
    """The topology is scaled: the jobs of both packing plans, each by the one it is to start by."""
    with open_store(submission.store_url) as store:
        packings = read_packings(store, submission.topology.name)
    jobs: dict[str, ProcessSpec] = {}
    for packing in (packings.current, packings.wanted):
        for job in _jobs(replace(submission, packing=packing, was_up=True), backend, sockets):
            jobs.setdefault(job.name, job)
    return list(jobs.values())
