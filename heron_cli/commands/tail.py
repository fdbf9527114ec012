"""`heronpy tail`: the logs of a topology's processes, running or ended."""

import os
import re
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Protocol

import click

from heron_cli.options.common import ignored
from heron_cli.options.find_topology import Target, target_options
from heron_core.errors import HeronError, UsageError
from heron_core.plans import instance_name, packing_from_json
from heron_core.state_tree import execution_path, packing_path, scheduler_path
from heron_engine.scheduler.outcomes import (
    ENDED_STATES,
    LastNumbers,
    last_numbers_in,
    last_numbers_of,
)
from heron_engine.scheduler.stored_outcomes import stored_outcome
from heron_engine.scheduler.user_folder import Home, has_files

POLL_SECS = 0.2
"""Between two looks for new lines with -f."""
YARN, KUBERNETES = "yarn", "kubernetes"


class ShownLog(Protocol):
    """A log, local or remote."""

    @property
    def file(self) -> str:
        """Its file's name."""

    def last(self, lines: int) -> list[str]:
        """The last lines; later lines are new."""

    def fresh(self) -> Iterator[str]:
        """Lines written since the last look."""


pattern_option = click.option(
    "--pattern",
    metavar="REGEX",
    help="Only logs whose file name matches this regular expression.",
)


@click.command("tail")
@target_options(override=True)
@click.option("-f", "--follow", is_flag=True, help="Keep showing new lines until Ctrl-C.")
@click.option(
    "-l",
    "--num-lines",
    "lines",
    type=click.IntRange(min=0),
    default=10,
    show_default=True,
    metavar="N",
    help="Show the last N lines of each log.",
)
@click.option("-c", "--component", metavar="COMPONENT", help="Only this component's instances.")
@pattern_option
@click.option(
    "-p", "--previous", is_flag=True, help=("Print the logs of the previous run on this machine.")
)
@ignored("--pool-size", metavar="N")
def tail_command(
    target: Target,
    follow: bool,
    lines: int,
    component: str | None,
    pattern: str | None,
    previous: bool,
) -> None:
    """Show the logs of the topology NAME: one log for each process, each line with its log's name.

    The logs stay after a topology has ended, until `heronpy remove_logs`. When a topology of the
    same name starts, they are those of --previous, until the start after that. Without NAME, those
    of the only topology that runs.

    \b
    heronpy tail wordcount -f
    heronpy tail wordcount -c count_bolt -l 100
    heronpy tail wordcount --previous
    heronpy tail -n wordcount --pattern 'stream-manager|container'
    """
    name = target.name_or_only()
    wanted = compiled(pattern)
    if previous and follow:
        raise UsageError("the run before has ended: leave out --follow")
    find = previous_logs_of(name) if previous else logs_of(target, name)

    def chosen() -> list[ShownLog]:
        return [log for log in _of_component(find(), name, component) if wanted(log.file)]

    logs = chosen()
    if not logs and not follow and not find():
        raise HeronError(
            f"no logs of {name} on this machine: the topology has ended, and its cluster keeps "
            "the logs of a run (on YARN: `yarn logs -applicationId ID`)"
        )
    if not logs and not follow:
        raise UsageError(
            f"{name} has no log in whose name --pattern {pattern!r} has a match (logs: "
            f"{', '.join(log.file for log in find())})"
        )
    for log in logs:
        for line in log.last(lines):
            click.echo(line)
    while follow:
        time.sleep(POLL_SECS)
        for line in [line for log in logs for line in log.fresh()]:
            click.echo(line)
        logs += [log for log in chosen() if log not in logs]


def previous_logs_of(name: str) -> Callable[[], Sequence[ShownLog]]:
    """Logs of the previous run; HeronError without a previous run on the machine."""
    folder = Home.of_user().previous_logs(name)
    if not has_files(folder):
        raise HeronError(f"no logs of an earlier run of {name} in {folder}")
    names = _names_in(last_numbers_in(folder))
    return lambda: _in_folder(folder, names)


def logs_of(target: Target, name: str) -> Callable[[], Sequence[ShownLog]]:
    """Finds the current logs; HeronError for a topology that never ran, or whose logs are not
    accessible."""
    with target.store_options.store() as store:
        scheduler = store.get(scheduler_path(name)) or {}
        state = (store.get(execution_path(name)) or {}).get("state")
        ended = {} if scheduler else stored_outcome(store, name)
    if ended.get("kind") == YARN:
        scheduler, state = ended, ended.get("state")
    if scheduler.get("kind") == KUBERNETES:
        return _logs_of_pods(scheduler["namespace"], name, _instance_names(target, name))
    if scheduler.get("kind") != YARN:
        folder = logs_folder(target, name)
        names = _instance_names(target, name)
        return lambda: _in_folder(folder, names)
    from heron_engine.scheduler.backends.yarn.logs import instead, listed

    if state in ENDED_STATES or ended:
        raise HeronError(f"{name} has ended ({state}): {instead(scheduler)}")

    def find() -> Sequence[ShownLog]:
        with target.store_options.store() as store:
            return listed(store.get(scheduler_path(name)))

    return find


def _logs_of_pods(
    namespace: str, name: str, names: Mapping[str, str]
) -> Callable[[], Sequence[ShownLog]]:
    """Read through the API server of kubectl's configuration."""
    from heron_engine.scheduler.backends.kubernetes.pod_logs import PodLogs
    from heron_io.kubernetes.access import access_of
    from heron_io.kubernetes.client import ApiClient

    return PodLogs(ApiClient(access_of(os.environ)), namespace, name, names).listed


def logs_folder(target: Target, name: str) -> str:
    """Location of a topology's logs, running or ended; HeronError for a topology that never ran."""
    with target.store_options.store() as store:
        known = store.get(execution_path(name)) or {}
        scheduler = store.get(scheduler_path(name)) or {"pid": None}
    if scheduler.get("kind") == KUBERNETES:
        raise HeronError(
            f"the logs of {name} are those of its pods in {scheduler['namespace']}, which have "
            f"them as long as they run: `heronpy tail {name}` shows them"
        )
    if "pid" not in scheduler:
        raise HeronError(
            f"the logs of {name} are in the sandboxes of its containers on the cluster "
            f"{scheduler['cluster']}: look at the pages of its {scheduler['kind']} job"
        )
    folder: str = known.get("logs") or Home.of_user().logs(name)
    if not os.path.isdir(folder):
        raise HeronError(f"topology {name!r} is unknown on this machine: {folder} does not exist")
    return folder


def compiled(pattern: str | None) -> Callable[[str], bool]:
    """Whether a log's file name matches `pattern`; UsageError for an invalid expression."""
    if pattern is None:
        return lambda file: True
    try:
        expression = re.compile(pattern)
    except re.error as error:
        raise UsageError(f"--pattern {pattern!r} is not a regular expression: {error}") from None
    return lambda file: expression.search(file) is not None


class TailedLog:
    """One log file and the read position."""

    def __init__(self, folder: str, file: str, names: Mapping[str, str]) -> None:
        self.file = file
        self.path = os.path.join(folder, file)
        name = file.removesuffix(".log")
        self._prefix = names.get(name, name)
        self._position = 0
        self._inode = 0

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TailedLog) and other.path == self.path

    def __hash__(self) -> int:
        return hash(self.path)

    def last(self, lines: int) -> list[str]:
        """The last lines; later lines are new."""
        return list(deque(self.fresh(), maxlen=lines))

    def fresh(self) -> Iterator[str]:
        """Lines written since the last look; a rotated file is read from its start."""
        try:
            with open(self.path, "rb") as file:
                status = os.fstat(file.fileno())
                if status.st_ino != self._inode or status.st_size < self._position:
                    self._inode, self._position = status.st_ino, 0
                file.seek(self._position)
                data = file.read()
                complete = data[: data.rfind(b"\n") + 1]
                self._position += len(complete)
        except FileNotFoundError:
            return
        for line in complete.splitlines():
            yield f"{self._prefix} | {line.decode('utf-8', 'replace')}"


def _in_folder(folder: str, names: Mapping[str, str]) -> list[TailedLog]:
    files = sorted(each for each in os.listdir(folder) if each.endswith(".log"))
    return [TailedLog(folder, each, names) for each in files]


def _instance_names(target: Target, name: str) -> dict[str, str]:
    """Display name of an instance's log: from component-task to the usual name with the task."""
    with target.store_options.store() as store:
        stored = store.get(packing_path(name))
    if stored is None:
        return _names_in(last_numbers_of(Home.of_user(), name))
    packing = packing_from_json(stored)
    return {
        f"{x.component}-{task}": f"{instance_name(packing, task)} task {task}"
        for task, x in packing.instances.items()
    }


def _names_in(last: LastNumbers | None) -> dict[str, str]:
    return {
        f"{component}-{x.task}": f"{x.instance} task {x.task}"
        for component, instances in (last.instances.items() if last is not None else ())
        for x in instances
    }


def _of_component(logs: Sequence[ShownLog], name: str, component: str | None) -> list[ShownLog]:
    chosen = [each for each in logs if component is None or _component_of(each.file) == component]
    if not chosen and component is not None:
        known = sorted({_component_of(each.file) for each in logs})
        raise UsageError(f"{name} has no log of {component!r} (logs of: {', '.join(known)})")
    return chosen


def _component_of(file: str) -> str:
    """word-3.log is of the component word."""
    return file.removesuffix(".log").rpartition("-")[0] or file.removesuffix(".log")
