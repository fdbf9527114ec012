"""Where things of a user are kept on this machine: state, logs, sockets."""

import os
import shutil
import tempfile
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Home:
    """The user's folder, HERONPY_HOME or ~/.heronpy."""

    path: str

    @staticmethod
    def of_user() -> "Home":
        """The folder of whoever runs this."""
        return Home(os.path.abspath(os.environ.get("HERONPY_HOME") or _default()))

    @property
    def store_url(self) -> str:
        """The state store that needs no server: files in this folder."""
        return f"file://{self.path}/state"

    def topology(self, name: str) -> str:
        """The folder of one topology: its logs, and how its last run ended."""
        return os.path.join(self.path, "topologies", name)

    def logs(self, name: str) -> str:
        """The folder of a topology's log files."""
        return os.path.join(self.topology(name), "logs")

    def outcome_file(self, name: str) -> str:
        """How the topology's last run ended, as JSON: state, reason."""
        return os.path.join(self.topology(name), "outcome.json")

    def clean_logs(self, name: str) -> None:
        """A new run begins with empty logs."""
        shutil.rmtree(self.topology(name), ignore_errors=True)
        os.makedirs(self.logs(name), mode=0o700, exist_ok=True)


def _default() -> str:
    return os.path.join(os.path.expanduser("~"), ".heronpy")


def sockets_folder() -> str:
    """A new folder for socket files that only its owner may enter.

    It is a short path on purpose: a socket's path may have 107 characters.
    """
    runtime = os.environ.get("XDG_RUNTIME_DIR")
    parent = runtime if runtime and len(runtime) < 60 and os.path.isdir(runtime) else None
    return tempfile.mkdtemp(prefix="heronpy-", dir=parent)
