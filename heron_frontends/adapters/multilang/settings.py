"""What the config and the context of a shell component say, read once."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from heron_core import config as keys
from heron_core.errors import ComponentError, TopologyError
from heron_frontends.loading.topology_files import folder_of_programs
from heronpy_compat.multilang_clients import variables

WORKER_TIMEOUT_SECS = "supervisor.worker.timeout.secs"


@dataclass(frozen=True, slots=True)
class ShellSettings:
    """The settings of one instance."""

    component: str
    command: tuple[str, ...]
    directory: str
    """Where the program runs and is looked for first."""
    environment: Mapping[str, str]
    """All variables of the child."""
    serializer: str
    timeout_secs: float
    """Maximum silence of a child after a request; a longer silence stops the child."""
    pending_max: int
    restart_limit: int
    message_timeout_secs: float
    tick_secs: float | None

    @staticmethod
    def of(config: Mapping[str, Any], context: Any) -> "ShellSettings":
        """The settings in `config`; ComponentError or TopologyError naming the key if bad."""
        merged = keys.with_fallbacks(keys.with_defaults(config))
        component = context.get_component_id()
        is_workers = (
            config.get(keys.SHELL_TIMEOUT_SECS) is None
            and config.get(WORKER_TIMEOUT_SECS) is not None
        )
        return ShellSettings(
            component,
            _value(component, merged, keys.SHELL_COMMAND),
            folder_of_programs(context.get_topology_pex_path()),
            variables(_environment(component, merged)),
            _value(component, merged, keys.SHELL_SERIALIZER),
            keys.seconds(merged, WORKER_TIMEOUT_SECS if is_workers else keys.SHELL_TIMEOUT_SECS),
            keys.value_of(merged, keys.SHELL_PENDING_MAX),
            keys.restart_limit(merged),
            keys.seconds(merged, keys.MESSAGE_TIMEOUT_SECS),
            keys.tick_interval_secs(merged),
        )


def _value(component: str, config: Mapping[str, Any], key: str, default: Any = None) -> Any:
    """Value of `key`, or `default` if absent; a config error is raised as ComponentError."""
    value = default if config.get(key) is None else config[key]
    try:
        return keys.value_of({key: value}, key)
    except TopologyError as error:
        raise ComponentError(f"{component}: {error}") from None


def _environment(component: str, config: Mapping[str, Any]) -> dict[str, str]:
    """Ours with the topology's and then the component's laid over it; to PATH the component's is
    appended, as Storm does (ShellUtils)."""
    extra = _value(component, config, keys.SHELL_ENVIRONMENT, {})
    below = {**os.environ, **keys.environment(config)}
    merged = {**below, **extra}
    if "PATH" in extra and "PATH" in below:
        merged["PATH"] = os.pathsep.join((below["PATH"], extra["PATH"]))
    return merged
