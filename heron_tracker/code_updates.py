"""New code of running topologies by REST: the body of a request, given to `heronpy update --code`.

The command runs as a child of the service, in the name of the client, so its checks, its answer and
the event of the topology are those of the command line.
"""

import json
import logging
import os
import shutil
import subprocess
import threading
from collections.abc import Sequence
from dataclasses import dataclass

from heron_core.errors import TopologyError
from heron_core.operations import Requester
from heron_core.typed_json import to_json
from heron_engine.scheduler.operations import ASKED_BY
from heron_io.private_files import private
from heron_tracker.nimbus.submissions import TopologyFolders, command_reason

log = logging.getLogger("tracker")

UPDATE_SECS = 120.0
"""How long a request waits for the end of the update: longer than a checkpoint and a restart of all
instances take. The update goes on without the request."""
OUTPUT_FILE = "update.log"
UPDATED = " is updated: "


@dataclass(frozen=True, slots=True)
class CodeAnswer:
    """How an update ended, as far as the request waited."""

    updated: bool
    change: str
    """The words of the command: what was replaced, or that nothing was to do; empty if the update
    still runs."""


@dataclass(frozen=True, slots=True)
class NewCode:
    """A file with new code of a running topology."""

    topology: str
    file: str
    """Name of the file; the ending decides how the file is read."""
    path: str
    """Where the upload lies; moved into a folder of the topology."""
    allows_non_restored: bool
    """Whether states of removed components may be dropped."""
    asked_by: Requester


@dataclass(frozen=True, slots=True)
class CodeUpdates:
    """Updates of the topologies of one state store."""

    folders: TopologyFolders
    command: Sequence[str]
    """`heronpy update` with the options of the state store or the cluster."""
    update_secs: float = UPDATE_SECS

    def update(self, code: NewCode) -> CodeAnswer:
        """Replace the code, and wait. TopologyError with the reason of the command."""
        folder = self.folders.make_for_code(code.topology)
        target = os.path.join(folder, code.file)
        os.replace(code.path, target)
        words = [*self.command, code.topology, "--code", target]
        words += ["--allow-non-restored"] if code.allows_non_restored else []
        output = os.path.join(folder, OUTPUT_FILE)
        child = _started(words, output, code.asked_by)
        try:
            exit_code = child.wait(self.update_secs)
        except subprocess.TimeoutExpired:
            threading.Thread(target=_watch, args=(code.topology, child, output)).start()
            return CodeAnswer(False, "")
        answer = None if exit_code else _answer(output)
        reason = command_reason(output) if exit_code else ""
        if answer is None or not answer.updated:
            shutil.rmtree(folder, ignore_errors=True)  # no component runs from it
        if answer is None:
            raise TopologyError(reason)
        return answer


def _answer(output: str) -> CodeAnswer:
    with open(output, encoding="utf-8", errors="replace") as file:
        line = (file.read().strip().splitlines() or [""])[-1]
    _, updated, change = line.partition(UPDATED)
    return CodeAnswer(bool(updated), change if updated else line)


def _started(words: Sequence[str], output: str, asked_by: Requester) -> subprocess.Popen[bytes]:
    with open(output, "wb", opener=private) as file:
        return subprocess.Popen(
            words, stdin=subprocess.DEVNULL, stdout=file, stderr=file,
            env={**os.environ, ASKED_BY: json.dumps(to_json(asked_by))},
            start_new_session=True,  # Ctrl-C of the service leaves the update alone
        )  # fmt: skip


def _watch(name: str, child: subprocess.Popen[bytes], output: str) -> None:
    if code := child.wait():
        log.error("the code of %s is not changed (exit code %d): %s", name, code,
                  command_reason(output))  # fmt: skip
    else:
        log.info("the code of %s is changed", name)
