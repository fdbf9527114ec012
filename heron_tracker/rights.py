"""Rights of the present visitor on topologies, and refusals as events of the topology."""

import logging
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from heron_core.errors import HeronError
from heron_core.operations import Way
from heron_core.topology_events import ACTED
from heron_core.typed_json import to_json
from heron_tracker.auth.access import READ_ONLY, Refusal
from heron_tracker.auth.topology_access import VISITOR, TopologyAccess, Visitor
from heron_tracker.envelope import Forbidden
from heron_tracker.model.snapshot import TopologySnapshot
from heron_tracker.requesters import requester_at

log = logging.getLogger("tracker")

AskMaster = Callable[[str, str, dict[str, Any]], Any]
WHAT_CHARACTERS_MAX = 200
EVENT_SECS = 60.0
"""Between two events of one user and topology: refusals are not to displace the other events."""
REMEMBERED_MAX = 1000


def access_of(snapshot: TopologySnapshot) -> TopologyAccess:
    """The rights on a topology; the submitter is its owner."""
    config = snapshot.spec.config if snapshot.spec is not None else {}
    return TopologyAccess.of(config, str(snapshot.execution.get("user") or ""))


@dataclass(frozen=True, slots=True)
class TopologyRights:
    """The checks of a service's visitors against the rights on a topology."""

    refused: Callable[[str], Exception]
    """Makes the exception of a refusal out of its sentence."""
    owner: str
    """Owner of a topology, as named in a refusal."""
    is_shared: bool
    """Whether topologies without rights of their own are visible to all visitors."""

    def sees(self, snapshot: TopologySnapshot) -> bool:
        """Whether the visitor may see a topology; the service's own work sees all."""
        visitor, access = VISITOR.get(), access_of(snapshot)
        if visitor is None or (self.is_shared and not access.is_restricted):
            return True
        return access.may_read(visitor) if access.is_restricted else visitor.is_admin()

    def check_visible(self, snapshot: TopologySnapshot) -> TopologySnapshot:
        """The snapshot; raises `refused` without the right to see the topology."""
        if not self.sees(snapshot):
            raise self.refused(
                f"{visiting_user()} may not see {snapshot.name}: {self.owner}, topology.users, "
                "topology.readonly.users and their groups may"
            )
        return snapshot

    def check_may_operate(self, snapshot: TopologySnapshot) -> TopologySnapshot:
        """The snapshot of a visible topology; raises `refused` without the right to act on it,
        where it has rights of its own."""
        access, visitor = access_of(snapshot), VISITOR.get()
        if access.is_restricted and (visitor is None or not access.may_operate(visitor)):
            raise self.refused(refusal_text(snapshot))
        return snapshot


RIGHTS = TopologyRights(Forbidden, "its submitter", is_shared=True)
"""Rights of visitors of `heronpy ui`."""


def refusal_text(snapshot: TopologySnapshot) -> str:
    """The refusal of an action in one sentence."""
    return (
        f"{visiting_user()} may not act on {snapshot.name}: its submitter, topology.users, "
        "topology.groups and the operators of the service may"
    )


def visiting_user() -> str:
    """Name of the present visitor."""
    visitor = VISITOR.get()
    return visitor.identity().user if visitor is not None else "an unknown user"


def by_rights(
    refused: Refusal | None, snapshot: TopologySnapshot, visitor: Visitor
) -> Refusal | None:
    """The refusal of an action on a topology with own rights; for other topologies, and other
    reasons, `refused` of the service."""
    access = access_of(snapshot)
    if not access.is_restricted or (refused is not None and refused.text != READ_ONLY):
        return refused
    return None if access.may_operate(visitor) else Refusal(403, refusal_text(snapshot))


class RefusalEvents:
    """Makes refused actions events of their topology."""

    def __init__(self, ask_master: AskMaster | None) -> None:
        self._ask_master = ask_master
        self._noted: OrderedDict[tuple[str, str], float] = OrderedDict()
        self._lock = threading.Lock()

    def tell(self, topology: str, what: str, visitor: Visitor, way: Way) -> None:
        """One event a minute for each user and topology; others are lines of the
        log."""
        arguments = (topology, what[:WHAT_CHARACTERS_MAX], visitor, way)
        threading.Thread(target=self._tell, args=arguments, name="refusal", daemon=True).start()

    def _tell(self, topology: str, what: str, visitor: Visitor, way: Way) -> None:
        requester = requester_at(visitor.identity().user, visitor.host, way)
        if self._ask_master is None or not self._is_due((topology, requester.user)):
            log.warning("refused: %s of %s", what, requester)
            return
        try:
            arguments = {"what": f"refused: {what}", "requester": to_json(requester)}
            self._ask_master(topology, ACTED, arguments)
        except HeronError as error:
            log.warning("refused, and not an event: %s of %s: %s", what, requester, error)

    def _is_due(self, key: tuple[str, str]) -> bool:
        now = time.monotonic()
        with self._lock:
            if now - self._noted.get(key, float("-inf")) < EVENT_SECS:
                return False
            self._noted[key] = now
            self._noted.move_to_end(key)
            while len(self._noted) > REMEMBERED_MAX:
                self._noted.popitem(last=False)
            return True
