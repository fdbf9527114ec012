"""Puts an instance together: user class, context, collector, driver, hooks, in heronpy's order."""

import os
from collections.abc import Callable
from functools import partial
from itertools import count
from random import Random
from typing import TYPE_CHECKING, Any, cast

from msgspec import Struct

from heron_api.class_loading import load_class
from heron_api.method_shapes import refuse_methods
from heron_api.state.binding import (
    component_state,
    keeps_state,
    may_fail_retained,
    saves_itself,
)
from heron_api.state.migration import migrate
from heron_api.windows.retaining_bolt import RetainingBolt
from heron_core import config as keys
from heron_core.component import EngineBolt, EngineComponent, EngineSpout
from heron_core.config.effects import component_config
from heron_core.errors import ComponentError
from heron_core.instance_report import SETTLES_LATER
from heron_core.native import edge_numbers, plain_packer
from heron_core.plans import PackingPlan, PhysicalPlan
from heron_core.records import replace
from heron_core.topology import ComponentSpec, TopologySpec
from heron_core.wire.frames import NUMBER_BYTES, ROOT_COUNTER_BITS
from heron_core.wire.pickled import opened
from heron_core.wire.values import Pack, packer, unpacker
from heron_frontends.adapters.foreign_calls import ForeignCalls, watch_starts, watch_threads
from heron_instance.coroutine_calls import CoroutineCalls
from heron_instance.emit.collector import BoltCollector, SpoutCollector, TaskCollector
from heron_instance.emit.output_buffers import Outbox
from heron_instance.emit.routing import Router
from heron_instance.emit.stream_sample import StreamSamples
from heron_instance.emit.untracked import UntrackedEmits
from heron_instance.input.bolt import BoltDriver
from heron_instance.input.bolt_rows import Decode
from heron_instance.input.coroutine_bolt import CoroutineBoltDriver
from heron_instance.input.driver import ComponentDriver
from heron_instance.input.in_flight_bolt import LaterAcksDriver
from heron_instance.input.spout import SpoutDriver
from heron_instance.later_acks import LaterAcks
from heron_instance.options import InstanceOptions
from heron_instance.runtime.bindings import (
    DriverCalls,
    bolt_bindings,
    hook_bolt,
    hook_spout,
    lead_to,
    spout_bindings,
    take_batches,
)
from heron_instance.runtime.context import InstanceContext
from heron_instance.runtime.environment import InstanceEnvironment
from heron_instance.runtime.hooks import TaskHooks
from heron_instance.runtime.letters import route_letters
from heron_instance.runtime.metrics import Metrics
from heron_instance.runtime.silent import SilentBolt, SilentSpout
from heron_instance.state import InstanceState

if TYPE_CHECKING:
    from heron_instance.input.tracing import Tracer

EDGES_DRAWN = 4096
"""Random edges drawn at a time: one call of the generator for each would cost more."""


class ReadyInstance(Struct, frozen=True):
    """A component ready to run."""

    driver: ComponentDriver
    adapter: EngineComponent
    """The component as engines drive it."""
    context: InstanceContext
    hooks: TaskHooks | None
    state: InstanceState
    samples: StreamSamples

    @property
    def keeps_state(self) -> bool:
        """Whether the user's class takes a state, and so needs a restore."""
        return keeps_state(self.adapter.users_object)

    @property
    def saves_itself(self) -> bool:
        """Whether its state is saved where no checkpoints are taken."""
        return saves_itself(self.adapter.users_object)

    @property
    def component(self) -> Any:
        """The object whose methods are the component's: the user's, for heronpy's API."""
        return self.adapter.driven_object

    def go_on_counting(self, before: "ReadyInstance") -> None:
        """Take over the counts of the previous object in the process."""
        self.driver.go_on_counting(before.driver)
        self.context.go_on_counting(before.context)

    def close(self) -> None:
        """The last calls of user code; emits in them are only buffered."""
        hooks = self.hooks
        for last_call in (self.adapter.close, *([hooks.clean_up] if hooks else ())):
            try:
                last_call()
            except Exception:
                self.driver.metrics.callback_errors += 1
                self.driver.user_error("close")
        self.state.close()

    def take_routes(self, plan: PhysicalPlan, is_scaled: bool) -> None:
        """In the main thread: the topology runs by a physical plan, whose packing plan is another
        one than before if it `is_scaled`."""
        if plan.restore is None:  # else nothing is left to route
            name = self.context.get_component_id()
            since = plan.rescaled.get(name, 0) if self.keeps_state else 0
            self.driver.routed_by(plan.epoch, since)
        if is_scaled:
            self.repack(plan.packing)

    def repack(self, packing: PackingPlan) -> None:
        """In the main thread: the topology is scaled, its tasks are those of `packing` now."""
        self.context.repack(packing)
        self.driver.repack(packing)


def topology_by(submitted: TopologySpec, packing: PackingPlan, task: int) -> TopologySpec:
    """The topology of a plan, for the process of `task`.

    The own component is as loaded by the process, even if the plan has the class in a different
    module, importable only by later processes: new code comes with new tasks.
    """
    topology = packing.topology_of(submitted)
    if topology is submitted:
        return topology
    ours = packing.instances[task].component
    return topology.with_class(ours, submitted.by_name[ours].class_path)


class _Setting(Struct, frozen=True):
    """Parts of one instance, before its component exists."""

    spec: ComponentSpec
    topology: TopologySpec
    packing: PackingPlan
    task: int
    config: dict[str, Any]
    options: InstanceOptions
    context: InstanceContext
    outbox: Outbox
    router: Router
    environment: InstanceEnvironment
    state: InstanceState
    is_restored: bool = False
    """Whether the state is a saved state."""
    takes_newest: bool = True
    """Whether the component starts with its newest periodically saved state, if any."""

    def samples(self, decode: Decode) -> StreamSamples:
        """Samples the output streams on request."""
        return StreamSamples(self.outbox, self.router, decode, self.environment.report)


def build(
    topology: TopologySpec,
    packing: PackingPlan,
    task: int,
    environment: InstanceEnvironment,
    saved: bytes | None = None,
) -> ReadyInstance:
    """The instance of `task`, initialised; ComponentError if the user's class cannot be loaded.

    `saved`: the state to begin with. What the user's `initialize` raises passes through.
    """
    saved = environment.first_state if saved is None else saved
    setting = replace(_setting(topology, packing, task, environment), is_restored=bool(saved))
    if saved is not None:
        setting.state.restore(saved)
        setting = replace(setting, takes_newest=False)
    ready = (_spout if setting.spec.is_spout else _bolt)(setting)
    if environment.recorder is not None:
        environment.recorder.attach(ready.driver)
        ready.driver.recorder = environment.recorder
    return ready


def waiting(
    topology: TopologySpec, packing: PackingPlan, task: int, environment: InstanceEnvironment
) -> ReadyInstance:
    """Placeholder of the instance of `task` until its initial state is known; does nothing.
    ComponentError if the user's class cannot be loaded."""
    setting = _setting(topology, packing, task, environment)
    pack, decode = _codec(InstanceOptions.of({}), {})
    edges = _edges(environment.rng)
    driver: ComponentDriver
    if setting.spec.is_spout:
        nothing: Any = SilentSpout()
        roots = _roots(task, environment.rng)
        emitted = SpoutCollector(setting.router, setting.outbox, setting.options, pack, edges,
                                 roots, environment.clock)  # fmt: skip
        driver = SpoutDriver(nothing, setting.outbox, setting.options, environment.clock,
                             environment.logger.error, emitted)  # fmt: skip
    else:
        nothing = SilentBolt()
        collector = BoltCollector(setting.router, setting.outbox, setting.options, pack, edges)
        driver = BoltDriver(nothing, setting.outbox, setting.options, environment.clock,
                            environment.logger.error, collector, decode, topology, packing, None,
                            Metrics(), None)  # fmt: skip
    setting.state.close()
    if environment.recorder is not None:
        environment.recorder.attach(driver)
        driver.recorder = environment.recorder
    return ReadyInstance(
        driver, nothing, setting.context, None, setting.state, setting.samples(decode)
    )


def _setting(
    topology: TopologySpec, packing: PackingPlan, task: int, environment: InstanceEnvironment
) -> _Setting:
    closed = topology.by_name[packing.instances[task].component]
    watch_starts()
    # First of all: a file without a main block submits its topology when it is imported, and
    # load_class captures that. What is unpickled below, config and custom groupings, would not.
    load_class(closed.class_path)
    spec = replace(closed, config=opened(closed.config))
    config = component_config(opened(keys.with_defaults(topology.config)), spec.config)
    # For a rescaled topology the packing plan has the number.
    config[keys.COMPONENT_PARALLELISM] = len(packing.tasks_of[spec.name])
    config[keys.TOPOLOGY_NAME] = topology.name
    options = InstanceOptions.of(config)
    context = InstanceContext(topology, packing, task, config, environment.incarnation,
                              environment.run_store)  # fmt: skip
    outbox = Outbox(task, options.tracked, options.batch_tuples, options.batch_bytes,
                    environment.send, environment.admit, environment.may_send,
                    environment.clock, environment.rest)  # fmt: skip
    first = environment.rng.randrange(1 << 16)
    router = Router(topology, packing, task, outbox, context, first=first)
    state = component_state(spec, config, f"{topology.name}-{task}")
    return _Setting(spec, topology, packing, task, config, options, context, outbox, router,
                    environment, state)  # fmt: skip


def _bolt(setting: _Setting) -> ReadyInstance:
    options, context, environment = setting.options, setting.context, setting.environment
    tracer = _tracer(options, environment)
    pack, decode = _codec(options, setting.config)
    edges = _edges(environment.rng)
    collector = BoltCollector(setting.router, setting.outbox, options, pack, edges)
    calls = DriverCalls(environment.logger)
    foreign = _watch(collector, environment, calls, _refusal_of_bolts(setting))
    bindings = bolt_bindings(collector, environment, calls)
    bindings.check_thread = lambda anchors, stream: foreign.check()
    component = cast(EngineBolt, environment.construct(setting.spec, bindings))
    withheld: LaterAcks | CoroutineCalls | None = None
    if component.takes_batches:
        take_batches(bindings, collector, environment)
        component.bind(bindings)
    elif component.is_async:
        withheld = CoroutineCalls(collector, foreign, options.async_ordered)
    elif environment.load_state is not None and component.acks_later:
        foreign.refusal = ""
        withheld = LaterAcks(collector, foreign)
        bindings.check_thread = withheld.check_thread
    if withheld is not None:
        lead_to(bindings, withheld, collector, environment, calls)
        component.bind(bindings)
    hooks = _initialize(component, setting)
    if hooks is not None:
        hook_bolt(bindings, hooks)
        component.bind(bindings)
    elif environment.is_direct and withheld is None:
        component.bind_direct(collector.emit_of)
    make_driver = BoltDriver if tracer is None else tracer.bolt_driver
    if isinstance(withheld, LaterAcks):
        make_driver = partial(LaterAcksDriver, withheld)
    elif withheld is not None:
        make_driver = _coroutine_driver(withheld, component, setting)
    driver = make_driver(component, setting.outbox, options, environment.clock,
                         environment.logger.error, collector, decode, setting.topology,
                         setting.packing, hooks, Metrics(), context.tick_secs)  # fmt: skip
    given = setting.state.given
    driver.has_fixed_state = lambda: bool(given.is_fixed)
    driver.settle_secs_max = _settle_secs_max(component, context.tick_secs)
    driver.may_fail_retained = may_fail_retained(component.users_object)
    driver.also_idle(lambda: collector.threads_are_idle)
    calls.attach(driver)
    UntrackedEmits(driver.record_error).count_those_of(collector)
    route_letters(driver, collector, setting.topology, setting.packing, environment.wall_ms)
    samples = setting.samples(decode)
    return ReadyInstance(driver, component, context, hooks, setting.state, samples)


def _settle_secs_max(component: EngineBolt, tick_secs: float | None) -> float:
    """For how long it may keep a tuple by its design; windows, calls that come later and what waits
    for the end of the input have no time that is known here."""
    is_open = (
        component.acks_later
        or component.retains_until_finish
        or isinstance(component.users_object, RetainingBolt)
    )
    return SETTLES_LATER if is_open else tick_secs or 0.0


def _spout(setting: _Setting) -> ReadyInstance:
    options, environment = setting.options, setting.environment
    pack, decode = _codec(options, setting.config)
    edges = _edges(environment.rng)
    roots, tracer = _roots(setting.task, environment.rng), _tracer(options, environment)
    if tracer is not None:
        roots = tracer.roots(roots)
    collector = SpoutCollector(setting.router, setting.outbox, options, pack, edges, roots,
                               environment.clock)  # fmt: skip
    calls = DriverCalls(environment.logger)
    foreign = _watch(collector, environment, calls, _refusal_of_spouts(setting))
    bindings = spout_bindings(collector, environment, calls)
    bindings.check_thread = lambda anchors, stream: foreign.check()
    component = cast(EngineSpout, environment.construct(setting.spec, bindings))
    if not keeps_state(component.users_object):
        foreign.refusal = ""
    make_driver = SpoutDriver if tracer is None else tracer.spout_driver
    driver = make_driver(component, setting.outbox, options, environment.clock,
                         environment.logger.error, collector)  # fmt: skip
    driver.also_idle(lambda: collector.threads_are_idle)
    calls.attach(driver)
    route_letters(driver, collector, setting.topology, setting.packing, environment.wall_ms)
    driver.hooks = hooks = _initialize(component, setting)
    if hooks is not None:
        hook_spout(bindings, hooks, collector, environment)
        component.bind(bindings)
    elif environment.is_direct:
        component.bind_direct(collector.emit_of)
    samples = setting.samples(decode)
    return ReadyInstance(driver, component, setting.context, hooks, setting.state, samples)


def _coroutine_driver(
    calls: CoroutineCalls, component: EngineBolt, setting: _Setting
) -> Callable[..., BoltDriver]:
    environment, state = setting.environment, setting.state.given
    named = getattr(state, "named", None)
    if named is not None and named.is_keyed:
        component.close()
        raise ComponentError(
            f"{setting.spec.name}: `async def process` with keyed states, whose key would be"
            " that of another tuple after an await: keep the states in the bolt before or behind it"
        )
    retries = None
    if environment.load_state is not None and not environment.fails_at_once:
        retries = setting.options.retries
    has_state = keeps_state(component.users_object)
    return partial(CoroutineBoltDriver, calls, retries, has_state)


def _watch(
    collector: TaskCollector, environment: InstanceEnvironment, calls: DriverCalls, refusal: str
) -> ForeignCalls:
    """Threads of user code may emit, unless a `refusal` is given."""
    foreign = ForeignCalls(
        environment.call_soon, lambda what, text: calls.raised_beside(what), refusal
    )
    collector.watch(foreign)
    watch_threads(collector)
    return foreign


def _refusal_of_bolts(setting: _Setting) -> str:
    """Under checkpoints the source tuple of a thread's emit is unknown."""
    if setting.environment.load_state is None:
        return ""
    return (
        f"{setting.spec.name}: a thread emits or fails a tuple, of which no checkpoint knows in"
        " EFFECTIVELY_ONCE: set acks_later = True in the class (auto_ack = False in one of"
        " pystorm), emit with anchors=[tup], then ack(tup)"
    )


def _refusal_of_spouts(setting: _Setting) -> str:
    """A state may be saved between what a thread notes of a position and its emit."""
    if setting.environment.load_state is None:
        return ""
    return (
        f"{setting.spec.name}: a thread emits, and this spout keeps state, so its checkpoints would"
        " not be exact in EFFECTIVELY_ONCE: let the thread fill a queue.Queue, and emit in"
        " next_tuple"
    )


def _tracer(options: InstanceOptions, environment: InstanceEnvironment) -> "Tracer | None":
    """None where nothing is traced: only at least once do tuples have roots."""
    if not options.trace_sample or not options.tracked:
        return None
    # Late: rarely needed.
    from heron_instance.input.tracing import Tracer

    return Tracer(options.trace_sample, environment.clock)


def _initialize(component: EngineComponent, setting: _Setting) -> TaskHooks | None:
    """Call initialize, then the task hooks of the config and of the component."""
    context, newest = setting.context, setting.environment.newest_state
    is_restored = setting.is_restored
    if newest is not None and setting.takes_newest and saves_itself(component.users_object):
        saved = newest.load()
        if saved is not None:
            setting.state.restore(saved)
            is_restored = True
    component.init_state(setting.state.given)
    if keeps_state(component.users_object):
        migrate(component.users_object, setting.state.given, setting.spec.name, is_restored)
    component.initialize(setting.config, context)
    hooks = [load_class(path)() for path in setting.options.task_hooks]
    for hook in [*hooks, *context.added_hooks]:
        hook.prepare(setting.config, context)
    hooks.extend(context.added_hooks)
    return TaskHooks(hooks, setting.task, setting.environment.clock) if hooks else None


def _codec(options: InstanceOptions, config: dict[str, Any]) -> tuple[Pack, Decode]:
    """How values travel: msgpack, or each value by the topology's own serializer."""
    path = options.serializer
    pack_bytes, unpack = packer(pickles=options.pickles), unpacker(pickles=options.pickles)
    if path is None or path.endswith(".PythonSerializer"):
        return plain_packer(pack_bytes), unpack
    serializer: Any = load_class(path)()
    refuse_methods(f"serializer {path}", serializer, ("initialize", "serialize", "deserialize"))
    serializer.initialize(config)
    name = type(serializer).__name__

    def pack(values: Any) -> bytes:
        data = [serializer.serialize(value) for value in values]
        other = next((type(each).__name__ for each in data if not isinstance(each, bytes)), None)
        if other is not None:
            raise ComponentError(f"{name}.serialize must return bytes, not {other}")
        return pack_bytes(data)

    def decode(body: bytes) -> list[list[Any]]:
        return [[serializer.deserialize(value) for value in values] for values in unpack(body)]

    return pack, decode


def _edges(rng: Random) -> Callable[[], int]:
    """Random 64-bit numbers without end."""
    return edge_numbers(partial(rng.randbytes, NUMBER_BYTES * EDGES_DRAWN))


def _roots(task: int, rng: Random) -> Callable[[], int]:
    """Root ids of a spout task. They start at random, so a successor's are not its predecessor's;
    below half the range, so they cannot run over within a million years."""
    start = rng.getrandbits(ROOT_COUNTER_BITS - 1)
    return count((task << ROOT_COUNTER_BITS) | start).__next__


def incarnation_number() -> int:
    """Random unique id of the process among all processes of its task."""
    return int.from_bytes(os.urandom(7), "big")
