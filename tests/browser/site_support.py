"""A service with topologies, each with one trouble, as a user starts them."""

import re
import shutil
from pathlib import Path

import psutil

from tests.process.process_support import Place

TROUBLES = Path(__file__).with_name("troubles.py")
START_SECS = 120.0
KILLED = "KilledContainer"


class Site:
    def __init__(self, place: Place, prefix: str) -> None:
        self.place = place
        self._prefix = prefix
        # File names in errors are relative to the command's folder.
        shutil.copy(TROUBLES, place.path)

    def name(self, topology: str) -> str:
        """Name of a topology of troubles.py."""
        return f"{self._prefix}{topology}"

    def submit_with_rights(self, name: str, **rights: str) -> str:
        """Submit a quiet topology with further keys in its config, `_` for dots; returns the
        name."""
        options = [f"-o{key.replace('_', '.')}={value}" for key, value in rights.items()]
        named = self.name(name)
        command = ("submit", TROUBLES.name, "-n", "PausedByHand", "-N", named, *options)
        self.place.heronpy(*command, secs=START_SECS).succeeded()
        return named

    def submit(self, *topologies: str) -> None:
        """Submit all at once; AssertionError with the complaint of a command."""
        commands = [
            self.place.start(
                "submit", TROUBLES.name, "-n", each, "-N", self.name(each),
                "-o", f"test.switch={self._switch(each)}",
            )
            for each in topologies
        ]  # fmt: skip
        for each in commands:
            each.wait(START_SECS).succeeded()

    def cause(self, topology: str) -> None:
        """Start the topology's trouble."""
        if topology == KILLED:
            self._kill_container(topology, 2)
        else:
            self._switch(topology).touch()

    def _switch(self, topology: str) -> Path:
        return self.place.path / f"{topology}.switch"

    def serve(self, *options: object) -> str:
        """Start the service; returns its address."""
        service = self.place.start("ui", "--port", 0, *options)
        found = service.until(
            lambda: re.search(r"serving at (\S+)", service.out), "it serves", START_SECS
        )
        return found[1]

    def _kill_container(self, topology: str, container: int) -> None:
        """Kill the executor and all child processes, as an operator after a wrong choice."""
        title = f"heron: container {container} ({self.name(topology)})"
        for each in self.place.processes():
            try:
                if " ".join(each.cmdline()).startswith(title):
                    each.kill()
            except psutil.Error:
                continue
