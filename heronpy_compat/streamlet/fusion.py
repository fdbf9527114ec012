"""Which stages run as one bolt: neighbours that need no messages between them.

A tuple from one process to the next costs more than most functions do. Where an element would go to
any partition of the next stage, and that has as many partitions as this one, the next function is
called at once.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from heron_api.component.component_spec import arriving_config
from heron_core import config as keys
from heron_core.errors import TopologyError
from heronpy_compat.streamlet.errors import StreamletError

SEPARATOR = "+"
NAME_BYTES_MAX = 100
"""Of a bolt's name: half of what a component may have, and what fits into a line of `stats`."""
_MAPS = (keys.RAM_MAP, keys.CPU_MAP, keys.DISK_MAP)


@dataclass(frozen=True, slots=True)
class Fusion:
    """Whether stages are fused, and which are not since the config gives them memory or cores."""

    enabled: bool = True
    apart: frozenset[str] = frozenset()

    def may_fuse(self, names: list[str]) -> bool:
        """Whether stages of these names may be one bolt."""
        name = fused_name(names)
        return len(name.encode()) <= NAME_BYTES_MAX and self.apart.isdisjoint(names)


def fusion_of(config: Mapping[str, Any]) -> Fusion:
    """What a topology's config says of it; RuntimeError for a value that is no boolean."""
    merged = keys.with_defaults(arriving_config(config))
    try:
        enabled = keys.flag(merged, keys.STREAMLET_FUSION)
    except TopologyError as error:
        raise StreamletError(str(error)) from None
    return Fusion(enabled, frozenset(_named_in(config)))


def _named_in(config: Mapping[str, Any]) -> Iterator[str]:
    for key in _MAPS:
        for part in str(config.get(key, "")).split(","):
            yield part.rpartition(":")[0].strip()


def fused_name(names: list[str]) -> str:
    """That of the bolt which these stages are."""
    return SEPARATOR.join(names)
