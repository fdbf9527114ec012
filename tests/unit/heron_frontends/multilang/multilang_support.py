"""A bolt or a spout with a real child, and an engine's main loop in the test's hand."""

import json
import logging
import queue
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NoReturn

from heron_api.topology_context import TopologyContext
from heron_core.errors import ComponentError
from heron_frontends.adapters.multilang import ShellBolt, ShellSpout

PUPPET = Path(__file__).parent / "puppet.py"
PYTHON = [sys.executable, "-I", "-S"]
PREFIX = "puppet: "
DEADLINE_SECS = 20.0
"""For what takes milliseconds on an idle machine."""


class Left(Exception):
    """The instance ended, for this reason."""


class Engine:
    """Stands for the runtime: its queue of calls, and the component's actions."""

    def __init__(self) -> None:
        self.calls: queue.Queue[Callable[[], None]] = queue.Queue()
        self.later: list[tuple[float, Callable[[], None]]] = []
        self.emitted: list[SimpleNamespace] = []
        self.acked: list[Any] = []
        self.failed: list[Any] = []
        self.errors: list[str] = []
        self.lines: list[str] = []
        self.finished = 0
        self.tasks = [7, 8]
        self.refuses: str | None = None
        self.logger = logging.getLogger("shell test")
        self.logger.handlers[:] = [_Lines(self.lines)]
        self.logger.setLevel(logging.DEBUG)
        self.logger.propagate = False

    def call_soon(self, function: Callable[[], None]) -> None:
        self.calls.put(function)

    def call_later(self, secs: float, function: Callable[[], None]) -> None:
        self.later.append((time.monotonic() + secs, function))

    def record_error(self, what: str, text: str) -> None:
        self.errors.append(f"{what}: {text}")

    def leave(self, why: str) -> NoReturn:
        raise Left(why)

    def emit(self, tup: Any, *rest: Any) -> list[int] | None:
        if self.refuses is not None:
            raise RuntimeError(self.refuses)
        self.emitted.append(SimpleNamespace(values=tup, rest=rest))
        return self.tasks if rest[-1] else None

    def ack(self, tup: Any) -> None:
        self.acked.append(tup)

    def fail(self, tup: Any) -> None:
        self.failed.append(tup)

    def finish(self) -> None:
        self.finished += 1

    @property
    def logged(self) -> list[Any]:
        """Log of the puppet as JSON, in order."""
        return [json.loads(each[len(PREFIX) :]) for each in self.lines if each.startswith(PREFIX)]

    def until(self, condition: Callable[[], Any]) -> Any:
        """Make incoming calls until `condition` holds; returns its value."""
        deadline = time.monotonic() + DEADLINE_SECS
        while not (found := condition()):
            assert time.monotonic() < deadline, (self.errors, self.lines[-20:])
            try:
                self.calls.get(timeout=0.01)()
            except queue.Empty:
                pass
            self._timers()
        return found

    def _timers(self) -> None:
        due = [each for each in self.later if each[0] <= time.monotonic()]
        self.later = [each for each in self.later if each not in due]
        for _, function in due:
            function()


class _Lines(logging.Handler):
    def __init__(self, lines: list[str]) -> None:
        super().__init__()
        self._lines = lines

    def emit(self, record: logging.LogRecord) -> None:
        self._lines.append(record.getMessage())


class Context(TopologyContext):
    """The context of task 3 of `words`, whose topology's file is in `folder`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.metrics: dict[str, tuple[Any, float]] = {}

    def get_task_id(self) -> int:
        return 3

    def get_component_id(self) -> str:
        return "words"

    def get_topology_pex_path(self) -> str:
        return str(self.folder / "topology.py")

    def register_metric(self, name: str, metric: Any, time_bucket_in_sec: float) -> None:
        self.metrics[name] = (metric, time_bucket_in_sec)

    def to_storm(self) -> dict[str, Any]:
        return {"taskid": 3, "componentid": "words"}


def tup(*steps: list[Any], root: int | None = None) -> SimpleNamespace:
    """A tuple whose values are steps for the puppet."""
    return SimpleNamespace(
        component="lines", stream="default", task=1, values=list(steps), roots=root
    )


class Shell:
    def __init__(self, kind: type, folder: Path, config: dict[str, Any]) -> None:
        self.started = False
        self.engine = Engine()
        self.context = Context(folder)
        self.component = kind(delegate=self.engine)
        self.config = {"heronpy.shell.command": [*PYTHON, str(PUPPET)], **config}

    def start(self) -> "Shell":
        self.component.initialize(self.config, self.context)
        self.started = True
        return self

    def puppet(self, **scripts: Any) -> "Shell":
        """Actions of the puppet: `first`, before its pid; `then`, afterwards; in `turns`."""
        found = {f"PUPPET_{key.upper()}": json.dumps(each) for key, each in scripts.items()}
        self.config["heronpy.shell.environment"] = found
        return self

    @property
    def counts(self) -> dict[str, int]:
        """Since the start."""
        return dict(self.context.metrics["multilang"][0].total)

    @property
    def pid(self) -> int:
        child = self.component.child
        return 0 if child is None else int(child.pid)

    def give(self, *steps: list[Any]) -> SimpleNamespace:
        """Process one tuple."""
        made = tup(*steps)
        self.component.process(made)
        return made

    def give_and_settle(self, *steps: list[Any]) -> SimpleNamespace:
        """Process one tuple and wait until settled."""
        made = self.give(*steps)
        self.engine.until(self.component.is_idle)
        return made


__all__ = ["PYTHON", "ComponentError", "Context", "Engine", "Left", "Shell", "ShellBolt",
           "ShellSpout", "tup"]  # fmt: skip
