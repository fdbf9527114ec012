"""What is known of where our output goes."""

import shutil
import sys


def stdout_width() -> int | None:
    """Of the terminal, in characters; None for a file or a pipe, which take lines of any length."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None
