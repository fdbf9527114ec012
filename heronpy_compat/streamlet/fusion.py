"""Fusion: neighbouring stages that exchange no messages run as one bolt.

A tuple sent between processes costs more than most functions. If an element may go to any partition
of the next stage, and both stages have equally many partitions, the next function is called
directly.
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
"""Limit of a fused bolt's name: half of a component name's limit, and short enough for a line of
`stats`."""
_MAPS = (keys.RAM_MAP, keys.CPU_MAP, keys.DISK_MAP)


@dataclass(frozen=True, slots=True)
class Fusion:
    """Whether fusion is enabled, and the stages excluded because the config sets their memory or
    cores."""

    enabled: bool = True
    apart: frozenset[str] = frozenset()

    def may_fuse(self, names: list[str]) -> bool:
        """Whether the stages may be fused into one bolt."""
        name = fused_name(names)
        return len(name.encode()) <= NAME_BYTES_MAX and self.apart.isdisjoint(names)


def fusion_of(config: Mapping[str, Any]) -> Fusion:
    """Fusion settings of a topology's config; RuntimeError for a value that is not a boolean."""
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
    """Name of the bolt for the fused stages."""
    return SEPARATOR.join(names)
