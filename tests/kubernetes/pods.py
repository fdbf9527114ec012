"""A pod of the suite's kubelet: its container is a process in namespaces of its own.

The root is the machine's, below a separate layer (overlay), so that the container sees this Python
and does not write to the machine; volumes are mounted. Pods have addresses of 127.0.0.0/8, all
local to this machine.
"""

import base64
import os
import re
import shlex
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any

import psutil

_REFERENCE = re.compile(r"\$(\$\([A-Za-z_]\w*\)|\(([A-Za-z_]\w*)\))")
_ROOT = """\
set -e
mkdir -p {fs}
mount -t tmpfs none {fs}
mkdir {fs}/upper {fs}/work {fs}/root
mount -t overlay overlay -o lowerdir=/,upperdir={fs}/upper,workdir={fs}/work {fs}/root
mount -t proc proc {fs}/root/proc
mount --rbind /dev {fs}/root/dev
hostname {name}
{mounts}
exec chroot {fs}/root {python} -I -S -c {launcher} {folder} {command}
"""
_LAUNCHER = """\
import os, sys
folder, *command = sys.argv[1:]
os.chdir(folder)
try:
    os.execvp(command[0], command)
except OSError as error:
    print(f"exec {command[0]}: {error.strerror.lower()}", file=sys.stderr)
    sys.exit(127 if isinstance(error, FileNotFoundError) else 255)
"""
"""Starts a command as runc does: a shell would take a program of another machine for a script."""


class PodProcess:
    """The container of one pod, restarted at its end."""

    def __init__(self, pod: Mapping[str, Any], folder: Path, address: str) -> None:
        self.name: str = pod["metadata"]["name"]
        self.uid: str = pod["metadata"]["uid"]
        self.address = address
        self.folder = folder
        self.restarts = 0
        self.last_code: int | None = None
        self.is_started = False
        """Whether the startup probe of the process has succeeded."""
        self.held: tuple[str, str] | None = None
        """Reason and message of a kubelet for a missing container."""
        self._spec = pod["spec"]["containers"][0]
        self._volumes = {each["name"]: each for each in pod["spec"].get("volumes") or ()}
        self._process: subprocess.Popen[bytes] | None = None
        self._kill_at = float("inf")
        self.started_at = 0.0

    @property
    def is_running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    @property
    def log(self) -> str:
        path = self.folder / "log"
        return path.read_text("utf-8", "replace") if path.exists() else ""

    @property
    def timed(self) -> Path:
        """The file with the output, each line behind its time."""
        return self.folder / "timed"

    def start(self, variables: Mapping[str, str], sources: Mapping[str, Path]) -> None:
        """`sources`: the folders of its volumes."""
        environment = {**variables, **self._variables()}
        words = [
            _expanded(word, environment)
            for word in (*(self._spec.get("command") or ()), *(self._spec.get("args") or ()))
        ]
        root = self.folder / "fs"
        mounts = "\n".join(
            f"mkdir -p {root}/root{path}; mount --bind {sources[each['name']]} {root}/root{path}"
            for each in self._spec.get("volumeMounts") or ()
            for path in [each["mountPath"].replace("/var/run", "/run")]
        )
        script = _ROOT.format(
            fs=root, name=self.name, mounts=mounts, folder=self._spec.get("workingDir", "/"),
            command=shlex.join(words), python=sys.executable, launcher=shlex.quote(_LAUNCHER),
        )  # fmt: skip
        self._process = subprocess.Popen(
            ["unshare", "--mount", "--pid", "--uts", "--fork", "--kill-child", "sh", "-c", script],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            env=environment, start_new_session=True,
        )  # fmt: skip
        threading.Thread(target=self._keep, args=(self._process.stdout,), daemon=True).start()
        self.started_at = time.time()

    def _keep(self, output: IO[bytes]) -> None:
        """Keep the output: unchanged, and with the time of each line as kubelets do."""
        with output, open(self.folder / "log", "ab", 0) as log, open(self.timed, "ab", 0) as timed:
            for line in output:
                log.write(line)
                stamp = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%f000Z")
                timed.write(f"{stamp} ".encode() + line)

    def reap(self) -> bool:
        """Whether the process has ended since it was started."""
        if self._process is None or self._process.poll() is None:
            return False
        self.last_code = self._process.returncode
        self._process = None
        return True

    def terminate(self, shutdown_secs: float) -> None:
        """SIGTERM to the first process, SIGKILL later; a second call is without effect."""
        if self._process is None or self._kill_at < float("inf"):
            return
        self._kill_at = time.monotonic() + shutdown_secs
        with suppress(psutil.Error):
            for child in psutil.Process(self._process.pid).children():
                child.send_signal(signal.SIGTERM)

    def poll(self) -> None:
        """Kill late processes."""
        if time.monotonic() > self._kill_at:
            self.kill()

    def kill(self) -> None:
        """kill -9 of all processes."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def _variables(self) -> dict[str, str]:
        found = {
            "POD_IP": self.address,
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
            "LANG": "C.UTF-8",
        }
        for each in self._spec.get("env") or ():
            if "value" in each:
                found[each["name"]] = each["value"]
        return found


def written_files(folder: Path, data: Mapping[str, str], is_secret: bool) -> Path:
    """A volume with the keys of a ConfigMap or a Secret."""
    folder.mkdir(parents=True, exist_ok=True)
    for key, text in data.items():
        (folder / key).write_bytes(base64.b64decode(text) if is_secret else text.encode())
    return folder


def _expanded(word: str, variables: Mapping[str, str]) -> str:
    """$(NAME) is a variable's value, $$(NAME) is $(NAME)."""

    def value(matched: re.Match[str]) -> str:
        if matched[2] is None:
            return matched[1]
        return variables.get(matched[2], matched[0])

    return _REFERENCE.sub(value, word)
