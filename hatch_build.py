"""What hatchling runs when it makes a wheel: HERONPY_BUILD_NATIVE=1 puts the compiled hot path in.

Without it the wheel is pure Python, for every platform.
"""

import os
import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

SWITCH = "HERONPY_BUILD_NATIVE"
REQUIREMENTS = "requirements-native.txt"


class NativeBuildHook(BuildHookInterface):  # type: ignore[type-arg,misc,unused-ignore]
    """Adds the extension, and the platform to the wheel's name."""

    def dependencies(self) -> list[str]:
        """What the build needs besides hatchling."""
        if not _is_wanted():
            return []
        lines = Path(self.root, REQUIREMENTS).read_text("utf-8").splitlines()
        return [line for line in lines if line and not line.startswith("#")]

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Before the wheel is made; an editable one gets its extensions by `make native`."""
        if version == "editable" or not _is_wanted():
            return
        sys.path.insert(0, self.root)
        from native_build import PACKAGE, build

        for made in build(Path(self.directory, "native")):
            build_data["force_include"][str(made)] = f"{PACKAGE.name}/{made.name}"
        build_data["pure_python"] = False
        build_data["infer_tag"] = True


def _is_wanted() -> bool:
    return os.environ.get(SWITCH) == "1"
