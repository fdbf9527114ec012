"""Where things of a user are kept on this machine: state, logs, archives."""

import os
import shutil
import stat
from contextlib import suppress
from dataclasses import dataclass

from heron_io.private_files import make_private_folders
from heron_io.user_home import home_path, store_url_in


@dataclass(frozen=True, slots=True)
class Home:
    """The user's folder, HERONPY_HOME or ~/.heronpy."""

    path: str

    @staticmethod
    def of_user() -> "Home":
        """The folder of the current user."""
        return Home(home_path())

    @property
    def store_url(self) -> str:
        """The serverless state store: files in the user's folder."""
        return store_url_in(self.path)

    def topology(self, name: str) -> str:
        """The folder of one topology: logs, and outcome of its last run."""
        return os.path.join(self.path, "topologies", name)

    def logs(self, name: str) -> str:
        """The folder of a topology's log files."""
        return os.path.join(self.topology(name), "logs")

    def previous_logs(self, name: str) -> str:
        """The folder of the log files of the run before."""
        return os.path.join(self._previous(name), "logs")

    def _previous(self, name: str) -> str:
        return os.path.join(self.topology(name), "previous")

    def outcome_file(self, name: str) -> str:
        """How the topology's last run ended, as JSON: state, reason."""
        return os.path.join(self.topology(name), "outcome.json")

    def query_file(self, name: str) -> str:
        """What is known of a topology that runs, or ran last, as a query in the foreground."""
        return os.path.join(self.topology(name), "query.json")

    def checkpoint(self, name: str) -> str:
        """Where a topology that is submitted as a query of Spark goes on, unless told otherwise."""
        return os.path.join(self.path, "checkpoints", name)

    def states(self, name: str) -> str:
        """Default folder of a topology's checkpoint states: beside its logs."""
        return os.path.join(self.topology(name), "checkpoints")

    def savepoint(self, name: str, at: str) -> str:
        """Default folder of a savepoint; `at`: its time, for people."""
        return os.path.join(self.path, "savepoints", f"{name}-{at}")

    @property
    def archives(self) -> str:
        """The folder in which archives of `heronpy package` are unpacked."""
        return os.path.join(self.path, "archives")

    @property
    def zookeepers(self) -> str:
        """Folder of ZooKeeper servers started for single runs."""
        return os.path.join(self.path, "zookeepers")

    def clean_logs(self, name: str) -> None:
        """A new run begins with empty logs, and those of the run before stay as `previous_logs`;
        states are another matter (scheduler.previous_runs)."""
        previous = self._previous(name)
        if has_files(self.logs(name)):
            shutil.rmtree(previous, ignore_errors=True)
            make_private_folders(previous)
            os.rename(self.logs(name), self.previous_logs(name))
        with suppress(FileNotFoundError):
            for entry in os.scandir(self.topology(name)):
                if entry.path in (self.states(name), previous):
                    continue
                if entry.is_dir(follow_symlinks=False):
                    shutil.rmtree(entry.path, ignore_errors=True)
                else:
                    os.unlink(entry.path)
        make_private_folders(self.logs(name))


def has_files(folder: str) -> bool:
    """Whether a non-empty folder of the name exists."""
    with suppress(FileNotFoundError, NotADirectoryError):
        return bool(os.listdir(folder))
    return False


def is_logs_folder(path: str, name: str) -> bool:
    """Whether this is the folder of a topology's logs in some user's folder, and ours: what the
    state store says may be anything."""
    parent = os.path.join("topologies", name, "logs")
    if not os.path.isabs(path) or not path.endswith(os.sep + parent):
        return False
    found = os.lstat(path)
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid()
