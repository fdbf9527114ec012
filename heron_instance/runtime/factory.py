"""Puts an instance together: user class, context, collector, core, hooks, in heronpy's order."""

import logging
import os
import threading
from array import array
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import chain, count
from random import Random
from typing import Any, NoReturn

from heron_core import config as keys
from heron_core.errors import ComponentError
from heron_core.plans import PackingPlan
from heron_core.topology import ComponentSpec, TopologySpec
from heron_core.wire.frames import ROOT_COUNTER_BITS
from heron_core.wire.pickled import opened
from heron_core.wire.values import Pack, packer, unpack
from heron_instance.emit.collector import BoltCollector, SpoutCollector
from heron_instance.emit.output_buffers import Admit, Outbox, Send
from heron_instance.emit.routing import Router
from heron_instance.input.bolt import BoltDriver, Decode
from heron_instance.input.driver import ComponentDriver, is_not_overridden
from heron_instance.input.spout import SpoutDriver
from heron_instance.options import Options
from heron_instance.runtime.context import InstanceContext, give_state
from heron_instance.runtime.hooks import TaskHooks
from heron_instance.runtime.metrics import Metrics
from heronpy_compat.adapters.construct import construct
from heronpy_compat.loading.class_loading import load_class

Clock = Callable[[], float]
CallSoon = Callable[[Callable[[], None]], None]
CallLater = Callable[[float, Callable[[], None]], None]
Around = Callable[[str, Callable[..., Any]], Callable[..., Any]]

EDGES_DRAWN = 4096
"""Random edges drawn at a time: one call of the generator for each would cost more."""


def _call_now(function: Callable[[], None]) -> None:
    function()


def _as_it_is(name: str, call: Callable[..., Any]) -> Callable[..., Any]:
    return call


@dataclass(frozen=True, slots=True)
class World:
    """What an instance needs from outside: time, chance, the wire, a log."""

    clock: Clock
    rng: Random
    send: Send
    admit: Admit
    logger: logging.Logger
    call_soon: CallSoon = _call_now
    call_later: CallLater | None = None
    """None: a timer in a thread of its own, whose call then comes by `call_soon`."""
    construct: Callable[[ComponentSpec, Any], Any] = construct
    around: Around = _as_it_is
    """Given "emit", "ack" or "fail" and what does it, returns what user code is to call."""

    def later(self, secs: float, function: Callable[[], None]) -> None:
        """Have `function` called in the main thread in `secs` seconds."""
        if self.call_later is not None:
            self.call_later(secs, function)
            return
        timer = threading.Timer(secs, self.call_soon, (function,))
        timer.daemon = True
        timer.start()


@dataclass(frozen=True, slots=True)
class Instance:
    """A component ready to run."""

    driver: ComponentDriver
    component: Any
    context: InstanceContext
    hooks: TaskHooks | None

    def repack(self, packing: PackingPlan) -> None:
        """In the main thread: the topology is scaled, its tasks are those of `packing` now."""
        self.context.repack(packing)
        self.driver.repack(packing)


class Delegate:
    """What a component's emit, ack, fail, finish and logger lead to."""

    def __init__(self, logger: logging.Logger, call_soon: CallSoon, call_later: CallLater) -> None:
        self.logger = logger
        self.call_soon = call_soon
        """Lets the main thread make a call soon; from any thread. Nothing else here is for other
        threads."""
        self.call_later = call_later
        """call_later(secs, function): the main thread makes the call after so many seconds."""
        self.emit: Callable[..., Any]
        self.ack: Callable[[Any], None]
        self.fail: Callable[[Any], None]
        self.finish: Callable[[], None]
        self.raised: Callable[[str], None] = logger.exception
        """The exception being handled is user code's, and this is where it came from: report it,
        then let the component handle it as its door does."""
        self.record_error: Callable[[str, str], None] = self._log_error
        """Report an error: what happened, and its text."""
        self.leave: Callable[[str], NoReturn] = _leave
        """End this process, which is then started again, for a reason."""

    def _log_error(self, what: str, text: str) -> None:
        self.logger.error("%s:\n%s", what, text)

    def serve(self, core: ComponentDriver) -> None:
        """From here on errors are reported to the master as well."""
        self.raised, self.record_error, self.leave = core.user_raised, core.record_error, core.leave


def _leave(why: str) -> NoReturn:
    raise ComponentError(why)


def build(topology: TopologySpec, packing: PackingPlan, task: int, world: World) -> Instance:
    """The instance of `task`, initialised; ComponentError if the user's class cannot be had.

    What the user's `initialize` raises passes through.
    """
    closed = topology.by_name[packing.instances[task].component]
    spec = replace(closed, config=opened(closed.config))
    config = {**opened(keys.with_defaults(topology.config)), **spec.config}
    # Of a topology that was scaled the packing knows it.
    config[keys.COMPONENT_PARALLELISM] = len(packing.tasks_of[spec.name])
    config[keys.TOPOLOGY_NAME] = topology.name
    options = Options.of(config)
    context = InstanceContext(topology, packing, task, config)
    delegate = Delegate(world.logger, world.call_soon, world.later)
    component = world.construct(spec, delegate)
    give_state(component)
    outbox = Outbox(task, options.tracked, options.batch_tuples, options.batch_bytes, world.send,
                    world.admit)  # fmt: skip
    pack, decode = _codec(options, config)
    router = Router(topology, packing, task, outbox, context, first=world.rng.randrange(1 << 16))
    edges = _edges(world.rng).__next__
    if spec.is_spout:
        return _spout(component, delegate, context, options, world,
                      SpoutCollector(router, outbox, options, pack, edges,
                                     _roots(task, world.rng), world.clock))  # fmt: skip
    metrics = Metrics()
    collector = BoltCollector(router, outbox, options, pack, edges)
    _connect(component, delegate, collector, world)
    delegate.ack = world.around("ack", collector.ack)
    delegate.fail = world.around("fail", collector.fail)
    _shortcut(component, "ack", delegate.ack)
    _shortcut(component, "fail", delegate.fail)
    component.initialize(config, context)
    hooks = _hooks(options, context, task, config, world)
    if hooks is not None:
        port = _port(component)
        port.emit = hooks.around_emit(port.emit, 0)
        port.ack = hooks.around_ack(port.ack)
        port.fail = hooks.around_fail(port.fail)
    _shorten(component, collector, hooks, world)
    core = BoltDriver(component, outbox, options, world.clock, world.logger.error,
                      collector, decode, topology, packing, hooks, metrics,
                      keys.tick_interval_secs(config))  # fmt: skip
    delegate.serve(core)
    return Instance(core, component, context, hooks)


def _spout(
    component: Any,
    delegate: Delegate,
    context: InstanceContext,
    options: Options,
    world: World,
    collector: SpoutCollector,
) -> Instance:
    _connect(component, delegate, collector, world)
    config = context.get_cluster_config()
    core = SpoutDriver(
        component, collector.outbox, options, world.clock, world.logger.error, collector
    )
    delegate.finish = core.finish
    delegate.serve(core)
    component.initialize(config, context)
    hooks = _hooks(options, context, context.get_task_id(), config, world)
    if hooks is not None:
        core.hooks = hooks
        collector.stamp_every_root()
        _connect(component, delegate, collector, world)
        port = _port(component)
        port.emit = hooks.around_emit(port.emit, 1)
    _shorten(component, collector, hooks, world)
    return Instance(core, component, context, hooks)


def _connect(component: Any, delegate: Delegate, collector: Any, world: World) -> None:
    delegate.emit = world.around("emit", collector.emit)
    _shortcut(component, "emit", delegate.emit)


def _shortcut(component: Any, name: str, function: Callable[..., Any]) -> None:
    """Spare the way over the API's method and the delegate, unless the user overrides it."""
    if is_not_overridden(component, name):
        setattr(component, name, function)


def _shorten(component: Any, collector: Any, hooks: TaskHooks | None, world: World) -> None:
    """Let a component of another door emit by a shortcut of its own, if nothing is around emit."""
    if hooks is None and world.around is _as_it_is and hasattr(component, "shorten"):
        component.shorten(collector.emit_of)


def _port(component: Any) -> Any:
    """Whose emit, ack and fail task hooks are put around: the component's own, or what a component
    of another door names as its port."""
    return getattr(component, "port", component)


def _hooks(
    options: Options, context: InstanceContext, task: int, config: dict[str, Any], world: World
) -> TaskHooks | None:
    found = [load_class(path)() for path in options.task_hooks]
    for hook in [*found, *context.added_hooks]:
        hook.prepare(config, context)
    found.extend(context.added_hooks)
    return TaskHooks(found, task, world.clock) if found else None


def _codec(options: Options, config: dict[str, Any]) -> tuple[Pack, Decode]:
    """How values travel: msgpack, or each value by the topology's own serializer."""
    path = options.serializer
    if path is None or path.endswith(".PythonSerializer"):
        return packer(), unpack
    serializer: Any = load_class(path)()
    serializer.initialize(config)
    pack_bytes, name = packer(), type(serializer).__name__

    def pack(values: Any) -> bytes:
        data = [serializer.serialize(value) for value in values]
        if not all(isinstance(each, bytes) for each in data):
            raise ComponentError(f"{name}.serialize must return bytes")
        return pack_bytes(data)

    def decode(body: bytes) -> list[list[Any]]:
        return [[serializer.deserialize(value) for value in values] for values in unpack(body)]

    return pack, decode


def _edges(rng: Random) -> Iterator[int]:
    """Random 64-bit numbers without end."""
    return chain.from_iterable(array("Q", rng.randbytes(8 * EDGES_DRAWN)) for _ in iter(int, 1))


def _roots(task: int, rng: Random) -> Callable[[], int]:
    """Root ids of a spout task. They start at random, so a successor's are not its predecessor's;
    below half the range, so they cannot run over within a million years."""
    start = rng.getrandbits(ROOT_COUNTER_BITS - 1)
    return count((task << ROOT_COUNTER_BITS) | start).__next__


def incarnation_number() -> int:
    """A random number that names this process among all that ever served its task."""
    return int.from_bytes(os.urandom(7), "big")
