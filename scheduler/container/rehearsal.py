"""The beginning of an instance, gone through once by the executor before it forks any.

Instances share the pages of their executor until they write to them, and Python writes where one
would not expect it: an object holds the number of its references, a function the specialised forms
of its bytecode, the interpreter the attributes that it has looked up. So the beginning of each
instance, which is the same for all, took some 2 MiB of pages of its own (Python 3.11). Here a spout
and a bolt without data begin, in an environment that goes nowhere; what that leaves is shared.
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
"""Later than that it is time for a report."""
CONTAINER = 1
NAME = "rehearsal"


class RehearsedSpout(Spout):
    """A source without data."""

    outputs = ["value"]

    def next_tuple(self) -> None:
        """There is nothing."""


class RehearsedBolt(Bolt):
    """A bolt without input."""

    def process(self, tup: Any) -> None:
        """Never called."""


def rehearse() -> None:
    """Import what instances import, and let one of each kind begin."""
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
    """A topology's class, as it stands in the file of one."""
    # Late, as all of API: the command and the scheduler import this module, too.
    from heronpy_compat import Topology

    class Rehearsal(Topology):
        """spout -> bolt"""

        spout = RehearsedSpout.spec()
        bolt = RehearsedBolt.spec(inputs=[spout])


def _begin(topology: TopologySpec, packing: PackingPlan, task: int) -> None:
    """All that an instance does until it waits for data, and a report of its numbers."""
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
    """What is sent goes nowhere, and may go there at once."""


def _forget_attributes() -> None:
    """The cache of attributes holds their names, most of which instances never ask for: it would
    let go of them one by one, each on a page of its own. From Python 3.12 on that writes nothing,
    as such names are immortal."""
    if sys.version_info < (3, 12):
        sys._clear_type_cache()
