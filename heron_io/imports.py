"""Keeps our package names out of the way of user code in a forked process."""

import sys

OURS_ONLY = ("scheduler", "stream_manager", "topology_master", "heron_cli", "examples", "tests")
"""Packages of ours that user code never needs and whose names a user's modules may have."""


def forget_ours() -> None:
    """Let an `import scheduler` of user code find the user's module, not ours."""
    for name in list(sys.modules):
        if name.partition(".")[0] in OURS_ONLY:
            del sys.modules[name]
