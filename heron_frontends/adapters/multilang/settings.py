"""What the config and the context of a shell component say, read once."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from heron_core import config as keys
from heron_core.errors import ComponentError
from heron_frontends.loading.topology_files import folder_of_programs
from heronpy_compat.multilang_clients import variables

WORKER_TIMEOUT_SECS = "supervisor.worker.timeout.secs"

JSON, MSGPACK = "json", "msgpack"

DEFAULTS: Mapping[str, Any] = {WORKER_TIMEOUT_SECS: 30, keys.SHELL_PENDING_MAX: 100}
"""Storm's (conf/defaults.yaml)."""

_SERIALIZERS = {"json": JSON, "msgpack": MSGPACK, "messagepack": MSGPACK}
"""What the last part of a serializer's name contains -> what it is."""


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings of one instance."""

    component: str
    command: tuple[str, ...]
    directory: str
    """Where the program runs and is looked for first."""
    environment: Mapping[str, str]
    """All variables of the child."""
    serializer: str
    timeout_secs: float
    """Silence of a child that was asked something and is given up."""
    pending_max: int
    restart_limit: int
    message_timeout_secs: float
    tick_secs: float | None

    @staticmethod
    def of(config: Mapping[str, Any], context: Any) -> "Settings":
        """The settings in `config`; ComponentError or TopologyError naming the key if bad."""
        merged = {**DEFAULTS, **keys.with_defaults(config)}
        component = context.get_component_id()
        asked = merged.get(keys.SHELL_TIMEOUT_SECS) is not None
        return Settings(
            component,
            _command(component, merged.get(keys.SHELL_COMMAND)),
            folder_of_programs(context.get_topology_pex_path()),
            variables(_environment(component, merged)),
            _serializer(component, merged.get(keys.SHELL_SERIALIZER)),
            keys.seconds(merged, keys.SHELL_TIMEOUT_SECS if asked else WORKER_TIMEOUT_SECS),
            keys.whole_number(merged, keys.SHELL_PENDING_MAX, 1),
            keys.restart_limit(merged),
            keys.seconds(merged, keys.MESSAGE_TIMEOUT_SECS),
            keys.tick_interval_secs(merged),
        )


def _command(component: str, command: Any) -> tuple[str, ...]:
    words = command if isinstance(command, (list, tuple)) else ()
    if not words or not all(isinstance(each, str) and each for each in words):
        raise ComponentError(
            f"{component}: {keys.SHELL_COMMAND} must be a list of a program and its arguments, as "
            f"['node', 'split.js'], not {command!r}"
        )
    return tuple(words)


def _environment(component: str, config: Mapping[str, Any]) -> dict[str, str]:
    """Ours with the topology's and then the component's laid over it; to PATH the component's is
    appended, as Storm does (ShellUtils)."""
    extra = config.get(keys.SHELL_ENVIRONMENT) or {}
    if not isinstance(extra, Mapping):
        raise ComponentError(
            f"{component}: {keys.SHELL_ENVIRONMENT} must be {{NAME: value}}, not {extra!r}"
        )
    below = {**os.environ, **keys.environment(config)}
    merged = {**below, **{str(name): str(value) for name, value in extra.items()}}
    if "PATH" in extra and "PATH" in below:
        merged["PATH"] = os.pathsep.join((below["PATH"], str(extra["PATH"])))
    return merged


def _serializer(component: str, name: Any) -> str:
    """Also by the name of Storm's Java class (org.apache.storm.multilang.JsonSerializer)."""
    last = str(name or JSON).rpartition(".")[2].lower()
    for part, serializer in _SERIALIZERS.items():
        if part in last:
            return serializer
    raise ComponentError(
        f"{component}: {keys.SHELL_SERIALIZER} must be json or msgpack, not {name!r}"
    )
