"""The command `sparse`: every word is `heronpy`'s (streamparse.cli.sparse)."""

import os
import sys
from importlib import import_module
from typing import Any, NoReturn

COMMANDS = (
    "jar", "kill", "list", "quickstart", "remove_logs", "run", "slot_usage", "stats", "submit",
    "tail", "update_virtualenv", "visualize", "worker_uptime",
)  # fmt: skip


def load_subparsers(subparsers: Any) -> None:
    """Add every command to an argparse parser's subparsers."""
    for name in COMMANDS:
        import_module(f"heronpy_compat.streamparse.cli.{name}").subparser_hook(subparsers)


def main() -> NoReturn:
    """Become `heronpy` with the same arguments."""
    sys.stdout.flush()
    os.execv(sys.executable, [sys.executable, "-P", "-m", "heron_cli", *sys.argv[1:]])


if __name__ == "__main__":
    main()
