"""Shell commands beside all containers (`heronpy run-on-all`): requests, and the results.

The stream manager of each container in the plan runs the command, and the topology master runs the
command of container 0. The client asks for new results.
"""

import reprlib
from collections.abc import Iterable, Set
from typing import Any

from msgspec import Struct, field

from heron_core import config as keys
from heron_core.errors import HeronError, ProtocolError
from heron_core.topology import TopologySpec
from heron_core.typed_json import to_json
from heron_core.wire.messages import Json, RunShell, ShellRan

SECS, SECS_MAX = 30, 3600
BYTES, BYTES_MAX = 64 * 1024, 1024 * 1024
"""Of the output of one container: a screen or two; with hundreds of containers, some MiB here."""
COMMAND_CHARACTERS_MAX = 32_768
"""A quarter of Linux's limit for one argument."""
RUNS_KEPT = 4
"""Each has the output of all containers; clients read the results within seconds."""


class ShellRun(Struct, frozen=True):
    """A requested command."""

    request: RunShell
    containers: frozenset[int]
    results: list[ShellRan] = field(default_factory=list)

    @property
    def waiting(self) -> list[int]:
        """Containers without a result."""
        return sorted(self.containers - {each.container for each in self.results})


class ShellRuns:
    """The newest commands of one topology."""

    def __init__(self, topology: TopologySpec) -> None:
        self._topology = topology
        self._runs: dict[int, ShellRun] = {}
        self._number = 0

    def begin(self, arguments: Json, containers: Iterable[int], there: Set[int]) -> RunShell:
        """The request to all `containers`; containers that are not `there` have failed at once.
        HeronError for forbidden commands and invalid arguments."""
        config = keys.with_defaults(self._topology.config)
        if keys.value_of(config, keys.RUN_ON_ALL) == keys.OFF:
            raise HeronError(
                f"{keys.RUN_ON_ALL} is {keys.OFF}: commands on the hosts of {self._topology.name} "
                "are forbidden"
            )
        self._number += 1
        request = RunShell(
            self._number,
            _command(arguments),
            _between(arguments, "secs", SECS, SECS_MAX),
            _between(arguments, "bytes_max", BYTES, BYTES_MAX),
        )
        if len(self._runs) >= RUNS_KEPT:
            del self._runs[next(iter(self._runs))]
        run = self._runs[self._number] = ShellRun(request, frozenset(containers))
        for container in sorted(run.containers - there):
            error = "its stream manager is not connected: the command did not run"
            run.results.append(ShellRan(container, self._number, "?", error=error))
        return request

    def take(self, ran: ShellRan) -> None:
        """A result; ProtocolError if invalid. Late results of forgotten runs are dropped."""
        run = self._runs.get(ran.run)
        if run is None:
            return
        if ran.container not in run.waiting:
            raise ProtocolError(f"a second result of container {ran.container}: {ran!r:.100}")
        if len(ran.output) > run.request.bytes_max:
            raise ProtocolError(
                f"{len(ran.output)} characters of output exceed the limit: {ran!r:.100}"
            )
        run.results.append(ran)

    def found(self, arguments: Json) -> dict[str, Any]:
        """The results from number `known` on, and the containers without a result; HeronError
        for a forgotten run."""
        number, known = arguments.get("run"), arguments.get("known", 0)
        run = self._runs.get(number) if isinstance(number, int) else None
        if run is None:
            raise HeronError(
                f"unknown command {reprlib.repr(number)}: the topology master was replaced, or "
                f"{RUNS_KEPT} other commands followed"
            )
        if type(known) is not int or known < 0:
            raise HeronError(f"known must be a whole number, not {reprlib.repr(known)}")
        return {"results": [to_json(each) for each in run.results[known:]], "waiting": run.waiting}


def _command(arguments: Json) -> str:
    command = arguments.get("command")
    if not isinstance(command, str) or not command.strip():
        raise HeronError("the command is missing")
    if len(command) > COMMAND_CHARACTERS_MAX:
        raise HeronError(
            f"the command has {len(command):,} characters, of at most "
            f"{COMMAND_CHARACTERS_MAX:,}: bring a file to the hosts"
        )
    return command


def _between(arguments: Json, key: str, default: int, most: int) -> int:
    value = arguments.get(key, default)
    if type(value) is not int or not 1 <= value <= most:
        raise HeronError(
            f"{key} must be a whole number from 1 to {most}, not {reprlib.repr(value)}"
        )
    return value
