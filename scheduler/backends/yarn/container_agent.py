"""`python -m scheduler.backends.yarn.container_agent`: one container of the packing plan on
YARN.

The agent runs `python -m scheduler.container` with the arguments after `--`, and ends with the
container's exit code and reason on stderr, which YARN passes to the application master. The
agent watches the scheduler's node in the state store: when its number belongs to a different
YARN container, or must end, the agent ends gracefully. So the agent never outlives the
application, even without a node manager to kill it. All of its processes are in YARN's process
group.

A standby container has a number outside of any plan (standby.py). It waits, with YARN's
allocation complete, until the scheduler's node assigns it to a container of the plan.
"""

import logging
import os
import signal
import sys
from collections.abc import Sequence
from contextlib import suppress
from queue import Empty, SimpleQueue
from threading import Timer
from typing import Any

from heron_core.errors import HeronError, StateStoreError
from heron_core.exit_codes import ExitCode
from heron_core.state_tree import scheduler_path
from heron_engine.scheduler.backends.yarn.requests import end_reason, number_of, standby_end_reason
from heron_engine.scheduler.backends.yarn.standby import is_standby
from heron_engine.scheduler.container.agent import ContainerAgent
from heron_engine.scheduler.container.agent_arguments import (
    agent_parser,
    check_python,
    machine_arguments,
    parsed,
    remove_old_sockets,
)
from heron_io.logs import log_text_to
from heron_io.state_store.opening import open_store

MODULE = "heron_engine.scheduler.backends.yarn.container_agent"
ID_VARIABLE = "CONTAINER_ID"
GONE = "the topology is gone from the state store"
GONE_SECS = 15.0
"""Absence after which a node counts as removed: a live application master checks the node each
second, and a replacement restores the node within seconds."""
LOGS_VARIABLE = "LOG_DIRS"
"""YARN's variables: the container's id, and the log folders shown by `yarn logs`."""


def run(agent: ContainerAgent, topology: str, number: int, store_url: str) -> int:
    """The container from start to end, as long as the scheduler's node lists it."""

    store, path = open_store(store_url), scheduler_path(topology)
    gone: list[Timer] = []

    def end_if_gone() -> None:
        with suppress(StateStoreError):  # it is back, or the next change says so
            if store.get(path) is None:
                agent.stop(GONE)

    def node_changed(node: Any) -> None:
        while gone:
            gone.pop().cancel()
        if node is None:  # the application master writes it again if the store was emptied
            gone.append(Timer(GONE_SECS, end_if_gone))
            gone[0].daemon = True
            gone[0].start()
        elif (reason := end_reason(node, number, os.environ[ID_VARIABLE])) is not None:
            agent.stop(reason)

    try:
        store.watch(path, node_changed)
        end = agent.run()
    finally:
        store.close()
    if end.stop_reason is not None:
        report(f"it ends: {end.stop_reason}")
        return 0
    report(end.reason or f"the container ended with {end.code}")
    return end.code if end.code > 0 else 128 - end.code


def awaited_number(store_url: str, topology: str) -> int | None:
    """Number of the plan's container assigned here; None for an end."""
    nodes: SimpleQueue[Any] = SimpleQueue()
    own = os.environ[ID_VARIABLE]
    signal.signal(signal.SIGTERM, lambda *_: nodes.put({}))  # it is in no node any more
    store = open_store(store_url)
    try:
        store.watch(scheduler_path(topology), nodes.put)
        while True:
            if (node := nodes.get()) is None:
                with suppress(Empty):  # the state store may have been emptied
                    node = nodes.get(timeout=GONE_SECS)
            number, reason = number_of(node, own), standby_end_reason(node, own)
            if number is not None:
                return number
            if reason is not None:
                report(f"it ends: {reason}")
                return None
    finally:
        store.close()


def numbered(arguments: Sequence[str], number: int) -> list[str]:
    """The arguments of scheduler.container, for this container."""
    at = arguments.index("--container") + 1
    return [*arguments[:at], str(number), *arguments[at + 1 :]]


def logs_folder() -> str:
    """Log folder of the YARN container."""
    return os.environ[LOGS_VARIABLE].split(",")[0]


def all_arguments(arguments: Sequence[str], store_url: str) -> list[str]:
    """Arguments of scheduler.container with machine-specific values."""
    own = ("--logs", logs_folder(), "--limited-by", "YARN")
    return [*arguments, *own, *machine_arguments(store_url)]


def report(text: str) -> None:
    """A line on stderr; the last line reaches the application master."""
    print(text, file=sys.stderr, flush=True)


def main(words: Sequence[str]) -> int:
    """Run one container until the end; returns its exit code."""
    given = parsed(agent_parser(MODULE, __doc__), words)
    store_url, number = given.value("store"), int(given.value("container"))
    log_text_to(logging.StreamHandler(sys.stderr), logging.WARNING)
    remove_old_sockets()
    try:
        check_python(given.own.python, "yarn")
        words_of_container = list(given.container)
        if is_standby(number):
            became = awaited_number(store_url, given.value("topology"))
            if became is None:
                return 0
            words_of_container = numbered(given.container, became)
            number = became
        arguments = all_arguments(words_of_container, store_url)
        agent = ContainerAgent(arguments, given.own.silent_secs)
        signal.signal(signal.SIGTERM, lambda *_: agent.stop("SIGTERM"))
        return run(agent, given.value("topology"), number, store_url)
    except HeronError as error:
        report(str(error))
        return ExitCode.UNSTARTED


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
