"""The same targets with atheris: its bytes are the chances by which the steps are made."""

import importlib
import os
import random
import sys
from typing import Any

INPUT_BYTES_MAX = 4096
HANGS_SECS = 60
MEMORY_MIB_MAX = 4096

PACKAGES = ("heron_core", "heron_instance", "stream_manager", "topology_master")


class Chances(random.Random):
    """Takes its numbers from bytes, and zeros when those are used up."""

    def __init__(self, data: bytes) -> None:
        super().__init__(0)
        self._data = data
        self._at = 0

    def getrandbits(self, k: int, /) -> int:
        """The next `k` bits, from whole bytes."""
        size = (k + 7) // 8
        taken = self._data[self._at : self._at + size]
        self._at += size
        return int.from_bytes(taken, "little") & ((1 << k) - 1)


def run(name: str, seconds: float, seed: int) -> None:
    """Fuzz the target `name`; ends the process."""
    atheris: Any = importlib.import_module("atheris")
    with atheris.instrument_imports(include=list(PACKAGES)):
        from .targets import TARGETS
    from .running import passes, report

    target = TARGETS[name]

    def one(data: bytes) -> None:
        steps = target.make(Chances(data))
        if not passes(target, steps):
            report(target, steps)
            sys.stdout.flush()
            os._exit(1)

    options = {
        "max_total_time": int(seconds),
        "seed": seed % (1 << 31),
        "max_len": INPUT_BYTES_MAX,
        "timeout": HANGS_SECS,
        "rss_limit_mb": MEMORY_MIB_MAX,
        "print_final_stats": 1,
        "verbosity": 1,
    }
    arguments = [sys.argv[0], *(f"-{key}={value}" for key, value in options.items())]
    atheris.Setup(arguments, one)
    atheris.Fuzz()
