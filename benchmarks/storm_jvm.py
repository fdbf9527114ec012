"""Storm in Java for the benchmarks: its jars, and our programs of peers/storm compiled."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from tempfile import TemporaryDirectory

from benchmarks.rounds import REPOSITORY

sys.path.append(str(REPOSITORY / "tests" / "cluster"))  # a folder of tests, and no package

from jars import NoJars, resolved

SOURCES = REPOSITORY / "benchmarks" / "peers" / "storm"
HEAP = "-Xmx2g"
LOG_LEVEL = "-Dlog4j2.level=ERROR"


class NoStorm(Exception):
    """Storm cannot be run here; the text is one line."""


@contextmanager
def java_command(program: str) -> Iterator[list[str]]:
    """What runs this program of ours, which is compiled as long as this is open; NoStorm where
    Maven or a Java compiler is missing."""
    compiler = shutil.which("javac")
    if compiler is None or shutil.which("java") is None:
        raise NoStorm("no Java compiler (javac) is installed")
    try:
        jars = resolved(SOURCES / "pom.xml")
    except NoJars as error:
        raise NoStorm(str(error)) from None
    with TemporaryDirectory(prefix="heronpy-storm-classes-") as classes:
        class_path = f"{classes}{os.pathsep}{jars}/*"
        source = str(SOURCES / f"{program}.java")
        subprocess.run([compiler, "-cp", class_path, "-d", classes, source], check=True)
        yield ["java", HEAP, LOG_LEVEL, "-cp", class_path, program]
