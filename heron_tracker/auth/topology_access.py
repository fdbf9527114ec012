"""Rights on one topology, by Storm's keys in the topology's config.

| | reads | acts |
|---|---|---|
| an operator of the service, its own user, root | yes | yes |
| the submitter, `topology.users`, `topology.groups` | yes | yes |
| `topology.readonly.users`, `topology.readonly.groups` | yes | no |
| others, if one of the four keys is set | no | no |

A topology without these keys has the rights of the service alone. Users and groups are those of the
login; without a login, the operating system's user at the other end of a connection on loopback.
"""

import grp
import os
import pwd
from collections.abc import Mapping
from contextlib import suppress
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

from heron_core import config as keys
from heron_core.errors import TopologyError
from heron_tracker.auth.access import Caller, Role
from heron_tracker.requesters import local_user

LISTS = (
    keys.TOPOLOGY_USERS,
    keys.TOPOLOGY_GROUPS,
    keys.TOPOLOGY_READONLY_USERS,
    keys.TOPOLOGY_READONLY_GROUPS,
)
ROOT_USER = "root"


@dataclass(slots=True)
class Visitor:
    """The other end of a connection; the system's user is determined on demand."""

    caller: Caller
    host: str
    port: int
    server_port: Any
    _identity: Caller | None = None

    def identity(self) -> Caller:
        """The caller with a user, and groups, also without a login."""
        if self.caller.user:
            return self.caller
        if self._identity is None:
            name = local_user(self.host, self.port, self.server_port)
            self._identity = Caller(self.caller.role, name, groups_of(name))
        return self._identity

    def is_admin(self) -> bool:
        """An operator by login, or the owner of the state store."""
        if self.caller.user:
            return self.caller.role is Role.OPERATOR
        return self.identity().user in (ROOT_USER, _own_user())


VISITOR: ContextVar[Visitor | None] = ContextVar("visitor", default=None)
"""Visitor of the present request or page; None for the service's own work."""


@dataclass(frozen=True, slots=True)
class TopologyAccess:
    """Users and groups with rights on one topology."""

    owner: str
    users: frozenset[str] = frozenset()
    groups: frozenset[str] = frozenset()
    readers: frozenset[str] = frozenset()
    reader_groups: frozenset[str] = frozenset()
    is_restricted: bool = False
    """Whether the topology has rights of its own."""

    @classmethod
    def of(cls, config: Mapping[str, Any], owner: str) -> "TopologyAccess":
        """By the topology's config; malformed lists, refused at a submit, admit the owner alone."""
        if all(config.get(key) is None for key in LISTS):
            return cls(owner)
        users, groups, readers, reader_groups = (_names(config, key) for key in LISTS)
        return cls(owner, users, groups, readers, reader_groups, is_restricted=True)

    def may_operate(self, visitor: Visitor) -> bool:
        """Whether a visitor may act on the topology."""
        if not self.is_restricted:
            return visitor.caller.role is Role.OPERATOR
        if visitor.is_admin():
            return True
        identity = visitor.identity()
        return identity.user in {self.owner, *self.users} or bool(identity.groups & self.groups)

    def may_read(self, visitor: Visitor) -> bool:
        """Whether a visitor may see the topology."""
        if not self.is_restricted or self.may_operate(visitor):
            return True
        identity = visitor.identity()
        return identity.user in self.readers or bool(identity.groups & self.reader_groups)


def _names(config: Mapping[str, Any], key: str) -> frozenset[str]:
    with suppress(TopologyError):
        return frozenset(keys.given(config, key) or ())
    return frozenset()


def _own_user() -> str:
    with suppress(KeyError):
        return pwd.getpwuid(os.getuid()).pw_name
    return str(os.getuid())


def groups_of(user: str) -> frozenset[str]:
    """Names of the groups of a user of this machine; empty for an unknown user."""
    try:
        numbers = os.getgrouplist(user, pwd.getpwnam(user).pw_gid)
    except KeyError:
        return frozenset()
    names = set()
    for number in numbers:
        with suppress(KeyError):
            names.add(grp.getgrgid(number).gr_name)
    return frozenset(names)
