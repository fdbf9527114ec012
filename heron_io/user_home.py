"""The folder of whoever runs this, and the state store in it that needs no server."""

import os


def home_path() -> str:
    """HERONPY_HOME or ~/.heronpy, as an absolute path."""
    default = os.path.join(os.path.expanduser("~"), ".heronpy")
    return os.path.abspath(os.environ.get("HERONPY_HOME") or default)


def store_url_in(home: str) -> str:
    """Files in the folder."""
    return f"file://{home}/state"
