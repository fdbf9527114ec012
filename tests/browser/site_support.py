"""A service with topologies that get one trouble each, as a user starts them."""

import re
import shutil
from pathlib import Path

import psutil

from tests.process.process_support import Place

TROUBLES = Path(__file__).with_name("troubles.py")
START_SECS = 120.0
KILLED = "KilledContainer"


class Site:
    """`heronpy ui` over the topologies of one place."""

    def __init__(self, place: Place, prefix: str) -> None:
        self.place = place
        self._prefix = prefix
        # Errors name the file as it is seen from where the command runs.
        shutil.copy(TROUBLES, place.path)

    def name(self, topology: str) -> str:
        """What a topology of troubles.py is called here."""
        return f"{self._prefix}{topology}"

    def submit_with_rights(self, name: str, **rights: str) -> str:
        """Another quiet topology whose config has these keys; its name. Keys have `_` for dots."""
        options = [f"-o{key.replace('_', '.')}={value}" for key, value in rights.items()]
        named = self.name(name)
        command = ("submit", TROUBLES.name, "-n", "PausedByHand", "-N", named, *options)
        self.place.heronpy(*command, secs=START_SECS).succeeded()
        return named

    def submit(self, *topologies: str) -> None:
        """All at once; AssertionError with what one complains of."""
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
        """Its trouble begins with this."""
        if topology == KILLED:
            self._kill_container(topology, 2)
        else:
            self._switch(topology).touch()

    def _switch(self, topology: str) -> Path:
        return self.place.path / f"{topology}.switch"

    def serve(self, *options: object) -> str:
        """The address of the service, which is started here."""
        service = self.place.start("ui", "--port", 0, *options)
        found = service.until(
            lambda: re.search(r"serving at (\S+)", service.out), "it serves", START_SECS
        )
        return found[1]

    def _kill_container(self, topology: str, container: int) -> None:
        """As the machine's operator who has chosen the wrong processes: its executor, and what it
        started goes with it."""
        title = f"heron: container {container} ({self.name(topology)})"
        for each in self.place.processes():
            try:
                if " ".join(each.cmdline()).startswith(title):
                    each.kill()
            except psutil.Error:
                continue
