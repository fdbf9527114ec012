"""The class path of a topology's Java components: the user's jars, and Storm's.

`topology.classpath` names jars, folders of classes, and all jars of a folder (`lib/*`), by paths
that begin at the topology's file. Where none of them has Storm's own classes, those of an installed
Storm are added (STORM_HOME).
"""

import glob
import os
import zipfile
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

from heron_core import config as keys
from heron_core.errors import ComponentError

STORM_CLASS = "org/apache/storm/topology/IRichBolt.class"
STORM_HOME = "STORM_HOME"
REMEDY = (
    "name the jars of storm-client 2 and its dependencies (mvn dependency:copy-dependencies "
    f"writes them into a folder) in {keys.JAVA_CLASS_PATH}, or set {STORM_HOME}"
)


def class_path(config: Mapping[str, Any], folder: str) -> tuple[str, ...]:
    """Absolute paths of jars and folders; ComponentError, in one line, for what is not there."""
    given = keys.given(config, keys.JAVA_CLASS_PATH) or ()
    entries = [path for entry in given for path in _files(entry, folder)]
    if not any(_has_storm(entry) for entry in entries):
        entries += _installed()
    return tuple(dict.fromkeys(entries))


def storm_jar(entries: Iterable[str]) -> str:
    """The first entry that has Storm's classes."""
    return next(entry for entry in entries if _has_storm(entry))


def _files(entry: str, folder: str) -> list[str]:
    path = os.path.join(folder, os.path.expanduser(entry))
    if os.path.basename(path) == "*":
        path = f"{path}.jar"
    files = sorted(glob.glob(path)) if "*" in path else [path]
    missing = not files or not os.path.exists(files[0])
    if missing:
        raise ComponentError(f"{keys.JAVA_CLASS_PATH}: {entry} does not exist (looked for {path})")
    for file in files:
        if os.path.isfile(file) and not zipfile.is_zipfile(file):
            raise ComponentError(f"{keys.JAVA_CLASS_PATH}: {file} is neither a jar nor a folder")
    return [os.path.abspath(file) for file in files]


@cache
def _has_storm(entry: str) -> bool:
    if os.path.isdir(entry):
        return os.path.exists(os.path.join(entry, STORM_CLASS))
    with zipfile.ZipFile(entry) as jar:
        return STORM_CLASS in jar.namelist()


def _installed() -> list[str]:
    home = os.environ.get(STORM_HOME)
    jars = sorted(glob.glob(os.path.join(home, "lib*", "*.jar"))) if home else []
    if not any(_has_storm(jar) for jar in jars):
        where = f"{STORM_HOME} ({home}) has no Storm" if home else f"{STORM_HOME} is not set"
        raise ComponentError(f"Storm's classes are not on the class path, and {where}: {REMEDY}")
    return jars
