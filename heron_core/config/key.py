"""Definition of a configuration key: reader, default, owner, scope."""

from collections.abc import Mapping
from enum import Enum
from typing import Any

from msgspec import Struct

from heron_core.config.readers import Reader
from heron_core.config.values import ATLEAST_ONCE, EFFECTIVELY_ONCE

AT_LEAST = (ATLEAST_ONCE,)
EXACTLY = (EFFECTIVELY_ONCE,)
TRACKED = (*AT_LEAST, *EXACTLY)


class Owner(Enum):
    """Whose config is read for a key."""

    TOPOLOGY = "topology"
    """The topology's only: a component's own value is ignored, and reported."""
    SPOUT = "spout"
    BOLT = "bolt"
    COMPONENT = "component"
    """Also a component's own value, of spouts and bolts."""


class Key(Struct, frozen=True):
    """A row of the table. A new key needs one row, and a reader."""

    name: str
    read: Reader
    """Checks and returns the value; TopologyError names the key and valid values."""
    default: Any
    """None: the key is optional, and without a value has no effect or the one in `without`."""
    what: str
    """What the value does, for the reference and for `heronpy keys`."""
    owner: Owner = Owner.TOPOLOGY
    modes: tuple[str, ...] = ()
    """The only reliability modes in which the key has an effect; empty for each."""
    on_spark: bool = True
    """Whether the key has an effect in a query of Spark (`--engine spark`)."""
    why: str = ""
    """The reason for the default."""
    without: str = ""
    """What holds where the key has no default, or what is to say of `fallback`."""
    fallback: Any = None
    """An implicit default, absent from configs: a component's class may override the default, or
    only one of several algorithms reads the key."""
    see: str = ""
    """The page of docs/ that says more."""

    def check(self, config: Mapping[str, Any]) -> None:
        """TopologyError for an invalid value; `config` includes the defaults."""
        if self.default is not None or config.get(self.name) is not None:
            self.read(config, self.name)


class Subject:
    """Keys of one subject, in the order of the reference."""

    def __init__(self, title: str) -> None:
        self.title = title
        self.keys: list[Key] = []

    def add(self, key: Key) -> str:
        """Add a row; returns the key's name."""
        self.keys.append(key)
        return key.name
