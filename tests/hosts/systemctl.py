"""A stand-in for `systemctl --user` on a host of the laboratory, which has no systemd.

The stand-in runs the units in ~/.config/systemd/user by their lines Environment, ExecStart,
Restart, RestartSec, SuccessExitStatus and WorkingDirectory, with the variables of
~/.config/environment.d; KNOWN has further lines. `systemctl --user boot` starts the enabled units.
"""

import os
import select
import shlex
import signal
import subprocess
import sys
import threading
from pathlib import Path
from types import FrameType

HOME = Path(os.environ["HOME"])
UNITS = HOME / ".config/systemd/user"
ENABLED = HOME / ".enabled-units"
HONOURED = ("Environment", "ExecStart", "Restart", "RestartSec", "SuccessExitStatus",
            "WorkingDirectory")  # fmt: skip
WITHOUT_EFFECT = ("Description", "StartLimitIntervalSec", "WantedBy", "KillMode", "TimeoutStopSec",
                  "Delegate")  # fmt: skip
KNOWN = {*HONOURED, *WITHOUT_EFFECT}
USAGE_ERROR = 2


def unit(name: str) -> dict[str, list[str]]:
    """Key -> its values; ValueError for a key that the stand-in does not know."""
    values: dict[str, list[str]] = {}
    for line in (UNITS / f"{name}.service").read_text().splitlines():
        key, is_setting, value = line.partition("=")
        if not is_setting:
            continue
        if key not in KNOWN:
            raise ValueError(f"{name}.service has {key}, which the stand-in does not know")
        values.setdefault(key, []).append(value)
    return values


def words(text: str) -> list[str]:
    """As systemd splits a command line."""
    return [each.replace("%%", "%").replace("$$", "$") for each in shlex.split(text)]


def variables(values: dict[str, list[str]]) -> dict[str, str]:
    """The environment of a unit: little of the user's shell."""
    found = {key: os.environ[key] for key in ("HOME", "PATH", "USER") if key in os.environ}
    lines = [line for each in sorted((HOME / ".config/environment.d").glob("*.conf"))
             for line in each.read_text().splitlines()]  # fmt: skip
    for each in (*lines, *(word for text in values.get("Environment", []) for word in words(text))):
        key, _, value = each.partition("=")
        found[key] = value
    return found


class Service:
    """A unit's process, and its successors."""

    def __init__(self, name: str) -> None:
        self._values = unit(name)
        self._log = HOME / f"{name}.log"
        self._process: subprocess.Popen[bytes] | None = None
        self._stopping = threading.Event()

    def run(self) -> None:
        """Until SIGTERM, or an end without a restart."""
        signal.signal(signal.SIGTERM, self._stop)
        while not self._stopping.is_set():
            code = self._once()
            policy = self._values["Restart"][0]
            fine = {"0", *self._values.get("SuccessExitStatus", [""])[0].split()}
            if policy == "on-failure" and str(code) in fine:
                return
            self._stopping.wait(float(self._values["RestartSec"][0]))

    def _once(self) -> int:
        (command,) = self._values["ExecStart"]
        folder = self._values.get("WorkingDirectory", [str(HOME)])[0].replace("%%", "%")
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                words(command), env=variables(self._values), cwd=folder,
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
            )  # fmt: skip
        if self._stopping.is_set():
            self._process.terminate()
        return self._process.wait()

    def _stop(self, number: int, frame: FrameType | None) -> None:
        self._stopping.set()
        if self._process is not None:
            self._process.terminate()


def start(name: str) -> None:
    """A process of its own follows the unit."""
    unit(name)
    process = subprocess.Popen(
        [sys.executable, __file__, "serve", name],
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        start_new_session=True,
    )  # fmt: skip
    (HOME / f"{name}.pid").write_text(str(process.pid))


def stop(name: str) -> None:
    """Wait for the end of the unit."""
    pid = int((HOME / f"{name}.pid").read_text())
    os.kill(pid, signal.SIGTERM)
    select.select([os.pidfd_open(pid)], [], [])


def main() -> int:
    """As `systemctl --user VERB [--now] NAME...`; `serve NAME` is the stand-in's own."""
    match [each for each in sys.argv[1:] if each not in ("--user", "--now")]:
        case ["daemon-reload"]:
            pass
        case ["serve", name]:
            Service(name).run()
        case ["enable", *names]:
            ENABLED.mkdir(exist_ok=True)
            for name in names:
                (ENABLED / name).touch()
                start(name)
        case ["boot"]:
            for each in sorted(ENABLED.iterdir()):
                start(each.name)
        case ["restart", *names]:
            for name in names:
                stop(name)
                start(name)
        case ["stop", *names]:
            for name in names:
                stop(name)
        case others:
            print(f"systemctl: not known here: {others}", file=sys.stderr)
            return USAGE_ERROR
    return 0


if __name__ == "__main__":
    sys.exit(main())
