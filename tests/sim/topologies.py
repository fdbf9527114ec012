"""Random topologies and the spouts and bolts they are made of.

Each tuple carries where it comes from, so that every delivery can be judged: [origin, number,
component, stream, roots, idents, key, filler]. An ident names one piece of a spout's input for
good, a root one attempt to get it processed.
"""

import pickle
from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from typing import Any
from weakref import WeakValueDictionary

from heron_api.custom_grouping import ICustomGrouping
from heron_core import config as keys
from heron_core.topology import (
    DEFAULT_STREAM,
    ComponentSpec,
    GroupingKind,
    GroupingSpec,
    InputSpec,
    StreamSpec,
    TopologySpec,
)
from heronpy_compat import Bolt, Spout
from tests.sim.checkers import Journal, require

FIELDS = ("origin", "number", "component", "stream", "roots", "idents", "key", "filler")
KEY_POSITION = FIELDS.index("key")
KEYS = 7
EXTRA_STREAM = "extra"
DIRECT_STREAM = "direct"
DELIVERIES_WANTED = 250
"""Limit of the input, for runs within milliseconds."""
IDENTS_MAX = 40
FILLERS: tuple[Any, ...] = (None, None, None, None, "x" * 40, {1, 2}, (1, (2,)), 1 << 70, 2.5)
"""Some take the serializer's general path."""


RAISING_SHARE = 0.05
"""Of the calls of user code, where it raises at all."""


@dataclass(eq=False)
class Habits:
    """How the components of one topology behave; in their config under HABITS."""

    rng: Random
    journal: Journal | None = None
    idents: int = 0
    failing_share: float = 0.0
    holding_share: float = 0.0
    children_max: int = 1
    tracked: bool = False
    next_process: int = 0
    acked_idents: set[int] = field(default_factory=set)
    committed: dict[tuple[str, str], int] = field(default_factory=dict)
    """(instance, checkpoint) -> how many tuples a bolt has made good with it"""
    newest_committed: int = 0
    """The checkpoint of the newest of these."""
    received: dict[str, Counter[int]] = field(default_factory=dict)
    """component -> how often its bolts with keyed state have got each ident (at_least_once.py)"""
    replaced_processes: set[int] = field(default_factory=set)
    """Processes stopped while another process took their place."""
    saved_counts: dict[int, Counter[int]] = field(default_factory=dict)
    """task -> a bolt's input by its newest saved state (at_least_once.py)"""

    window_share: float = 0.0
    """How often a bolt with windows holds a tuple, where windows are open for long; else 0."""
    has_failed_windows: bool = False
    """Whether bolts have failed what their windows held, for an update."""
    defers_fail: Callable[[int], bool] = lambda _: False
    """Whether an update is at the states or the instances, and does not save the state of this
    spout's task: a state is saved once `fail` was called for all failed tuples (seed 901620)."""

    raising: Random | None = None
    """Of a topology whose bolts raise at times, after their work for a tuple."""
    raises_left: int = 0

    abandons: bool = False
    """Whether bolts fail some tuples for good, where checkpoints are taken."""

    nap: Callable[[], None] | None = None
    """Lets the running bolt take its time, while all further processes go on."""

    running: Any = None
    """The instance whose main thread runs, or ran last, in a call that may be suspended."""

    def may_nap(self) -> None:
        """In user code, before the work for a tuple."""
        if self.nap is not None:
            self.nap()

    def may_raise(self) -> None:
        """In user code: a place of an exception."""
        if self.raising is not None and self.raises_left and self.raising.random() < RAISING_SHARE:
            self.raises_left -= 1
            raise ConnectionRefusedError("a dependency is away")

    def __post_init__(self) -> None:
        _HABITS[id(self)] = self

    def __reduce__(self) -> Any:
        """A plan with changed code goes through the state store: identity is kept."""
        return _habits_of, (id(self),)


_HABITS: "WeakValueDictionary[int, Habits]" = WeakValueDictionary()


def _habits_of(number: int) -> Habits:
    return _HABITS[number]


HABITS = "sim.habits"


class Emitter:
    """What spouts and bolts here have in common: emits known to the journal."""

    def begin(self, component: Any, config: Any, context: Any) -> None:
        """To be called by `initialize`."""
        self.habits: Habits = config[HABITS]
        self.habits.next_process += 1
        self.process_id = self.habits.next_process
        self.component = component
        self.name = context.get_component_id()
        self.task = context.get_task_id()
        index = context.get_component_tasks(self.name).index(self.task)
        self.instance = f"{self.name}[{index}]"
        assert self.habits.journal is not None
        self.journal = self.habits.journal
        self.rng = Random(self.habits.rng.random())
        spec = self.journal.topology.by_name[self.name]
        self.context = context
        self.streams = [each.name for each in spec.outputs if self.direct_tasks or not each.direct]

    @property
    def packing(self) -> Any:
        """The plan of the present emits."""
        return self.context._packing

    @property
    def direct_tasks(self) -> list[int]:
        """Readers of the direct stream now."""
        return [
            task
            for consumer, _ in self.journal.topology.consumers.get((self.name, DIRECT_STREAM), ())
            for task in self.context.get_component_tasks(consumer.name)
        ]

    def send(self, stream: str, roots: list[int], idents: list[int], **how: Any) -> None:
        """Emit one tuple on a stream."""
        rng = self.rng
        tracked = roots if self.habits.tracked else []
        packing = self.packing
        number = self.journal.emitted(self.process_id, self.name, stream, tracked, packing)
        key: Any = idents[0] % KEYS
        if rng.random() < 0.3:
            key = float(key)
        values: Any = [
            self.process_id, number, self.name, stream, roots, idents, key, rng.choice(FILLERS)
        ]  # fmt: skip
        if rng.random() < 0.2:
            values = tuple(values)
        if stream != DEFAULT_STREAM or rng.random() < 0.1:
            how["stream"] = stream
        if stream == DIRECT_STREAM:
            how["direct_task"] = rng.choice(self.direct_tasks)
        if rng.random() < 0.2:
            how["need_task_ids"] = True
        tasks = self.component.emit(values, **how)
        if type(values) is list:
            values.clear()  # what was emitted is not to change by this
        if "need_task_ids" in how:
            copies = self.journal.expected_copies(self.name, stream, packing)
            require(len(tasks) == copies, f"{tasks} instead of {copies} tasks")


class SimSpout(Spout):
    """Emits its idents on all of its streams, and failed ones again."""

    def initialize(self, config: Any, context: Any) -> None:
        self.emitter = Emitter()
        self.emitter.begin(self, config, context)
        habits = self.emitter.habits
        first = self.emitter.task * 10_000
        self.left = deque(
            (stream, first + 10 * ident + position)
            for ident in range(habits.idents)
            for position, stream in enumerate(self.emitter.streams)
        )
        self.all_idents: dict[str, list[int]] = {}
        for stream, ident in self.left:
            self.all_idents.setdefault(stream, []).append(ident)
        self.attempts: dict[int, tuple[str, int]] = {}

    def next_tuple(self) -> None:
        if not self.left:
            self.finish()
            return
        stream, ident = self.left.popleft()
        root = self.emitter.journal.new_root(self.emitter.process_id)
        self.attempts[root] = stream, ident
        self.emitter.send(stream, [root], [ident], tup_id=root)

    def ack(self, tup_id: Any) -> None:
        self.emitter.journal.settled(tup_id, "acked", self.emitter.habits.tracked)
        del self.attempts[tup_id]

    def fail(self, tup_id: Any) -> None:
        habits, journal = self.emitter.habits, self.emitter.journal
        if habits.has_failed_windows and not journal.undrained:
            # Emits would now go to the keys' previous tasks.
            is_deferred = habits.defers_fail(self.emitter.task)
            require(not is_deferred, f"fail({tup_id}) amid an update of open windows")
        journal.settled(tup_id, "failed", habits.tracked)
        self.left.append(self.attempts.pop(tup_id))


class SimBolt(Bolt):
    """Passes on its input, joins some held tuples, fails some."""

    def initialize(self, config: Any, context: Any) -> None:
        self.emitter = Emitter()
        self.emitter.begin(self, config, context)
        self.held: list[Any] = []
        self.finished = 0

    def process(self, tup: Any) -> None:
        habits, journal, rng = self.emitter.habits, self.emitter.journal, self.emitter.rng
        habits.may_nap()
        self.receive(tup)
        if not journal.calm:
            roll = rng.random()
            if roll < habits.failing_share:
                self.reject(tup)
                return
            if roll > 1 - self.holding_share:
                self.held.append(tup)
                return
        joined = [*self.held, tup]
        self.held.clear()
        self.pass_on(joined)

    @property
    def holding_share(self) -> float:
        """How often it holds a tuple back."""
        return self.emitter.habits.holding_share

    def receive(self, tup: Any) -> None:
        """Tell the journal of a delivery."""
        origin, number, component, stream, _, _, key, _ = tup.values
        told = (tup.component, tup.stream)
        require(told == (component, stream), f"a tuple of {component}.{stream} came as {told}")
        emitter = self.emitter
        emitter.journal.received(
            origin,
            number,
            (component, stream, tup.task),
            (emitter.name, emitter.task, emitter.process_id),
            key,
        )

    def reject(self, tup: Any) -> None:
        """Fail a tuple, by word or by an error."""
        self.emitter.journal.failed(tup.values[4])
        if self.emitter.rng.random() < 0.1:
            raise ArithmeticError("user code fails now and then")
        self.fail(tup)

    def pass_on(self, joined: list[Any]) -> None:
        """Emit the results of some tuples, then ack."""
        emitter = self.emitter
        roots = sorted({root for tup in joined for root in tup.values[4]})
        idents = sorted({ident for tup in joined for ident in tup.values[5]})
        for stream in emitter.streams:
            for _ in range(emitter.rng.randint(1, emitter.habits.children_max)):
                emitter.send(stream, roots, idents, **self.anchored(joined))
        if not any(
            emitter.journal.expected_copies(emitter.name, each, emitter.packing)
            for each in emitter.streams
        ):
            emitter.journal.leaf_done(emitter.name, idents)
        for tup in joined:
            if emitter.habits.tracked:
                emitter.journal.processed(tup.values[4])
            self.settle(tup)

    def anchored(self, joined: list[Any]) -> dict[str, Any]:
        """How `emit` is told of the anchors."""
        return {"anchors": joined}

    def settle(self, tup: Any) -> None:
        """Ack a passed-on tuple."""
        self.ack(tup)

    def on_finish(self) -> None:
        self.finished += 1
        require(self.finished == 1, "on_finish is called twice")
        if self.held:
            joined = list(self.held)
            self.held.clear()
            self.pass_on(joined)


class ComfortableBolt(SimBolt):
    """Leaves anchors and acks to the engine."""

    auto_ack = True
    auto_anchor = True

    def process(self, tup: Any) -> None:
        self.receive(tup)
        roll = self.emitter.rng.random()
        if not self.emitter.journal.calm and roll < self.emitter.habits.failing_share:
            self.emitter.journal.failed(tup.values[4])
            raise ArithmeticError("user code fails now and then")
        self.pass_on([tup])

    def anchored(self, joined: list[Any]) -> dict[str, Any]:
        return {}

    def settle(self, tup: Any) -> None:
        pass


class ByFiller(ICustomGrouping):
    """One task by the key."""

    def prepare(self, context: Any, component: str, stream: str, target_tasks: list[int]) -> None:
        self.tasks = target_tasks

    def choose_tasks(self, values: list[Any]) -> list[int]:
        return [self.tasks[int(values[KEY_POSITION]) % len(self.tasks)]]


# --- random topologies ---------------------------------------------------------------------------

_KINDS = (
    GroupingKind.SHUFFLE,
    GroupingKind.SHUFFLE,
    GroupingKind.FIELDS,
    GroupingKind.ALL,
    GroupingKind.GLOBAL,
    GroupingKind.NONE,
    GroupingKind.LOCAL_OR_SHUFFLE,
    GroupingKind.PARTIAL_KEY,
    GroupingKind.CUSTOM,
)


def random_topology(rng: Random, habits: Habits, config: dict[str, Any]) -> TopologySpec:
    """One or two spouts, one to three layers of one or two bolts, any groupings."""
    components = [_component(rng, f"spout{at}", True, ()) for at in range(rng.randint(1, 2))]
    layer = list(components)
    taken: set[str] = set()
    for depth in range(rng.randint(1, 3)):
        bolts = []
        for at in range(rng.randint(1, 2)):
            inputs = _inputs(rng, layer, taken)
            bolts.append(_component(rng, f"bolt{depth}{at}", False, inputs))
        components += bolts
        further = rng.choice(components)
        layer = [*bolts, *([further] if further not in bolts and rng.random() < 0.3 else [])]
    keys_of = {HABITS: habits}
    made = tuple(
        ComponentSpec(
            each.name, each.is_spout, each.class_path, each.parallelism, each.outputs, each.inputs,
            keys_of,
        )
        for each in components
    )  # fmt: skip
    topology = TopologySpec("sim", made, config)
    habits.idents = _affordable(topology, habits.children_max)
    return topology


def _component(
    rng: Random, name: str, is_spout: bool, inputs: tuple[InputSpec, ...]
) -> ComponentSpec:
    names = [DEFAULT_STREAM]
    if rng.random() < 0.3:
        names.insert(rng.randint(0, 1), EXTRA_STREAM)
    if rng.random() < 0.2:
        names.insert(rng.randint(0, len(names)), DIRECT_STREAM)
    outputs = tuple(StreamSpec(each, FIELDS, each == DIRECT_STREAM) for each in names)
    kind = SimSpout if is_spout else rng.choice((SimBolt, SimBolt, ComfortableBolt))
    return ComponentSpec(
        name, is_spout, f"{__name__}.{kind.__name__}", rng.randint(1, 3), outputs, inputs
    )


def _inputs(rng: Random, layer: list[ComponentSpec], taken: set[str]) -> tuple[InputSpec, ...]:
    """One or two streams of the layer above; a direct stream has one reader at most."""
    choices = [(source.name, stream) for source in layer for stream in source.outputs]
    found = []
    for component, stream in rng.sample(choices, min(len(choices), rng.randint(1, 2))):
        if stream.direct:
            if component in taken:
                continue
            taken.add(component)
            grouping = GroupingSpec(GroupingKind.DIRECT)
        else:
            grouping = _grouping(rng)
        found.append(InputSpec(component, stream.name, grouping))
    if not found:
        found.append(InputSpec(layer[0].name, DEFAULT_STREAM, _grouping(rng)))
    return tuple(found)


def _grouping(rng: Random) -> GroupingSpec:
    kind = rng.choice(_KINDS)
    if kind in (GroupingKind.FIELDS, GroupingKind.PARTIAL_KEY):
        return GroupingSpec(kind, ("key",))
    if kind is GroupingKind.CUSTOM:
        return GroupingSpec(kind, custom=pickle.dumps(ByFiller()))
    return GroupingSpec(kind)


def _affordable(topology: TopologySpec, children_max: int) -> int:
    """Idents for each spout task, so that the deliveries come near DELIVERIES_WANTED."""
    arriving: dict[str, float] = {}
    total = 0.0
    for component in topology.components:
        each = float(component.parallelism) if component.is_spout else arriving[component.name]
        for stream in component.outputs:
            for consumer, an_input in topology.consumers.get((component.name, stream.name), ()):
                copies = consumer.parallelism if an_input.grouping.kind is GroupingKind.ALL else 1
                sent = each * copies * ((1 + children_max) / 2 if not component.is_spout else 1)
                arriving[consumer.name] = arriving.get(consumer.name, 0.0) + sent
                total += sent
    return max(3, min(IDENTS_MAX, int(DELIVERIES_WANTED / max(1.0, total))))


def random_config(rng: Random) -> dict[str, Any]:
    """Delivery mode, small batches, low water marks."""
    high = rng.choice((300, 1000, 4000))
    return {
        keys.STMGRS: rng.randint(1, 3),
        keys.RELIABILITY_MODE: keys.ATLEAST_ONCE if rng.random() < 0.6 else keys.ATMOST_ONCE,
        keys.MAX_SPOUT_PENDING: rng.choice((3, 20, 1000)),
        keys.BATCH_TUPLES: rng.choice((1, 4, 512)),
        keys.BATCH_BYTES: rng.choice((100, 500, 65536)),
        keys.BACKPRESSURE_HIGH_BYTES: high,
        keys.BACKPRESSURE_LOW_BYTES: high // rng.choice((2, 4)),
        keys.MESSAGE_TIMEOUT_SECS: 6,
        keys.METRICS_INTERVAL_MS: 500,
    }
