"""The hot path twice, in Python and compiled, with objects of either."""

import importlib.util
import json
import os
import subprocess
import sys
from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from itertools import count, cycle
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from heron_core.native import MODULES, extension
from heron_core.wire.values import array_of, packer
from heron_frontends.adapters.tuple_layout import Items, TupleLayout
from heron_instance.emit.routing import ByFields, ByPartialKey, KeyedBuffers
from tests.property.test_plain_messages import ELSEWHERE, FENCE, HERE, SPOUT

ROOT = Path(__file__).parents[2]
UNOPTIMISED = ("-O0", "-g0", "-w")
"""A third of the real module's compile time."""
BUFFERS = 3
WIDTH = 2
MOST_BYTES = 40
OVERHEAD = 8
KEYED, JOINT, NEXT, SEVERAL, FIELDS, PARTIAL = WAYS = (
    "keyed", "joint", "next", "several", "fields", "partial"
)  # fmt: skip
"""By a dict and the value of a field, by a dict and those of two, whichever is next, several
buffers for a tuple, and by the product's own groupings, of two fields."""
ROOM = 120
"""A few tuples, so that a flush comes in between."""


PYTHON = SimpleNamespace(
    **{name: each for module in MODULES for name, each in vars(module).items()}
)
"""All names of the hot path."""


@dataclass(frozen=True)
class Compiled:
    """The extensions: their files by their modules, and all of their names."""

    files: dict[str, Path]
    names: SimpleNamespace


def installed() -> Compiled:
    """The compiled hot path of this process."""
    modules = {name: import_module(name) for name in map(extension, MODULES)}
    names: dict[str, Any] = {}
    for module in modules.values():
        names |= vars(module)
    files = {name: Path(str(module.__file__)) for name, module in modules.items()}
    return Compiled(files, SimpleNamespace(**names))


def built(folder: Path, flags: Sequence[str], variables: dict[str, str]) -> dict[str, Path]:
    """The files of the hot path by their modules, compiled into a folder."""
    # In a child process: setuptools changes its importer.
    command = [sys.executable, "native_build.py", str(folder), *flags]
    run = subprocess.run(
        command, cwd=ROOT, env=os.environ | variables, capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stdout[-2000:] + run.stderr[-4000:]
    paths = map(Path, run.stdout.splitlines()[-len(MODULES) :])
    return dict(zip(map(extension, MODULES), paths, strict=True))


def compiled_in(folder: Path) -> Compiled:
    """The hot path, compiled into a folder, for this caller only."""
    files = built(folder, UNOPTIMISED, {})
    names: dict[str, Any] = {}
    with pytest.MonkeyPatch.context() as patch:  # one of them imports another one
        for name, path in files.items():
            module = _loaded(name, path)
            patch.setitem(sys.modules, name, module)
            names |= vars(module)
    return Compiled(files, SimpleNamespace(**names))


def _loaded(name: str, path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Anchor:
    """Requests of emit to an anchor, and the fold of acked edges."""

    def __init__(self, roots: Any, key: int = 0) -> None:
        self.roots = roots
        self.key = key


def anchored(module: Any, root: int, value: int) -> Any:
    """A tuple of a cursor, with its anchor state in numbers when compiled."""
    roots = module.roots_item(vars(Items)["roots"])
    kind = type("Anchored", (TupleLayout,), {"__slots__": (), "roots": roots})
    cursor = module.RowCursor(
        kind, "a", "default", 7, 1.5, array_of([b"\x90"]), 1, array("Q", [root, value]).tobytes(),
        None, module.RowKeys(1), module.BufferRoom(0, True), float,
    )  # fmt: skip
    cursor.stretch(1, 0.0, 1.0)
    return next(cursor)


class Careful(TupleLayout):
    """A class of tuples whose making runs Python code."""

    __slots__ = ()

    def __new__(cls, items: Any) -> "Careful":
        """Tests choose the class of the parts."""
        key, *others = items
        made: Careful = tuple.__new__(cls, (-key, *others))
        return made


@dataclass(frozen=True)
class Emitted:
    """One call of emit."""

    values: Any
    stream: str = "default"
    anchors: tuple[int, ...] | None = ()
    """Index of the anchor; None without an anchor."""
    tup_id: Any = None
    direct_task: int | None = None
    extras: bool = False
    """The buffers hold a tuple of several roots by now."""


@dataclass
class Emitter:
    """Target of an emit, made by one of the two modules."""

    module: Any
    tracked: bool = True
    way: str = KEYED
    """One of WAYS."""
    states: Sequence[Any] = ()
    are_numbers: bool = False
    """Whether the anchor states of one root belong to a cursor's tuples."""
    wants_direct: bool = False
    """Whether each emit has to name a task."""
    log: list[Any] = field(default_factory=list)

    def __post_init__(self) -> None:
        module, log = self.module, self.log

        class Room(module.BufferRoom):  # type: ignore[misc,name-defined]
            room: int

            def flush(self) -> None:
                log.append(("flush", self.room))
                self.room = ROOM

            def make_way(self, buffers: Sequence[Any], are_several: bool) -> bool:
                log.append(("make way", len(buffers), are_several))
                return acks_leave()

        def acks_leave() -> bool:
            """Acks of the first anchor leave."""
            for each in self.anchors[:1]:
                if each.roots:
                    each.roots.clear()
            return True

        self.outbox = Room(ROOM, self.tracked)
        self.buffers = [module.TupleBuffer(task) for task in range(BUFFERS)]
        self.fanout = module.TupleBuffer(1, (7, 8))
        self.fanout.conflicting.append(self.buffers[0])
        if self.way == SEVERAL:
            self.buffers[1].mix()
        self.emits = [0]
        self.sent: list[int] = []
        self.anchors = list(map(self._anchor, self.states))
        self.pending: Any = module.pending_ids()
        self.done: list[Any] = []
        self.inits: list[int] = []
        self.pack = module.plain_packer(packer())
        self.shares: list[Callable[[], None]] = []

    def _anchor(self, state: Any) -> Any:
        if self.are_numbers and state is not None and len(state) == 2:
            return anchored(self.module, *state)
        return Anchor(None if state is None else list(state))

    def _pick(self) -> tuple[Any, ...]:
        by_key = {key: self.buffers[key % BUFFERS] for key in range(BUFFERS * 2)}
        turns = cycle(self.buffers)
        if self.way in (FIELDS, PARTIAL):
            return (0, 1), self._grouped(), turns

        plain_keys, keyed = self.module.plain_keys, KeyedBuffers(True, "here")
        keyed.aim(self.buffers)

        def by_value(values: list[Any]) -> list[Any]:
            return [by_key[values[1]], self.fanout]

        if self.way == SEVERAL:
            return (
                [
                    ((), None, None, None, by_value),
                    ((), None, turns, None, lambda values: [next(turns)]),
                    ((), None, None, [self.buffers[2]], lambda values: [self.buffers[2]]),
                    (
                        (0, 1),
                        plain_keys(keyed, keyed.buffers, True),
                        None,
                        None,
                        ByFields([0, 1], keyed),
                    ),
                ],
                3,
                self.emits,
                {task: self.buffers[task] for task in (1, 2)},
                self.wants_direct,
            )
        if self.way == JOINT:
            joint = {(text, key): buffer for key, buffer in by_key.items() for text in ("", "a")}
            return (0, 1), joint, turns
        return (1,), by_key if self.way == KEYED else None, turns

    def _grouped(self) -> Any:
        """Finds the buffer of a key of two values."""
        keyed, plain_keys = KeyedBuffers(True, "here"), self.module.plain_keys
        if self.way == FIELDS:
            keyed.aim(self.buffers)
            return plain_keys(keyed, keyed.buffers, True)
        chooser = ByPartialKey([0, 1], keyed)
        chooser.aim(self.buffers)
        self.sent = chooser.sent
        return plain_keys(chooser, keyed.buffers, True, chooser.sent)

    def _general(self, *arguments: Any) -> str:
        values, second = arguments[:2]
        # A tuple becomes a list by itself.
        self.log.append(("general", str(list(values) if type(values) is tuple else values), second))
        return "general"

    def bolt(self, user: Any = None, thread: Callable[[], int] = int) -> Callable[..., Any]:
        """A bolt's emit; of pystorm's, whose object is `user`."""
        several = self.way == SEVERAL
        make = self.module.bolt_emit_to_several if several else self.module.bolt_emit
        emit: Callable[..., Any] = make(
            self.outbox, self._general, self.pack, count(1000).__next__, self._pick(), WIDTH,
            MOST_BYTES, OVERHEAD, self.tracked, "default", user, thread, self.shares,
        )  # fmt: skip
        return emit

    def spout(self, has_inits: bool, thread: Callable[[], int] | None = None) -> Callable[..., Any]:
        """A spout's emit; with a `thread` that of pystorm's."""
        several = self.way == SEVERAL
        make = self.module.spout_emit_to_several if several else self.module.spout_emit
        emit: Callable[..., Any] = make(
            self.outbox, self._general, self.pack, count(1000).__next__, count(5).__next__,
            self._pick(), WIDTH, MOST_BYTES, OVERHEAD, self.tracked, "default", thread,
            self.pending, self.done, self.inits if has_inits or several else None, self.shares,
        )  # fmt: skip
        return emit

    def begin(self, each: Emitted) -> None:
        """Events before this call."""
        if each.extras:
            for buffer in self.buffers:
                buffer.add_roots([1])

    def chosen(self, each: Emitted) -> list[Any] | None:
        """The anchors of a call."""
        return None if each.anchors is None else [self.anchors[at] for at in each.anchors]

    def outcome(self) -> Any:
        """All changes."""
        return (
            [contents_of(each) for each in (*self.buffers, self.fanout)],
            self.emits,
            self.sent,
            [anchor.roots for anchor in self.anchors],
            (self.outbox.room, self.log, dict(self.pending.items()), self.done, self.inits),
        )


def contents_of(buffer: Any) -> Any:
    """Content of a buffer, as sent."""
    return (
        buffer.tuples,
        buffer.pairs,
        buffer.body(),
        buffer.ids_frame(),
        buffer.sizes_frame() if buffer.pairs and buffer.has_runs else None,
        buffer.streams_frame() if buffer.is_mixed else None,
        buffer.extras,
        buffer.repeats(),
    )


def made_tuples(module: Any, kind: Any, runs: Sequence[tuple[int, int, int]], shares: bool) -> Any:
    """(tuples, anchor states) of runs of (root, edge, size); each tuple has its own if not."""
    pairs = [(root, edge) for root, edge, size in runs for _ in range(1 if shares else size)]
    ids = array("Q", [number for pair in pairs for number in pair])
    sizes = array("I", [size for _, _, size in runs]) if shares else None
    values = [[f"value {at}"] for at in range(sum(size for _, _, size in runs))]
    return module.made_rows(kind, "a", "default", 7, values, 1.5, ids, sizes, count(100))


def outcome_of(call: Any, *arguments: Any) -> Any:
    """Result of a call, or the class of its exception."""
    try:
        return call(*arguments)
    except Exception as error:
        return type(error)


# An error's place is the user's own if it is not in the engine's folder: see heron_api.user_errors.
BEFORE = """
import importlib.machinery, importlib.util, json, os, sys
import heron_core
files, *arguments = sys.argv[1:]
for name, path in json.loads(files).items():
    loader = importlib.machinery.ExtensionFileLoader(name, path)
    spec = importlib.util.spec_from_file_location(name, path, loader=loader)
    sys.modules[name] = module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    module.__file__ = os.path.join(heron_core.__path__[0], os.path.basename(path))
from heron_core.native import HOT_PATH
assert HOT_PATH == "compiled", HOT_PATH
"""


def run_compiled(
    extensions: Compiled, program: str, *arguments: str
) -> subprocess.CompletedProcess[str]:
    """A program in a child process, with the compiled hot path and `arguments`."""
    files = json.dumps({name: str(path) for name, path in extensions.files.items()})
    return _run([sys.executable, "-c", BEFORE + program, files, *arguments], {})


def run_python(program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """A program in a child process, with Python's hot path."""
    before = "import sys\n_, *arguments = sys.argv\n"
    return _run([sys.executable, "-c", before + program, *arguments], {"HERONPY_NATIVE": "0"})


def _run(command: list[str], variables: dict[str, str]) -> subprocess.CompletedProcess[str]:
    about = ("HERONPY_NATIVE", "PYTEST_")
    environment = {name: text for name, text in os.environ.items() if not name.startswith(about)}
    environment["HERON_SIM_SEEDS"] = "0:1"
    return subprocess.run(
        command, cwd=ROOT, env=environment | variables, capture_output=True, text=True, check=False
    )


def forwarder_of(module: Any) -> Any:
    """Forwards plain messages into two queues and the trees of a spout."""

    class Trees(module.OpenTrees):  # type: ignore[misc]
        """Trees with a memory of absent roots."""

        def __init__(self) -> None:
            super().__init__()
            self.missed: list[tuple[int, int]] = []

        def apply_to_older(self, root: int, value: int) -> None:
            self.missed.append((root, value))

    known = module.Forwarder(set())
    here, elsewhere = module.MessageQueue(HERE), module.MessageQueue(ELSEWHERE, is_tagged=True)
    here.touched, here.due, here.items_limit, here.bytes_limit = set(), set(), 3, 99
    known.ways, known.spouts, known.fence = (
        {HERE: here, ELSEWHERE: elsewhere},
        {SPOUT: Trees()},
        FENCE,
    )
    return known


def queue_facts(queue: Any, taken: int, limits: tuple[int, int, float]) -> list[Any]:
    """All properties of a queue, with a number of its first messages taken."""
    fitting = queue.fitting(*limits)
    front = queue.take(taken)
    facts: list[Any] = [fitting, queue.fresh, queue.touched, queue.due]
    for each in (front, queue):
        facts += (list(each), each.size, each.items, len(each))
    return facts
