"""Rights of Nimbus's clients: users of this machine, by the process at the other end.

The user of Nimbus and root have all rights. Another user has those that `topology.users`,
`topology.groups` and `topology.readonly.*` of a topology give, and may not submit, upload or
download. A topology without these keys belongs to the user of Nimbus alone.
"""

from collections.abc import Iterable, Sequence

from heron_core.thrift.calls import AuthorizationException
from heron_tracker.auth.access import Caller, Role
from heron_tracker.auth.topology_access import VISITOR, Visitor, groups_of
from heron_tracker.model.snapshot import TopologySnapshot
from heron_tracker.rights import TopologyRights, visiting_user

OF_TOPOLOGIES = frozenset(
    {
        "killTopology", "killTopologyWithOpts", "activate", "deactivate", "rebalance",
        "getClusterInfo", "getTopologySummaries", "getTopologySummary", "getTopologySummaryByName",
        "getTopologyInfo", "getTopologyInfoByName", "getTopologyInfoWithOpts",
        "getTopologyInfoByNameWithOpts", "getTopologyConf", "getTopology", "getUserTopology",
    }
)  # fmt: skip
"""Methods that check the rights on topologies; all others are of the user of Nimbus."""


RIGHTS = TopologyRights(AuthorizationException, "the user of Nimbus", is_shared=False)


def visitor_of(user: str, host: str, port: int, server_port: int, is_owner: bool) -> Visitor:
    """A client's connection; the owner of Nimbus and root have the rights of an operator."""
    caller = Caller(Role.OPERATOR if is_owner else Role.READER, user, groups_of(user))
    return Visitor(caller, host, port, server_port)


def check_method(method: str) -> None:
    """AuthorizationException for a method closed to the present client."""
    if not _is_owner() and method not in OF_TOPOLOGIES:
        raise AuthorizationException(
            f"{visiting_user()} may not call {method} here: this Nimbus is of another user"
        )


def seen(snapshots: Iterable[TopologySnapshot]) -> Sequence[TopologySnapshot]:
    """The topologies that the present client may see; AuthorizationException for another user
    without any: an empty list would look like an empty cluster."""
    visible = [snapshot for snapshot in snapshots if RIGHTS.sees(snapshot)]
    if not visible and not _is_owner():
        raise AuthorizationException(
            f"{visiting_user()} may call nothing here: this Nimbus is of another user, and the "
            "topology.users of no topology names the client"
        )
    return visible


def _is_owner() -> bool:
    visitor = VISITOR.get()
    return visitor is None or visitor.is_admin()
