"""A sink's process, controlled by lines of JSON; tests freeze and replace the process.

python writing_process.py SINK '{"run": …, "born_ms": …, "config": …, "state": …, "fields": …}'

    ["write", VALUE, …]      a tuple
    ["prepare", CHECKPOINT]  its barrier; answers with the state
    ["complete", CHECKPOINT] the checkpoint is complete
    ["commit"]               without checkpoints: a timer is over
    ["close"]

It answers each with a line {"error": …, "left": …, "state": …, "acked": …}.
"""

import json
import logging
import sys
from collections.abc import Callable
from functools import partial
from importlib import import_module
from types import SimpleNamespace
from typing import Any

from heron_api.incarnation import Incarnation
from heron_api.state.state import HashMapState
from heron_api.topology_context import TopologyContext
from heron_connectors.two_phase import STATE_KEY
from heron_core.errors import HeronError

SINKS = {
    "file": ("files", "FileSink"),
    "parquet": ("parquet", "ParquetSink"),
    "delta": ("delta", "DeltaSink"),
    "iceberg": ("iceberg", "IcebergSink"),
    "database": ("database", "DatabaseSink"),
}


class Delegate:
    """Records what the sink asks the engine for."""

    def __init__(self) -> None:
        self.logger = logging.getLogger("sink")
        self.left = ""
        self.acked = 0
        self._soon: list[Callable[[], None]] = []
        self.timers: list[Callable[[], None]] = []

    def ack(self, tup: Any) -> None:
        self.acked += 1

    def fail(self, tup: Any) -> None:
        self.acked -= 1000  # seen at once

    def call_soon(self, call: Callable[[], None]) -> None:
        self._soon.append(call)

    def call_later(self, secs: float, call: Callable[[], None]) -> None:
        self.timers.append(call)

    def leave(self, why: str) -> None:
        self.left = why

    def record_error(self, what: str, text: str) -> None:
        logging.warning("%s: %s", what, text)

    record_loss = record_error

    def run_pending(self) -> None:
        while self._soon:
            self._soon.pop(0)()


class Context(TopologyContext):
    """The only instance of the only sink."""

    def __init__(self, incarnation: Incarnation, fields: list[str]) -> None:
        self._incarnation, self._fields = incarnation, fields

    def get_task_id(self) -> int:
        return 2

    def get_component_id(self) -> str:
        return "sink"

    def get_topology_name(self) -> str:
        return "Frozen"

    def get_component_tasks(self, component_id: str) -> list[int]:
        return [2]

    def get_incarnation(self) -> Incarnation:
        return self._incarnation

    def to_storm(self) -> dict[str, Any]:
        return {
            "source->stream->fields": {"rows": {"default": self._fields}},
            "source->stream->grouping": {"rows": {"default": {"type": "FIELDS"}}},
        }


def main(kind: str, given: dict[str, Any]) -> None:
    module, name = SINKS[kind]
    delegate, fields = Delegate(), given["fields"]
    sink = getattr(import_module(f"heronpy_compat.connectors.{module}"), name)(delegate)
    state: Any = HashMapState()
    if given["state"] is not None:
        state.put(STATE_KEY, given["state"])
    sink.init_state(state)
    sink.initialize(given["config"], Context(Incarnation(given["run"], given["born_ms"]), fields))

    def prepare(checkpoint: str) -> None:
        sink.pre_save(checkpoint)

    def write(*values: Any) -> None:
        sink.process(SimpleNamespace(values=list(values), fields=fields))

    def commit() -> None:
        timers, delegate.timers = delegate.timers, []
        for each in timers:
            each()

    commands = {
        "write": write, "prepare": prepare, "complete": sink.post_save,
        "commit": commit, "close": sink.close,
    }  # fmt: skip
    print("{}", flush=True)
    for line in sys.stdin:
        command, *arguments = json.loads(line)
        error = _error_of(partial(commands[command], *arguments))
        delegate.run_pending()
        answer = {"error": error, "left": delegate.left, "acked": delegate.acked,
                  "state": state.get(STATE_KEY)}  # fmt: skip
        print(json.dumps(answer), flush=True)


def _error_of(call: Callable[[], None]) -> str:
    try:
        call()
    except HeronError as error:
        return str(error)
    return ""


if __name__ == "__main__":
    main(sys.argv[1], json.loads(sys.argv[2]))
