"""An instance of a class of pystorm's, with clock, wire and other threads in hand."""

import itertools
import logging
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from types import ModuleType
from typing import Any

from heron_core import config as keys
from heron_core.topology import (
    ComponentSpec,
    GroupingKind,
    GroupingSpec,
    InputSpec,
    StreamSpec,
    TopologySpec,
)
from heron_core.wire.frames import FrameKind
from heron_instance.runtime.environment import InstanceEnvironment
from heron_instance.runtime.factory import build
from tests.unit.heron_instance.instance_support import Made, batch, packing

OTHER = 6
ROOT = OTHER << 44
EPOCH = 3
FIELDS = ("word", "n")
SHUFFLE = GroupingSpec(GroupingKind.SHUFFLE)
DIRECT = GroupingSpec(GroupingKind.DIRECT)
_numbers = itertools.count()


@dataclass
class Running(Made):
    """The instance of task 1; the bolt "readers" (tasks 2 to 5) reads its streams."""

    soon: list[Callable[[], None]] = field(default_factory=list)
    later: list[tuple[float, Callable[[], None]]] = field(default_factory=list)
    lines: list[tuple[str, str]] = field(default_factory=list)

    @property
    def user(self) -> Any:
        """The user's own object."""
        return self.component.users_object

    def feed(self, *values: list[Any], roots: Any = None) -> None:
        """Deliver tuples of task 6; by default each has a root of its own, and
        an edge: 7, 8, 9, …"""
        if roots is None:
            roots = [(ROOT + at, 7 + at) for at in range(len(values))]
        self.core.deliver(batch(*values, roots=roots))

    def tick(self) -> None:
        """A tick as the engine gives it."""
        self.core.tick(self.core.next_tick)

    def run_soon(self) -> None:
        """Make the calls that wait for the main thread."""
        while self.soon:
            self.soon.pop(0)()

    def run_later(self) -> float:
        """Let the time pass for the next timer; returns its seconds."""
        secs, function = self.later.pop(0)
        function()
        return secs

    def acked(self) -> list[int]:
        """Roots (without the owner's number) whose tuples were acked, in order of the reports."""
        self.core.flush()
        return [each - ROOT for each in self.words_of(FrameKind.ACK)[::2]]

    def failed(self) -> list[int]:
        """Roots (without the owner's number) that failed."""
        self.core.flush()
        return [each - ROOT for each in self.words_of(FrameKind.FAIL)]

    def values(self, stream: int = 0) -> list[list[Any]]:
        """Values emitted on one stream, in order of sending; for all readers together."""
        self.core.flush()
        return [
            row
            for each in self.batches()
            for row, found in zip(each.values, each.streams, strict=True)
            if found == stream
        ]


class _Lines(logging.Handler):
    def __init__(self, made: Running) -> None:
        super().__init__()
        self._made = made

    def emit(self, record: logging.LogRecord) -> None:
        self._made.lines.append((record.levelname, record.getMessage()))
        if record.levelno >= logging.ERROR:
            self._made.errors.append(record.getMessage())


def importable(kind: type) -> str:
    """The path of a class made inside of a test."""
    name = f"storm_user_code_{next(_numbers)}"
    module = ModuleType(name)
    setattr(module, kind.__name__, kind)
    sys.modules[name] = module
    return f"{name}.{kind.__name__}"


def topology_of(
    kind: type, is_spout: bool, outputs: tuple[StreamSpec, ...], config: dict[str, Any]
) -> TopologySpec:
    path = importable(kind)
    feeds = () if is_spout else (
        InputSpec("other", "default", SHUFFLE),
        InputSpec("other", "odd names", SHUFFLE),
    )  # fmt: skip
    reads = tuple(
        InputSpec("tested", each.name, DIRECT if each.direct else SHUFFLE) for each in outputs
    )
    streams = (
        StreamSpec("default", FIELDS),
        StreamSpec("odd names", ("user-id", "class", "_x", "twice", "twice")),
    )
    return TopologySpec(
        "t",
        (
            ComponentSpec("tested", is_spout, path, 1, outputs, feeds),
            ComponentSpec("readers", False, path, 4, (), reads),
            ComponentSpec("other", not is_spout, path, 1, streams, ()),
        ),
        {keys.RELIABILITY_MODE: keys.ATLEAST_ONCE, **config},
    )


def start(
    kind: type,
    *,
    spout: bool = False,
    outputs: tuple[StreamSpec, ...] = (StreamSpec("default", ("a", "b")),),
    calls_soon: bool = True,
    **config: Any,
) -> Running:
    """The instance of `kind`, started; a keyword tick_secs=1 is the tick interval."""
    if "tick_secs" in config:
        config[keys.TICK_TUPLE_FREQ_SECS] = config.pop("tick_secs")
    dotted = {name.replace("__", "."): value for name, value in config.items()}
    topology = topology_of(kind, spout, outputs, dotted)
    made = Running(None)  # type: ignore[arg-type]
    log = logging.Logger("tested")
    log.addHandler(_Lines(made))
    environment = InstanceEnvironment(
        lambda: made.now,
        Random(1),
        made.sent.extend,
        lambda: None,
        log,
        call_soon=made.soon.append,
        call_later=lambda secs, function: made.later.append((secs, function)),
    )
    made.instance = build(topology, packing(), 1, environment)
    made.core.plan_changed(EPOCH)
    if spout:
        made.core.set_active(True)
    else:
        made.core.begin(True, made.now)
    return made


def keeping(storm: Any, **members: Any) -> type:
    """A bolt that keeps its input; `script` is the body of `process`."""

    def initialize(self: Any, conf: Any, ctx: Any) -> None:
        self.got = []
        self.ticks = []
        self.started_with = (conf, ctx)

    def process(self: Any, tup: Any) -> None:
        self.got.append(tup)
        script = members.get("script")
        if script is not None:
            script(self, tup)

    def process_tick(self: Any, tup: Any) -> None:
        self.ticks.append(tup)

    own = {"initialize": initialize, "process": process, "process_tick": process_tick}
    return type("Keeping", (storm.Bolt,), {**own, **members})


def edge_of(made: Running, at: int = 0) -> int:
    """The edge of the delivery number `at`."""
    made.core.flush()
    ids = [word for each in made.batches() for word in each.ids]
    return ids[2 * at + 1]
