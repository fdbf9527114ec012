"""Storm's operations that are not here: asking for one says so."""

from typing import Any

from heronpy_compat.trident.errors import TridentError

_MISSING = {
    "Stream": ("setCPULoad setMemoryLoad addSharedMemory addResource"),
    "GroupedStream": "",
    "TridentTopology": "setResourceDefaults setSpoutCoordinatorsMap",
}


class NamesMissing:
    """Base of the classes of the fluent API."""

    def __getattr__(self, name: str) -> Any:
        kind = type(self).__name__
        if name in _MISSING.get(kind, "").split():
            raise TridentError(f"{kind}.{name} of Storm's Trident is not here (docs/TRIDENT.md)")
        raise AttributeError(f"{kind!r} object has no attribute {name!r}")
