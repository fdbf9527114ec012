"""What may be done to a topology: the durable operations of `heronpy kill` and the like.

The request stands in the state store when these functions return; the topology's own process
carries it out, whatever becomes of the service.
"""

from collections.abc import Mapping
from typing import Any

from heron_core.errors import HeronError
from heron_core.operations import OperationKind, Requester
from heron_core.plans import packing_to_json
from heron_engine.scheduler.backends.registry import LOCAL
from heron_engine.scheduler.operations import TopologyRequests
from heron_engine.scheduler.packing import repack
from heron_io.state_store.protocol import StateStore
from heron_tracker.envelope import BadRequest, Unavailable
from heron_tracker.model.snapshot import TopologySnapshot

WAIT_SECS_MAX = 3600
"""Upper limit of a kill's drain time."""
INSTANCES_MAX = 10_000
"""Upper limit of a component's parallelism: a larger argument is a mistake."""


def ask(
    store: StateStore,
    snapshot: TopologySnapshot,
    kind: OperationKind,
    arguments: Mapping[str, Any],
    asked_by: Requester,
) -> int:
    """Leave a client's request; returns its number. Unavailable as `check_can_ask`."""
    check_can_ask(snapshot, kind.value)
    return TopologyRequests(store, snapshot.name).ask(kind, arguments, asked_by)


def check_can_ask(snapshot: TopologySnapshot, command: str = OperationKind.UPDATE.value) -> None:
    """Unavailable if no scheduler of heronpy would carry a request out."""
    if snapshot.has_ended:
        raise Unavailable(f"{snapshot.name} {snapshot.trouble.removeprefix('it ')}")
    if "pid" not in snapshot.scheduler:
        raise Unavailable(
            f"{snapshot.name} is run by the cluster {snapshot.cluster} itself: use `heronpy "
            f"{command} {snapshot.name}`"
        )
    if not snapshot.alive:
        raise Unavailable(
            f"the scheduler of {snapshot.name} was killed: `heronpy kill {snapshot.name}` removes "
            "what is left"
        )


def kill_arguments(wait_secs: int) -> dict[str, Any]:
    """Of a kill that drains for so long."""
    if not 0 <= wait_secs <= WAIT_SECS_MAX:
        raise BadRequest(f"a kill waits for at most {WAIT_SECS_MAX} s")
    return {"wait_secs": float(wait_secs)}


def update_arguments(snapshot: TopologySnapshot, body: Any) -> dict[str, Any]:
    """Of a rebalance with Storm's options: {"rebalanceOptions": {"executors": {…}, "numWorkers":
    N}}."""
    options = body.get("rebalanceOptions") if isinstance(body, dict) else None
    if not isinstance(options, dict) or not options:
        raise BadRequest(
            'give {"rebalanceOptions": {"executors": {COMPONENT: N}, "numWorkers": N}}'
        )
    wanted, workers = options.get("executors") or {}, options.get("numWorkers")
    if not isinstance(wanted, dict) or not all(_is_number(number) for number in wanted.values()):
        raise BadRequest(f"executors are numbers from 1 to {INSTANCES_MAX}, by component")
    if workers is not None and not _is_number(workers):
        raise BadRequest(f"numWorkers is a number from 1 to {INSTANCES_MAX}")
    if snapshot.spec is None or not snapshot.packing.containers:
        raise Unavailable(
            f"{snapshot.name} is still starting, or has just ended: try again in a few seconds"
        )
    grow = snapshot.scheduler.get("kind") == LOCAL
    try:
        plan = repack(snapshot.spec, snapshot.packing, wanted, workers, grow)
    except HeronError as error:
        raise BadRequest(str(error)) from None
    if plan == snapshot.packing:
        raise BadRequest(f"nothing changes: {snapshot.name} has these numbers already")
    return {"packing": packing_to_json(plan)}


def _is_number(value: Any) -> bool:
    return type(value) is int and 1 <= value <= INSTANCES_MAX
