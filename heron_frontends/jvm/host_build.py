"""Compiles the host (host/*.java) against the user's Storm, once for each version of both.

The classes are in a folder of the user's cache whose name is a digest of the sources. The folder
appears complete or not at all, so any number of processes may build at once.
"""

import hashlib
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from heron_core.errors import ComponentError, JavaMissing
from heron_frontends.jvm.class_path import REMEDY
from heron_io.java import JAVA_VERSION_MIN, find_java

SOURCES = Path(__file__).parent / "host"
MAIN_CLASS = "heronpy.host.Main"
COMPILE_SECS_MAX = 300.0
NO_JDK = "install a JDK (Debian: apt install openjdk-17-jdk-headless), or set JAVA_HOME to one"
RELEASE = str(JAVA_VERSION_MIN)
_FOLDER = "java-host"
_JARS = {
    "com.codahale.metrics": "metrics-core (io.dropwizard.metrics)",
    "org.slf4j": "slf4j-api (org.slf4j)",
    "org.apache.storm.shade": "storm-shaded-deps (org.apache.storm)",
}
"""Package -> jar with the package, for the dependencies of storm-client."""
_ABSENT = re.compile(r"package (\S+) does not exist|class file for (\S+) not found")


def host_classes(class_path: Sequence[str], storm: str) -> tuple[str, str]:
    """The Java that runs components, and the folder with the host's classes, compiled if need be.

    ComponentError, in one line, without Java, without a JDK, or with another Storm.
    """
    try:
        java = find_java()
    except JavaMissing as error:
        raise ComponentError(f"Java classes need Java: {error}") from None
    folder = Path(_cache(), _name_of(java, storm))
    if not folder.exists():
        _compile(java, class_path, folder)
    return java, str(folder)


def _cache() -> Path:
    home = os.environ.get("HERONPY_HOME") or os.path.expanduser("~/.heronpy")
    return Path(os.path.abspath(home), _FOLDER)


def _name_of(java: str, storm: str) -> str:
    digest = hashlib.sha256()
    for source in sorted(SOURCES.glob("*.java")):
        digest.update(source.read_bytes())
    status = os.stat(storm)
    digest.update(
        f"{os.path.realpath(java)} {storm} {status.st_size} {status.st_mtime_ns}".encode()
    )
    return digest.hexdigest()[:16]


def _compile(java: str, class_path: Sequence[str], folder: Path) -> None:
    folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    fresh = tempfile.mkdtemp(prefix=".new-", dir=folder.parent)
    try:
        _run_compiler(_compiler(java), class_path, fresh)
        try:
            os.rename(fresh, folder)
        except OSError:
            if not folder.exists():  # else another process was faster
                raise
    finally:
        shutil.rmtree(fresh, ignore_errors=True)


def _compiler(java: str) -> str:
    beside = os.path.join(os.path.dirname(os.path.realpath(java)), "javac")
    found = shutil.which(beside) or shutil.which("javac")
    if found is None:
        raise ComponentError(
            f"Java classes need a Java compiler the first time, and {java} has no javac: {NO_JDK}"
        )
    return found


def _run_compiler(compiler: str, class_path: Sequence[str], folder: str) -> None:
    sources = [str(source) for source in sorted(SOURCES.glob("*.java"))]
    command = [compiler, "--release", RELEASE, "-nowarn", "-proc:none", "-d", folder]
    command += ["-cp", os.pathsep.join(class_path)]
    try:
        done = subprocess.run(
            [*command, *sources],
            capture_output=True,
            check=False,
            text=True,
            timeout=COMPILE_SECS_MAX,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ComponentError(f"{compiler} does not run: {error}") from None
    if done.returncode != 0:
        if (package := _absent_package(done.stderr)) is not None:
            raise ComponentError(
                f"{_JARS[package]} is not on the class path: Storm needs it beside its own jar; "
                f"{REMEDY}"
            )
        first = next((line for line in done.stderr.splitlines() if "error:" in line), "")
        raise ComponentError(
            f"the host of Java classes does not compile against this Storm (2.1 or newer):"
            f" {first.strip() or done.stderr.strip()[:200]}"
        )


def _absent_package(reported: str) -> str | None:
    """The first package that the compiler has missed and whose jar is known."""
    for found in _ABSENT.finditer(reported):
        name = found[1] or found[2]
        for package in _JARS:
            if name.startswith(package):
                return package
    return None
