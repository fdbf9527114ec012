"""A pipeline on processes of this machine: `heronpy run` of a file that has its plan."""

import base64
import os
import pickle
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from heronpy_compat.beam.plans import PipelinePlan
from heronpy_compat.beam.results import read_reports

FILE = '''\
"""Written by heronpy, of a pipeline of Beam."""

import base64
import pickle

from heronpy_compat.beam.assembly import builder_of

_plan, _reports = pickle.loads(base64.b64decode({values!r}))
builder_of(_plan, _reports).build_and_submit()
'''


class ProcessRun:
    """One run; its folder is removed at its end."""

    def __init__(self, plan: PipelinePlan, topology_options: list[str]) -> None:
        """Start it; its components' output goes to stdout, heronpy's own to stderr."""
        self._name = plan.name
        self._folder = tempfile.mkdtemp(prefix="heronpy-beam-")
        self._reports = os.path.join(self._folder, "reports")
        os.mkdir(self._reports)
        values = base64.b64encode(pickle.dumps((plan, self._reports))).decode("ascii")
        file = os.path.join(self._folder, "pipeline.py")
        Path(file).write_text(FILE.format(values=values), "utf-8")
        words = [sys.executable, "-P", "-m", "heron_cli", "run", "-n", plan.name, file]
        for option in topology_options:
            words += ["-o", option]
        self._process = subprocess.Popen(words)

    def wait(self, secs: float | None) -> bool:
        """Whether the run has ended, after at most `secs`; RuntimeError if it failed."""
        try:
            code = self._process.wait(secs)
        except subprocess.TimeoutExpired:
            return False
        if code:
            self._remove()
            raise RuntimeError(
                f"pipeline {self._name!r} ended with exit code {code}: its log says why"
            )
        return True

    def reports(self) -> dict[str, list[Any]]:
        """The metrics, after the end."""
        found = read_reports(self._reports)
        self._remove()
        return found

    def cancel(self) -> None:
        """End the run as Ctrl-C would."""
        self._process.send_signal(signal.SIGINT)
        self._process.wait()
        self._remove()

    def _remove(self) -> None:
        shutil.rmtree(self._folder, ignore_errors=True)
