"""Puts an instance together: user class, context, collector, core, hooks, in heronpy's order."""

import logging
import os
from array import array
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import chain, count
from random import Random
from typing import Any

from heron_core import config as keys
from heron_core.errors import ComponentError
from heron_core.frames import ROOT_COUNTER_BITS
from heron_core.plans import PackingPlan
from heron_core.topology import TopologySpec
from heron_core.values import Pack, packer, unpack
from heron_instance.bolt import BoltCore, Decode
from heron_instance.collector import BoltCollector, SpoutCollector
from heron_instance.context import InstanceContext
from heron_instance.core import Core, is_not_overridden
from heron_instance.hooks import TaskHooks
from heron_instance.metrics import Metrics
from heron_instance.options import Options
from heron_instance.outbox import Admit, Outbox, Send
from heron_instance.spout import SpoutCore
from heron_instance.targets import Router
from heronpy_compat.classes import load_class
from heronpy_compat.doors import construct

Clock = Callable[[], float]
CallSoon = Callable[[Callable[[], None]], None]

EDGES_DRAWN = 4096
"""Random edges drawn at a time: one call of the generator for each would cost more."""


def _call_now(function: Callable[[], None]) -> None:
    function()


@dataclass(frozen=True, slots=True)
class World:
    """What an instance needs from outside: time, chance, the wire, a log."""

    clock: Clock
    rng: Random
    send: Send
    admit: Admit
    logger: logging.Logger
    call_soon: CallSoon = _call_now


@dataclass(frozen=True, slots=True)
class Instance:
    """A component ready to run."""

    core: Core
    component: Any
    context: InstanceContext
    hooks: TaskHooks | None


class Delegate:
    """What a component's emit, ack, fail, finish and logger lead to."""

    def __init__(self, logger: logging.Logger, call_soon: CallSoon) -> None:
        self.logger = logger
        self.call_soon = call_soon
        """Lets the main thread make a call soon; from any thread. Nothing else here is for other
        threads."""
        self.emit: Callable[..., Any]
        self.ack: Callable[[Any], None]
        self.fail: Callable[[Any], None]
        self.finish: Callable[[], None]


def build(topology: TopologySpec, packing: PackingPlan, task: int, world: World) -> Instance:
    """The instance of `task`, initialised; ComponentError if the user's class cannot be had.

    What the user's `initialize` raises passes through.
    """
    spec = topology.by_name[packing.instances[task].component]
    config = {**keys.with_defaults(topology.config), **spec.config}
    config[keys.COMPONENT_PARALLELISM] = spec.parallelism
    config[keys.TOPOLOGY_NAME] = topology.name
    options = Options.of(config)
    context = InstanceContext(topology, packing, task, config)
    delegate = Delegate(world.logger, world.call_soon)
    component = construct(spec, delegate)
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
    _connect(component, delegate, collector)
    delegate.ack, delegate.fail = collector.ack, collector.fail
    _shortcut(component, "ack", collector.ack)
    _shortcut(component, "fail", collector.fail)
    component.initialize(config, context)
    hooks = _hooks(options, context, task, config, world)
    if hooks is not None:
        component.emit = hooks.around_emit(component.emit, 0)
        component.ack = hooks.around_ack(component.ack)
        component.fail = hooks.around_fail(component.fail)
    core = BoltCore(component, outbox, Options.of(config), world.clock, world.logger.error,
                    collector, decode, topology, packing, hooks, metrics)  # fmt: skip
    return Instance(core, component, context, hooks)


def _spout(
    component: Any,
    delegate: Delegate,
    context: InstanceContext,
    options: Options,
    world: World,
    collector: SpoutCollector,
) -> Instance:
    _connect(component, delegate, collector)
    config = context.get_cluster_config()
    core = SpoutCore(
        component, collector.outbox, options, world.clock, world.logger.error, collector
    )
    delegate.finish = core.finish
    component.initialize(config, context)
    hooks = _hooks(options, context, context.get_task_id(), config, world)
    if hooks is not None:
        core.hooks = hooks
        collector.stamp_every_root()
        _connect(component, delegate, collector)
        component.emit = hooks.around_emit(component.emit, 1)
    return Instance(core, component, context, hooks)


def _connect(component: Any, delegate: Delegate, collector: Any) -> None:
    delegate.emit = collector.emit
    _shortcut(component, "emit", collector.emit)


def _shortcut(component: Any, name: str, function: Callable[..., Any]) -> None:
    """Spare the way over the API's method and the delegate, unless the user overrides it."""
    if is_not_overridden(component, name):
        setattr(component, name, function)


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
