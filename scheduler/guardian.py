"""The process to replace a killed scheduler of a submitted topology.

The guardian is a child of the scheduler and only waits for the scheduler's end: a scheduler that
ends gracefully ends its guardian first. A dead guardian is restarted by the scheduler. So either
can restart the other, and the loss of one process never ends a topology.

    scheduler killed ─► its containers end gracefully, by their lifelines
                     ─► the guardian waits for that, and becomes the scheduler: the same process id
                        that the scheduler's node names as guardian, so commands go on meanwhile
                     ─► it starts the containers, and a guardian of its own
"""

import logging
import os
import select
import time
from collections.abc import Callable
from typing import Any

from msgspec import Struct
from setproctitle import setproctitle

from heron_core.errors import HeronError
from heron_core.exit_codes import ExitCode
from heron_core.records import replace
from heron_core.state_tree import scheduler_path
from heron_engine.scheduler.container.own_process import processes_in
from heron_engine.scheduler.container.shutdown_timeouts import CONTAINER_SHUTDOWN_SECS
from heron_engine.scheduler.container.supervisor_events import ProcessSpec
from heron_engine.scheduler.own_nodes import GUARDIAN, is_of
from heron_engine.scheduler.submission import Submission
from heron_engine.scheduler.update_plans import read_packings
from heron_io.polling import wait_until
from heron_io.processes import SupervisorLink, started_at
from heron_io.state_store.opening import open_store

log = logging.getLogger("guardian")

NAME = "guardian"
SHUTDOWN_SECS = 1.0
HEARTBEAT_SECS = 1.0
AGAIN_SECS = 5.0
"""Pause between two attempts to write into the state store."""
ENDED_SECS = 2 * CONTAINER_SHUTDOWN_SECS
"""Shutdown timeout of containers without their scheduler; later survivors are detected by the
successors of their stream managers and masters, and end then."""
PREDECESSOR = "stopped because its scheduler was killed"


class Guarded(Struct, frozen=True):
    """The guarded scheduler."""

    submission: Submission
    node: dict[str, Any]
    """Initial content of the scheduler's node."""
    sockets: str
    serve: Callable[[Submission, str], int]
    """Be the scheduler of a submission, with that folder for sockets."""


def guardian_job(guarded: Guarded) -> ProcessSpec:
    """The guardian as a job of the scheduler."""
    name = guarded.submission.topology.name

    def main(link: SupervisorLink) -> int:
        _wait_for_the_end(guarded, link)
        log.warning("the scheduler was killed: its guardian takes over")
        os.close(link.lifeline)
        setproctitle(f"heron: scheduler ({name})")
        return _take_over(guarded)

    title = f"heron: guardian ({name})"
    return ProcessSpec(NAME, title, main, SHUTDOWN_SECS, killed_with_parent=False, is_urgent=False)


def _wait_for_the_end(guarded: Guarded, link: SupervisorLink) -> None:
    """Wait for the scheduler's end; meanwhile the node names the guardian."""
    link.came_up()
    teller, tell_at = 0, 0.0
    while not select.select([link.lifeline], [], [], HEARTBEAT_SECS)[0]:
        link.heartbeat()
        if teller:
            ended, status = os.waitpid(teller, os.WNOHANG)
            if ended:
                teller, tell_at = 0, float("inf") if status == 0 else time.monotonic() + AGAIN_SECS
        elif time.monotonic() >= tell_at:
            teller = _tell(guarded)


def _tell(guarded: Guarded) -> int:
    """Write the guardian into the scheduler's node, in a child process: clients of the state
    store start threads, which would prevent forks. Returns the pid."""
    node = {"pid": os.getpid(), "started": started_at(os.getpid())}
    child = os.fork()
    if child:
        return child
    code = 1
    try:
        with open_store(guarded.submission.store_url) as store:
            path = scheduler_path(guarded.submission.topology.name)
            stored = store.get(path)
            if isinstance(stored, dict) and is_of(guarded.node, stored):
                store.put(path, {**stored, GUARDIAN: node})
                code = 0
    except HeronError:
        pass
    os._exit(code)


def _take_over(guarded: Guarded) -> int:
    """Be the scheduler; the exit code. Not of a topology whose nodes are gone, or another one's."""
    submission, name = guarded.submission, guarded.submission.topology.name
    left = processes_in(guarded.sockets)
    if not wait_until(lambda: not any(started_at(x) == since for x, since in left), ENDED_SECS):
        log.warning("containers of the scheduler that was killed have not ended yet")
    while True:
        try:
            with open_store(submission.store_url) as store:
                if not is_of(guarded.node, store.get(scheduler_path(name))):
                    log.warning("the topology has ended, or another scheduler runs it")
                    return ExitCode.SUPERSEDED
                packing = read_packings(store, name).current
            break
        except HeronError as error:
            log.warning("the state store does not answer yet: %s", error)
            time.sleep(AGAIN_SECS)
    again = replace(submission, packing=packing, was_up=True, predecessor=PREDECESSOR)
    return guarded.serve(again, guarded.sockets)
