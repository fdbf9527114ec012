"""Rehearsed start of instances, run once by the executor before any fork.

Instances share memory pages with their executor until the first write, and Python writes in
unexpected places: reference counts of objects, specialised bytecode of functions, the
interpreter's attribute cache. So the identical start of each instance took some 2 MiB of private
pages (Python 3.11). Here a spout and a bolt without data start, in an environment without
output; the resulting pages are shared.
"""

import logging
import sys
from importlib import import_module
from random import Random
from typing import Any

from heron_core.plans import (
    ContainerPlan,
    InstancePlan,
    PackingPlan,
    PhysicalPlan,
    Resource,
    TopologyState,
    physical_to_json,
)
from heron_core.topology import (
    ComponentSpec,
    GroupingKind,
    GroupingSpec,
    InputSpec,
    StreamSpec,
    TopologySpec,
)
from heron_core.wire import message_codec
from heron_core.wire.messages import Plan
from heron_instance.control_core import Identity
from heron_instance.core import InstanceCore
from heron_instance.events import (
    Connected,
    ControlReceived,
    Event,
    InputEmpty,
    InstanceTimer,
    SendControl,
    Turn,
)
from heron_instance.runtime.environment import InstanceEnvironment
from heron_instance.shared_state import SharedState
from heron_io.imports import library_folders
from heronpy_compat import Bolt, Spout

API = tuple(f"heronpy_compat.api.{name}" for name in ("bolt.bolt", "spout.spout", "topology"))
"""What the file of nearly every topology imports, and so each instance."""
REPORTS_SECS = 100.0
"""Past the time of a report."""
CONTAINER = 1
NAME = "rehearsal"


class RehearsedSpout(Spout):
    """A source without data."""

    outputs = ["value"]

    def next_tuple(self) -> None:
        """Stub without input."""


class RehearsedBolt(Bolt):
    """A bolt without input."""

    def process(self, tup: Any) -> None:
        """Never called."""


def rehearse() -> None:
    """Import the instances' modules, and start one instance of each kind."""
    for name in API:
        import_module(name)
    library_folders()
    _declare()
    spout, bolt = (f"{__name__}.{each.__name__}" for each in (RehearsedSpout, RehearsedBolt))
    reads = InputSpec("spout", "default", GroupingSpec(GroupingKind.SHUFFLE))
    components = (
        ComponentSpec("spout", True, spout, 1, (StreamSpec("default", ("value",)),)),
        ComponentSpec("bolt", False, bolt, 1, (), (reads,)),
    )
    topology = TopologySpec(NAME, components)
    nothing = Resource(0.0, 0, 0)
    instances = tuple(
        InstancePlan(task, component.name, 0, nothing)
        for task, component in enumerate(components, 1)
    )
    packing = PackingPlan(NAME, (ContainerPlan(CONTAINER, instances, nothing),))
    for instance in instances:
        _begin(topology, packing, instance.task)
    _forget_attributes()


def _declare() -> None:
    """A topology's class, as defined in a file."""
    # Late, as all of API: the command and the scheduler import this module, too.
    from heronpy_compat import Topology

    class Rehearsal(Topology):
        """spout -> bolt"""

        spout = RehearsedSpout.spec()
        bolt = RehearsedBolt.spec(inputs=[spout])


def _begin(topology: TopologySpec, packing: PackingPlan, task: int) -> None:
    """An instance's work up to its first wait for data, and a report of its metrics."""
    environment = InstanceEnvironment(
        lambda: 0.0, Random(0), _to_nobody, _to_nobody, logging.getLogger("heron_instance")
    )
    core = InstanceCore(topology, packing, Identity(task, 1, 1), environment, SharedState())
    plan = PhysicalPlan(NAME, 1, TopologyState.RUNNING, packing, {CONTAINER: ""})
    message = message_codec.decode(message_codec.encode(Plan(physical_to_json(plan))))
    events: tuple[Event, ...] = (
        Connected(),
        ControlReceived(message),
        Turn(),
        InputEmpty(),
        Turn(),
    )
    for event in events:
        core.handle(event, 0.0)
    for instruction in core.handle(InstanceTimer(), REPORTS_SECS):
        if isinstance(instruction, SendControl):
            message_codec.encode(instruction.message)


def _to_nobody(*_: object) -> None:
    """Stub of a sender: output is dropped."""


def _forget_attributes() -> None:
    """The attribute cache holds names, most of them unused by instances: replacing them one by
    one would write to a page each. From Python 3.12 on such names are immortal, and replacing
    them writes nothing."""
    if sys.version_info < (3, 12):
        sys._clear_type_cache()
