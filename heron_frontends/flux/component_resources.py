"""The resources of ECO's components: a list in the config becomes the packing's maps.

Heron's ECO names memory, cores and disk of a component in `topology.component.resourcemap`; the
packing reads `rammap`, `cpumap` and `diskmap`, in which a component's own entry wins.
"""

from collections.abc import Collection, Mapping
from typing import Any

from heron_core.config import CPU_MAP, DISK_MAP, RAM_MAP
from heron_core.sizes import parse_size
from heron_core.storm_settings import with_entries
from heron_core.validation import choices
from heron_frontends.flux.documents import Located
from heron_frontends.flux.mapping_reader import MappingReader

RESOURCE_MAP = "topology.component.resourcemap"
_MAPS = {"ram": RAM_MAP, "cpu": CPU_MAP, "disk": DISK_MAP}
"""Resource keys of an entry, each with its map in the packing configuration."""
_KEYS = ("id", *_MAPS)


def with_packing_maps(
    config: Mapping[str, Any], given: Mapping[str, Located], names: Collection[str]
) -> dict[str, Any]:
    """`config` with the packing's maps in place of ECO's list. `given` is the config with its
    lines, `names` are the component names. TopologyError with the line of a wrong entry.
    """
    if RESOURCE_MAP not in config:
        return dict(config)
    amounts: dict[str, dict[str, str]] = {key: {} for key in _MAPS.values()}
    named: set[str] = set()
    for entry in MappingReader(_as_mapping(given), "config", given).items(RESOURCE_MAP):
        reader = MappingReader(entry, f"an entry of {RESOURCE_MAP}", _KEYS)
        name = _component(reader, names, named)
        for word, key in _MAPS.items():
            if word in reader:
                amounts[key][name] = _amount(reader, word)
    rest = {key: value for key, value in config.items() if key != RESOURCE_MAP}
    for key, amount in amounts.items():
        rest |= with_entries(key, amount, rest)
    return rest


def _as_mapping(given: Mapping[str, Located]) -> Located:
    return Located(dict(given), given[RESOURCE_MAP].position)


def _component(reader: MappingReader, names: Collection[str], named: set[str]) -> str:
    name = reader.needed_text("id")
    if name not in names:
        raise reader.position_of("id").wrong(
            f"{reader.label} is of {name!r}, which is not a component;"
            f" {choices('components', name, names)}"
        )
    if name in named:
        raise reader.position_of("id").wrong(f"{RESOURCE_MAP} has two entries of {name!r}")
    named.add(name)
    return name


def _amount(reader: MappingReader, word: str) -> str:
    """An amount in the form of the packing's map. A size needs its unit, as in ECO: 256 would be
    bytes.
    """
    text = reader.text(word) or ""
    if word == "cpu":
        return f"{reader.number(word) or 0:g}"
    try:
        size = 0 if text.isdecimal() else parse_size(text)
    except ValueError:
        size = 0
    if size < 1:
        raise reader.position_of(word).wrong(
            f"{reader.label}: {word} must be a size with its unit, for example 256MB, not {text!r}"
        )
    return str(size)
