"""Keeps our package names out of the way of user code in a forked process."""

import sys
from types import ModuleType

OURS_ONLY = ("scheduler", "stream_manager", "topology_master", "heron_cli", "examples", "tests")
"""Packages of ours that user code never needs and whose names a user's modules may have."""

_forgotten: list[ModuleType] = []
"""Kept, so that nothing of them is freed: that would write to pages which all instances share."""


def forget_ours() -> None:
    """Let an `import scheduler` of user code find the user's module, not ours."""
    ours = [name for name in sys.modules if name.partition(".")[0] in OURS_ONLY]
    _forgotten.extend(map(sys.modules.pop, ours))
