"""Runs a replay in a separate process, because user code may end the process again."""

import json
import mmap
import os
import pdb  # noqa: T100 (of --pdb)
import struct
from dataclasses import dataclass
from typing import Any

import msgspec

from heron_core import config as keys
from heron_core.errors import HeronError, TopologyError, UsageError
from heron_core.exit_codes import describe_end
from heron_core.incidents import Incident
from heron_core.topology import TopologySpec
from heron_frontends.loading.load_request import LoadRequest
from heron_io.processes import fork_child
from heron_tester.replay import Replay, ReplayHooks, recorded_topology, with_code_of
from heron_tester.replay_notes import notes_of_code
from heron_tester.replay_result import ReplayResult

CHUNK_BYTES = 65536
STDERR = 2
_NUMBER = struct.Struct("<Q")


@dataclass(frozen=True, slots=True)
class ReplayRequest:
    """Options of a replay."""

    incident: Incident
    code: str | None = None
    """File with the topology's code; None: the recorded path of the class."""
    until: int | None = None
    breaks_at: int | None = None
    """Number of the tuple before which the debugger starts."""
    debugs: bool = False
    """Start the debugger where user code raises."""
    external: bool = False
    """Allow components with commits to other systems."""

    @property
    def is_interactive(self) -> bool:
        """A debugger may start, and needs the terminal."""
        return self.debugs or self.breaks_at is not None


@dataclass(frozen=True, slots=True)
class ReplayEnd:
    """End of a replay's process."""

    result: ReplayResult | None
    """None if the process was ended by user code."""
    how: str = ""
    """End of the process in words, without a result."""
    begun: int = 0
    """Number of the tuple under way, without a result."""


def run_replay(request: ReplayRequest) -> ReplayEnd:
    """Run the replay; HeronError for an incident without a possible replay."""
    if request.is_interactive:
        return ReplayEnd(_replayed(request, None))
    progress = mmap.mmap(-1, _NUMBER.size)
    ours, theirs = os.pipe()

    def main(lifeline: int) -> int:
        os.close(ours)
        os.dup2(STDERR, 1)  # output of user code is not the report
        with os.fdopen(theirs, "wb") as pipe:
            pipe.write(_answer(request, progress))
        return 0

    child = fork_child("heronpy: replay", main, killed_with_parent=True)
    os.close(theirs)
    data = b""
    while chunk := os.read(ours, CHUNK_BYTES):
        data += chunk
    os.close(ours)
    _, status = os.waitpid(child.pid, 0)
    os.close(child.lifeline)
    return _end(data, os.waitstatus_to_exitcode(status), progress)


def _end(data: bytes, code: int, progress: mmap.mmap) -> ReplayEnd:
    if not data:
        return ReplayEnd(None, describe_end(code), _NUMBER.unpack(progress[:])[0])
    answer = json.loads(data)
    if "error" in answer:
        raise (UsageError if answer["usage"] else TopologyError)(answer["error"])
    return ReplayEnd(msgspec.convert(answer, ReplayResult))


def _answer(request: ReplayRequest, progress: mmap.mmap) -> bytes:
    try:
        return msgspec.json.encode(_replayed(request, progress))
    except HeronError as error:
        answer: dict[str, Any] = {"error": str(error), "usage": isinstance(error, UsageError)}
    except Exception as error:  # of the user's class, when it begins
        text = f"the component cannot begin: {type(error).__name__}: {error}"
        answer = {"error": " ".join(text.split()), "usage": False}
    return json.dumps(answer).encode()


def _replayed(request: ReplayRequest, progress: mmap.mmap | None) -> ReplayResult:
    topology, notes = _topology(request)
    replay = Replay(request.incident, topology, _hooks(request, progress))
    result = replay.run()
    result.notes[:0] = notes
    return result


def _topology(request: ReplayRequest) -> tuple[TopologySpec, list[str]]:
    """The topology to run, with notes on its code."""
    from heron_engine.scheduler.container.executor import make_importable

    recorded = recorded_topology(request.incident)
    component = request.incident.summary.component
    make_importable(recorded)
    topology = recorded
    if request.code is not None:
        from heron_frontends.loading.load import load

        name = keys.with_defaults(recorded.config).get(keys.ORIGINAL_NAME) or recorded.name
        other = load(LoadRequest(request.code, likely_name=name))
        topology = with_code_of(recorded, other, component)
    return topology, notes_of_code(
        recorded.by_name[component], topology.by_name[component], allow_external=request.external
    )


def _hooks(request: ReplayRequest, progress: mmap.mmap | None) -> ReplayHooks:
    def began(number: int) -> None:
        if progress is not None:
            progress[:] = _NUMBER.pack(number)
        if number == request.breaks_at:
            pdb.set_trace()  # noqa: T100

    def raised(error: BaseException) -> None:
        if request.debugs:
            pdb.post_mortem(error.__traceback__)

    return ReplayHooks(began, raised, request.until)
