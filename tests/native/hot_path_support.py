"""The hot path twice, in Python and compiled, and what it works on, made of either."""

import importlib.util
import shutil
import subprocess
import sys
import sysconfig
from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from types import ModuleType
from typing import Any

from heron_core.native import EXTENSION
from heron_core.wire.values import packer
from heron_frontends.adapters.tuple_layout import TupleLayout

ROOT = Path(__file__).parents[2]
UNOPTIMISED = ("-O0", "-g0", "-w")
"""A third of the time that the real one takes to compile."""
BUFFERS = 3
WIDTH = 2
MOST_BYTES = 40
OVERHEAD = 8
ROOM = 120
"""A few tuples, so that a flush comes in between."""


def what_is_missing() -> str | None:
    """Why the hot path cannot be compiled here; None if it can."""
    for name in ("Cython", "setuptools"):
        if importlib.util.find_spec(name) is None:
            return f"{name} is not installed"
    if shutil.which("cc") is None:
        return "there is no C compiler"
    if not Path(sysconfig.get_path("include"), "Python.h").exists():
        return "there are no headers of Python"
    return None


def compiled_in(folder: Path) -> ModuleType:
    """The hot path, compiled into a folder; nobody else gets it."""
    # By a process of its own: setuptools changes what it is imported into.
    command = [sys.executable, "native_build.py", str(folder), *UNOPTIMISED]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout[-2000:] + run.stderr[-4000:]
    spec = importlib.util.spec_from_file_location(EXTENSION, run.stdout.splitlines()[-1])
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Anchor:
    """What emit asks of an anchor, and the fold of what was acked."""

    def __init__(self, roots: Any, key: int = 0) -> None:
        self.roots = roots
        self.key = key


class Careful(TupleLayout):
    """A class of tuples whose making runs Python code."""

    __slots__ = ()

    def __new__(cls, items: Any) -> "Careful":
        """It has a say in what it is made of."""
        key, *others = items
        made: Careful = tuple.__new__(cls, (-key, *others))
        return made


@dataclass(frozen=True)
class Emitted:
    """One call of emit."""

    values: Any
    stream: str = "default"
    anchors: tuple[int, ...] | None = ()
    """Which of the anchors; None for none given."""
    tup_id: Any = None
    direct_task: int | None = None
    extras: bool = False
    """The buffers hold a tuple of several roots by now."""


@dataclass
class Emitter:
    """What an emit writes to, made of one of the two modules."""

    module: Any
    tracked: bool = True
    keyed: bool = True
    states: Sequence[Any] = ()
    log: list[Any] = field(default_factory=list)

    def __post_init__(self) -> None:
        module, log = self.module, self.log

        class Room(module.BufferRoom):  # type: ignore[misc,name-defined]
            room: int

            def flush(self) -> None:
                log.append(("flush", self.room))
                self.room = ROOM

        self.outbox = Room(ROOM)
        self.buffers = [module.TupleBuffer([]) for _ in range(BUFFERS)]
        self.anchors = [Anchor(None if each is None else list(each)) for each in self.states]
        self.pending: dict[int, Any] = {}
        self.done: list[Any] = []
        self.inits: list[int] = []
        self.pack = module.plain_packer(packer())
        self.shares: list[Callable[[], None]] = []

    def _pick(self) -> tuple[int, Any, Any]:
        by_key = {key: self.buffers[key % BUFFERS] for key in range(BUFFERS * 2)}
        turns = count()
        return 1, by_key if self.keyed else None, lambda: self.buffers[next(turns) % BUFFERS]

    def _general(self, *arguments: Any) -> str:
        self.log.append(("general", *map(str, arguments[:2])))
        return "general"

    def bolt(self) -> Callable[..., Any]:
        """A bolt's emit."""
        emit: Callable[..., Any] = self.module.bolt_emit(
            self.outbox, self._general, self.pack, count(1000).__next__, self._pick(), WIDTH,
            MOST_BYTES, OVERHEAD, self.tracked, "default", None, int, self.shares,
        )  # fmt: skip
        return emit

    def spout(self, has_inits: bool) -> Callable[..., Any]:
        """A spout's emit."""
        emit: Callable[..., Any] = self.module.spout_emit(
            self.outbox, self._general, self.pack, count(1000).__next__, count(5).__next__,
            self._pick(), WIDTH, MOST_BYTES, OVERHEAD, self.tracked, "default", None,
            self.pending, self.done, self.inits if has_inits else None, self.shares,
        )  # fmt: skip
        return emit

    def begin(self, each: Emitted) -> None:
        """What has happened before this call."""
        if each.extras:
            for buffer in self.buffers:
                buffer.extras.append(1)

    def chosen(self, each: Emitted) -> list[Anchor] | None:
        """The anchors of a call."""
        return None if each.anchors is None else [self.anchors[at] for at in each.anchors]

    def outcome(self) -> Any:
        """All that has changed."""
        return (
            [(b.parts, b.ids, b.run, b.starts, b.extras) for b in self.buffers],
            [anchor.roots for anchor in self.anchors],
            (self.outbox.room, self.log, self.pending, self.done, self.inits),
        )


def made_tuples(module: Any, kind: Any, runs: Sequence[tuple[int, int, int]], shares: bool) -> Any:
    """(tuples, anchor states) of runs of (root, edge, size); each tuple has its own if not."""
    pairs = [(root, edge) for root, edge, size in runs for _ in range(1 if shares else size)]
    ids = array("Q", [number for pair in pairs for number in pair])
    sizes = array("I", [size for _, _, size in runs]) if shares else None
    values = [[f"value {at}"] for at in range(sum(size for _, _, size in runs))]
    return module.made_rows(kind, "a", "default", 7, values, 1.5, ids, sizes, count(100))
