"""A stand-in for Leiningen without a JVM: the commands of `sparse` (`heronpy nimbus --lein
FOLDER`).

    python -m heronpy_compat.lein clean | jar | uberjar | deps :tree | version

A jar is a zip file of the project's `_resources`. Projects with Java classes need Leiningen.
"""

import os
import re
import shutil
import sys
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass

from heron_core.errors import HeronError, UsageError

PROJECT_FILE = "project.clj"
CORE, DEFAULT_CORE_VERSION = "org.apache.storm/storm-core", "1.1.0"
STORM_ARTIFACTS = ("org.apache.storm/", "org.clojure/clojure")
"""Dependencies that a Python topology does not need here."""
_STRING = r'\s+"([^"]*)"'
_MANIFEST = "Manifest-Version: 1.0\r\nCreated-By: heronpy\r\n\r\n"
VERSION = "2.0.0"
"""Leiningen's, as sparse's projects want it at least (:min-lein-version)."""


@dataclass(frozen=True, slots=True)
class LeinProject:
    """The settings read from project.clj."""

    name: str
    version: str
    resources: str
    target: str
    dependencies: tuple[tuple[str, str], ...]
    sources: tuple[str, ...]
    """Folders with Java or Clojure."""

    def java(self, root: str) -> list[str]:
        """Parts of the project in folder `root` that require a JVM."""
        other = [name for name, _ in self.dependencies if not name.startswith(STORM_ARTIFACTS)]
        return [*other, *(x for x in self.sources if os.path.isdir(os.path.join(root, x)))]


def read_project(text: str) -> LeinProject:
    """Parse project.clj; UsageError without a `defproject`."""
    text = re.sub(r"(?m);.*$", "", text)
    named = re.search(rf"\(defproject\s+([^\s\"]+){_STRING}", text)
    if named is None:
        raise UsageError(f'{PROJECT_FILE} has no (defproject NAME "VERSION" …)')
    return LeinProject(
        named[1].rpartition("/")[2],
        named[2],
        _first(text, rf":resource-paths\s+\[{_STRING.replace('+', '*')}", "resources"),
        _first(text, rf":target-path{_STRING}", "target").replace("%s", ""),
        tuple(re.findall(rf"\[([\w.\-]+/[\w.\-]+){_STRING}", text)),
        ("src/java", "src/clj", "src/jvm", "src/main"),
    )


def _first(text: str, pattern: str, default: str) -> str:
    found = re.search(pattern, text)
    return found[1] if found else default


def make_jar(project: LeinProject, folder: str, *, standalone: bool) -> str:
    """The path of the jar; HeronError for a project without its resources."""
    root = os.path.join(folder, project.resources)
    if not os.path.isdir(root):
        raise HeronError(
            f"{root} does not exist: `sparse jar` and `sparse submit` create the folder"
        )
    ending = "-standalone.jar" if standalone else ".jar"
    path = os.path.join(folder, project.target, f"{project.name}-{project.version}{ending}")
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as jar:
        jar.writestr("META-INF/MANIFEST.MF", _MANIFEST)
        for file in _files(root):
            jar.write(file, os.path.relpath(file, root))
    return path


def _files(root: str) -> list[str]:
    return sorted(
        os.path.join(folder, file)
        for folder, _, files in os.walk(root)
        if os.path.basename(folder) != "__pycache__"
        for file in files
    )


def run(words: Sequence[str], folder: str) -> list[str]:
    """Run a command and return the lines of output. HeronError for a command that requires a
    JVM."""
    if not words or words[0] not in ("clean", "jar", "uberjar", "deps", "version"):
        raise UsageError(
            f"lein {' '.join(words)}: the stand-in for Leiningen has only clean, jar, uberjar, "
            "deps and version; run a project with `heronpy run`"
        )
    if words[0] == "version":
        return [f"Leiningen {VERSION} (a stand-in of heronpy, without a JVM)"]
    try:
        with open(os.path.join(folder, PROJECT_FILE), encoding="utf-8") as file:
            project = read_project(file.read())
    except FileNotFoundError:
        raise UsageError(f"{folder} has no {PROJECT_FILE}") from None
    if words[0] == "deps":
        tree = dict(project.dependencies)
        return [f' [{CORE} "{tree.get(CORE, DEFAULT_CORE_VERSION)}"]']
    if words[0] == "clean":
        shutil.rmtree(os.path.join(folder, project.target), ignore_errors=True)
        return []
    if java := project.java(folder):
        raise HeronError(
            f"{project.name} has parts for a JVM ({', '.join(java)}), which the stand-in for "
            "Leiningen cannot build: remove the parts or use Leiningen"
        )
    return [f"Created {make_jar(project, folder, standalone=words[0] == 'uberjar')}"]


def script(python: str) -> str:
    """Text of a `lein` script that calls the module."""
    note = "# Made by `heronpy nimbus --lein`."
    return f'#!/bin/sh\n{note}\nexec "{python}" -m heronpy_compat.lein "$@"\n'


def main() -> int:
    """Run the command line; return the exit code."""
    try:
        lines = run(sys.argv[1:], os.getcwd())
    except HeronError as error:
        sys.stderr.write(f"lein: {error}\n")
        return error.exit_code
    sys.stdout.write("".join(f"{line}\n" for line in lines))
    return 0


if __name__ == "__main__":
    sys.exit(main())
