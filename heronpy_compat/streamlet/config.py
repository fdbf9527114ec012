"""How a topology of streamlets is executed (heronpy.streamlet.config)."""

from typing import Any

from heron_api import api_constants
from heron_api.api_constants import TopologyReliabilityMode
from heronpy_compat.streamlet.errors import StreamletError
from heronpy_compat.streamlet.resources import Resources


class Config:
    """Delivery semantics, containers and the user's own keys, over an optional dict of keys."""

    ATMOST_ONCE = 1
    ATLEAST_ONCE = 2
    EFFECTIVELY_ONCE = 3

    def __init__(self, config: dict[str, Any] | None = None) -> None:
        """Config with given keys; StreamletError unless a dict."""
        if config is not None and not isinstance(config, dict):
            raise StreamletError(f"Config takes a dict, not {config!r}")
        self._api_config: dict[str, Any] = {} if config is None else config

    def set_delivery_semantics(self, semantics: int) -> None:
        """ATMOST_ONCE, ATLEAST_ONCE or EFFECTIVELY_ONCE of this class. StreamletError for another
        value."""
        mode = _MODES.get(semantics)
        if mode is None:
            raise StreamletError(f"unknown delivery semantics: {semantics!r}")
        self._api_config[api_constants.TOPOLOGY_RELIABILITY_MODE] = mode

    def set_num_containers(self, ncontainers: int) -> None:
        """How many containers the instances are packed into."""
        self._api_config[api_constants.TOPOLOGY_STMGRS] = int(ncontainers)

    def set_container_resources(self, resources: Resources) -> None:
        """What a container may use; an amount that was not set is left to the packing.
        StreamletError for another type."""
        if not isinstance(resources, Resources):
            raise StreamletError(f"container resources must be Resources, not {resources!r}")
        if resources.get_cpu():
            self._api_config[api_constants.TOPOLOGY_CONTAINER_CPU_REQUESTED] = resources.get_cpu()
        if resources.get_ram():
            self._api_config[api_constants.TOPOLOGY_CONTAINER_RAM_REQUESTED] = resources.get_ram()

    def set_user_config(self, key: str, value: Any) -> None:
        """Any key; components find it in their config."""
        self._api_config[key] = value


_MODES = {
    Config.ATMOST_ONCE: TopologyReliabilityMode.ATMOST_ONCE,
    Config.ATLEAST_ONCE: TopologyReliabilityMode.ATLEAST_ONCE,
    Config.EFFECTIVELY_ONCE: TopologyReliabilityMode.EFFECTIVELY_ONCE,
}
