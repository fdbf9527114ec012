"""One run of peers/storm/ManyInstances.java: Storm's local mode, everything in one JVM."""

import json
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks import usage
from benchmarks.many_instances_shape import Measured, Shape, Window
from benchmarks.measure import BenchmarkError
from benchmarks.storm_jvm import java_command
from benchmarks.usage import Usage

PROGRAM = "ManyInstances"
ROLE = "JVM"
SECONDS_MAX = 240.0
"""Starting 200 executors under full load takes a minute."""


class Storm:
    """The jars and our compiled class, kept as long as the context is open."""

    def __init__(self, command: list[str]) -> None:
        self._command = command

    def run(self, shape: Shape, window: Window) -> Measured:
        """Start the topology, warm up, measure, stop; BenchmarkError on failure."""
        command = [*self._command, *words(shape, window)]
        with TemporaryDirectory(prefix="heronpy-storm-") as folder:
            errors = Path(folder, "stderr.txt")
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=errors.open("wb"),
                cwd=folder,
                text=True,
            )
            timer = threading.Timer(SECONDS_MAX, process.kill)
            timer.start()
            try:
                return measured(shape, process)
            except KeyError as missing:
                text = errors.read_text("utf-8", "replace")[-2000:]
                raise BenchmarkError(f"Storm, {shape}: no {missing} came\n{text}") from None
            finally:
                timer.cancel()
                process.kill()
                process.wait()


def words(shape: Shape, window: Window) -> list[str]:
    """The program's arguments."""
    return [
        *map(str, shape.parallelism),
        str(shape.per_call),
        shape.grouping,
        str(shape.acked).lower(),
        str(shape.pending),
        str(window.warm_up_seconds),
        str(window.seconds),
    ]


def measured(shape: Shape, process: "subprocess.Popen[str]") -> Measured:
    """Printed counts, and CPU use between the marks; KeyError names a missing mark."""
    at: dict[str, float] = {}
    of_mark: dict[str, dict[int, Usage]] = {}
    counts: dict[str, list[int]] = {}
    assert process.stdout is not None
    for line in process.stdout:
        record = json.loads(line) if line.startswith("{") else {}
        if "mark" in record:
            of_mark[record["mark"]] = usage.usage()
            at[record["mark"]] = record["at"]
        elif "counts" in record:
            counts = record
            break
    used = usage.used(of_mark["first"], of_mark["last"])[process.pid]
    return Measured(
        shape=shape,
        seconds=at["last"] - at["first"],
        counts=counts["counts"],
        cpu_seconds={ROLE: used.cpu_seconds},
        wake_ups={ROLE: used.wake_ups},
        preemptions=used.preemptions,
    )


@contextmanager
def storm() -> Iterator[Storm]:
    """Storm with our class compiled; NoStorm where Maven or a Java compiler is missing."""
    with java_command(PROGRAM) as command:
        yield Storm(command)
