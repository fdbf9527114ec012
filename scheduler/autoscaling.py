"""Autoscaling of a running topology: queries statistics of the master, decides, and requests
updates like an operator, by a durable request.

The module is a part of the process that carries out operations (operation_runner.py), because
that process outlives commands and may use the state store. The decisions are pure
(heron_core.algorithms. autoscale). After a kill, the window starts empty; a requested update
continues, and statistics of the update's time are not used.
"""

import logging
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from heron_core import config as keys
from heron_core.algorithms.autoscale.autoscaler import Autoscaler, Decision, Diagnosis
from heron_core.algorithms.autoscale.options import AutoscaleOptions, Mode
from heron_core.algorithms.autoscale.readings import readings_of
from heron_core.config.effects import component_config
from heron_core.errors import HeronError
from heron_core.operations import OperationKind, Way
from heron_core.plans import PackingPlan, packing_from_json, packing_to_json
from heron_core.records import replace
from heron_core.state_tree import packing_path
from heron_core.stats import EVERY_COMPONENT
from heron_core.topology import TopologySpec
from heron_engine.scheduler.operations import TopologyRequests, requester
from heron_engine.scheduler.packing import repack
from heron_io.master_client import MasterClient
from heron_io.process_usage import idle_core_secs
from heron_io.state_store.protocol import StateStore

log = logging.getLogger("operations")

ANSWER_SECS = 1.0
"""Timeout of one query to the master: operations wait meanwhile."""


@dataclass
class Autoscaling:
    """The active autoscaler of one topology."""

    topology: TopologySpec
    options: AutoscaleOptions
    store: StateStore
    client: MasterClient
    requests: TopologyRequests
    has_capacity: bool
    """Whether a container may get more instances than before: local containers are processes."""
    idle_secs: Callable[[], float | None] = idle_core_secs
    """Idle time of the machine's cores, relevant if all instances are local."""
    carry_out: Callable[[PackingPlan], int] | None = None
    """Carries out an update and returns its number, where no process of the topology does; None:
    a request is left for that process."""
    _scaler: Autoscaler | None = None
    _poll_at: float = 0.0
    _number: int | None = None
    """Number of the current request."""
    _decision: Decision | None = None
    """The decision of the last request."""
    _pending_max: Mapping[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._pending_max = pending_limits(self.topology)

    def poll(self, now: float) -> None:
        """Take one sample when due. StateStoreError without an answer of the store."""
        if self.options.mode is Mode.OFF or now < self._poll_at:
            return
        self._poll_at = now + self.options.interval_secs
        if self._scaler is None:
            self._scaler = Autoscaler(self.topology, self.options, now)
        if self._number is not None:
            self._follow(self._scaler, self._number, now)
        else:
            self._observe(self._scaler, now)

    def _follow(self, scaler: Autoscaler, number: int, now: float) -> None:
        """Whether the request is over."""
        request = self.requests.get(number)
        if request is not None and not request.is_over:
            return
        self._number = None
        self._over(scaler, "" if request is None else request.reason, now)

    def _over(self, scaler: Autoscaler, reason: str, now: float) -> None:
        scaler.moved(reason, now)
        if reason and self._decision is not None:
            secs = scaler.cool_until - now
            self._say(f"not applied: {self._decision.what}", f"{reason}; none for {secs:.0f} s")

    def _observe(self, scaler: Autoscaler, now: float) -> None:
        try:
            stats = self.client.stats(EVERY_COMPONENT, ANSWER_SECS)
        except HeronError as error:
            log.info("autoscaling: %s", error)
            return
        if self._code_has_changed():
            return
        readings = replace(
            readings_of(stats, self._pending_max),
            idle_secs=self.idle_secs() if self.has_capacity else None,
            cores=os.cpu_count() if self.has_capacity else None,
        )
        outcome = scaler.observe(readings, now)
        for diagnosis in outcome.diagnoses:
            self._find(diagnosis)
        if outcome.decision is not None:
            self._carry_out(scaler, outcome.decision, now)

    def _code_has_changed(self) -> bool:
        """Whether the topology has other components now: then all starts again."""
        stored = self.store.get(packing_path(self.topology.name))
        now = (
            self.topology
            if stored is None
            else packing_from_json(stored).topology_of(self.topology)
        )
        if now == self.topology:
            return False
        self.topology, self._scaler, self._decision = now, None, None
        self._pending_max = pending_limits(now)
        return True

    def _find(self, diagnosis: Diagnosis) -> None:
        self._say(f"{diagnosis.component} is not scaled", diagnosis.why)

    def _carry_out(self, scaler: Autoscaler, decision: Decision, now: float) -> None:
        before, self._decision = self._decision, decision
        if self.options.mode is Mode.ADVISE:
            if before is None or before.parallelism != decision.parallelism:
                self._say(f"advises {decision.what}", decision.why)
            scaler.moved("", now)
            return
        self._say(decision.what, decision.why)
        try:
            self._number = self._ask(decision)
        except HeronError as error:
            self._over(scaler, str(error), now)

    def _ask(self, decision: Decision) -> int:
        """The number of the request; HeronError if it cannot be."""
        stored = self.store.get(packing_path(self.topology.name))
        if stored is None:
            raise HeronError(f"{self.topology.name} has just ended")
        current = packing_from_json(stored)
        plan = repack(self.topology, current, decision.parallelism, None, self.has_capacity)
        if plan == current:
            raise HeronError("the parallelism is already set")
        if self.carry_out is not None:
            return self.carry_out(plan)
        arguments = {"packing": packing_to_json(plan)}
        return self.requests.ask(OperationKind.UPDATE, arguments, requester(Way.AUTOSCALER))

    def _say(self, what: str, why: str) -> None:
        """An event of the topology; in the log of operations in any case."""
        log.info("autoscaling: %s: %s", what, why)
        self.client.try_ask("autoscaled", {"what": what, "why": why}, ANSWER_SECS)


def pending_limits(topology: TopologySpec) -> dict[str, int]:
    """spout -> what each instance may have pending, in a topology whose tuples are acked."""
    limits: dict[str, int] = {}
    for each in topology.components:
        config = keys.with_defaults(component_config(topology.config, each.config))
        if each.is_spout and keys.reliability(config) == keys.ATLEAST_ONCE:
            limits[each.name] = keys.value_of(config, keys.MAX_SPOUT_PENDING)
    return limits
