"""A place whose topologies are Flux files with Java classes."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import psutil
import yaml

from tests.process.process_support import Place, Running

HERE = Path(__file__).parent
JVM_SECS = 90.0
"""A topology of four JVMs begins within ten seconds on two idle cores."""
OPTIONS = ["-XX:TieredStopAtLevel=1", "-Xmx128m"]
"""A JVM that lives for seconds."""
MAIN = "heronpy.host.Main"


class JavaPlace(Place):
    """See the module."""

    def flux(
        self,
        spouts: Sequence[Mapping[str, Any]],
        bolts: Sequence[Mapping[str, Any]],
        streams: Sequence[str],
        components: Sequence[Mapping[str, Any]] = (),
        **config: Any,
    ) -> Path:
        """A Flux file; a stream is `from to GROUPING`, or `from to FIELDS field`."""
        file = self.path / "topology.yaml"
        own = {key.replace("__", "."): value for key, value in config.items()}
        settings = {"heronpy.java.options": OPTIONS, **own}
        text = {
            "name": self.name,
            "config": {"topology.classpath": ["classes", "lib/*"], **settings},
            "components": list(components),
            "spouts": list(spouts),
            "bolts": list(bolts),
            "streams": [_stream(line) for line in streams],
        }
        file.write_text(yaml.safe_dump(text, sort_keys=False))
        return file

    def jvms(self, running: Running) -> list[psutil.Process]:
        """Those of a topology's components."""
        found = []
        for process in running.processes():
            try:
                if MAIN in process.cmdline():
                    found.append(process)
            except psutil.Error:
                continue
        return found

    def jvm_of(self, running: Running, title: str) -> psutil.Process | None:
        """The JVM of the instance whose process has this title."""
        half = running.process_called(title)
        try:
            jvms = [] if half is None else [child for child in half.children() if _is_jvm(child)]
        except psutil.Error:  # it has just ended
            return None
        return jvms[0] if jvms else None


def _is_jvm(process: psutil.Process) -> bool:
    try:
        return MAIN in process.cmdline()
    except psutil.Error:
        return False


def _stream(line: str) -> dict[str, Any]:
    source, target, kind, *fields = line.split()
    source, _, stream = source.partition(":")
    grouping = {"type": kind, **({"args": fields} if fields else {})}
    named = {"streamId": stream} if stream else {}
    return {"from": source, "to": target, "grouping": {**grouping, **named}}
