"""The table of configuration keys: what checks, defaults, misspellings and the reference read.

A new key is a row of its subject in one of the modules `keys_of_…`, and the place that reads it.
docs/CONFIGURATION.md is made from the table (`python -m heron_core.config.reference`).
"""

from collections.abc import Mapping
from typing import Any

from heron_core.config import (
    keys_of_changes,
    keys_of_containers,
    keys_of_data,
    keys_of_runs,
    keys_of_windows,
)
from heron_core.config.key import Key, Owner

SUBJECTS = (
    keys_of_data.DELIVERY,
    keys_of_data.BATCHES,
    keys_of_data.USER_CODE,
    keys_of_windows.WINDOWS,
    keys_of_runs.STATE,
    keys_of_containers.CONTAINERS,
    keys_of_runs.PROCESSES,
    keys_of_changes.CHANGES,
    keys_of_runs.OBSERVATION,
)
"""In the order of the reference."""
KEYS: Mapping[str, Key] = {key.name: key for subject in SUBJECTS for key in subject.keys}
DEFAULTS: Mapping[str, Any] = {
    name: key.default for name, key in KEYS.items() if key.default is not None
}
"""Of the keys that have one, whatever a component's class says."""
FALLBACKS: Mapping[str, Any] = {
    name: key.fallback for name, key in KEYS.items() if key.fallback is not None
}
"""Of the keys that have one instead."""


def owned_by(owner: Owner) -> frozenset[str]:
    """The keys that are read of these configs."""
    return frozenset(name for name, key in KEYS.items() if key.owner is owner)


def value_of(config: Mapping[str, Any], name: str) -> Any:
    """The value of a key in its type; `config` has the defaults. TopologyError as its reader's."""
    return KEYS[name].read(config, name)


def given(config: Mapping[str, Any], name: str) -> Any:
    """The same of a key without a default: None where it has no value."""
    return None if config.get(name) is None else value_of(config, name)
