"""The table of configuration keys, used by checks, defaults, spelling and the reference.

A new key is a row in the module `keys_of_…` of its subject, plus a reader. docs/CONFIGURATION.md
is generated from the table (`python -m heron_core.config.reference`).
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
    keys_of_runs.ACCESS,
    keys_of_runs.OBSERVATION,
)
"""In the order of the reference."""
KEYS: Mapping[str, Key] = {key.name: key for subject in SUBJECTS for key in subject.keys}
DEFAULTS: Mapping[str, Any] = {
    name: key.default for name, key in KEYS.items() if key.default is not None
}
"""Defaults that no component class can override."""
FALLBACKS: Mapping[str, Any] = {
    name: key.fallback for name, key in KEYS.items() if key.fallback is not None
}
"""Defaults that component classes may override."""


def owned_by(owner: Owner) -> frozenset[str]:
    """Keys read from the configs."""
    return frozenset(name for name, key in KEYS.items() if key.owner is owner)


def value_of(config: Mapping[str, Any], name: str) -> Any:
    """The typed value of a key; `config` includes the defaults. TopologyError as from the
    reader."""
    return KEYS[name].read(config, name)


def given(config: Mapping[str, Any], name: str) -> Any:
    """Like `value_of`, for a key without a default: None if not set."""
    return None if config.get(name) is None else value_of(config, name)
