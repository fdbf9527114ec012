"""A project in the layout of `sparse quickstart`: config.json and topology folders.

Rules of streamparse 5 (streamparse.util.get_config, get_topology_definition): the current folder
is the project; an only topology or environment needs no name. In addition, a topology file on
the command line determines the project, in the nearest folder above.
"""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from heron_core.errors import UsageError
from heron_core.validation import choices

CONFIG_FILE = "config.json"
TOPOLOGY_SPECS = "topology_specs"
VIRTUALENV_SPECS = "virtualenv_specs"
ENVIRONMENTS = "envs"
PROJECT_KEYS = (TOPOLOGY_SPECS, VIRTUALENV_SPECS, ENVIRONMENTS)
"""A config.json with none of these keys belongs to a different program."""
DEFAULT_TOPOLOGY_FOLDER = "topologies"
DEFAULT_VIRTUALENV_FOLDER = "virtualenvs"
SOURCE_FOLDER = "src"
ENDINGS = (".py", ".yaml", ".yml")
"""Endings of topology files; of several files with one name the first ending wins."""


@dataclass(frozen=True, slots=True)
class Project:
    """A project's folder and its config.json."""

    root: str
    config_file: str
    config: Mapping[str, Any]

    @property
    def topology_folder(self) -> str:
        """The folder of topology files, absolute."""
        return self._folder(TOPOLOGY_SPECS, DEFAULT_TOPOLOGY_FOLDER)

    @property
    def virtualenv_folder(self) -> str:
        """The folder of requirements files, absolute."""
        return self._folder(VIRTUALENV_SPECS, DEFAULT_VIRTUALENV_FOLDER)

    def _folder(self, key: str, default: str) -> str:
        return os.path.normpath(os.path.join(self.root, str(self.config.get(key) or default)))

    @property
    def search_paths(self) -> tuple[str, ...]:
        """For sys.path: streamparse's src and topologies; the root for `from src.bolts import`."""
        return (self.root, os.path.join(self.root, SOURCE_FOLDER), self.topology_folder)

    def topology_files(self) -> dict[str, str]:
        """name -> path of each topology file, sorted by name; the name is the file's."""
        try:
            files = sorted(os.listdir(self.topology_folder))
        except OSError:
            return {}
        by_name: dict[str, str] = {}
        for ending in ENDINGS:
            for file in files:
                name = file.removesuffix(ending)
                if name != file and not name.startswith(("_", ".")):
                    by_name.setdefault(name, os.path.join(self.topology_folder, file))
        return dict(sorted(by_name.items()))

    def topology_file(self, name: str | None) -> tuple[str, str]:
        """(name, path) of the topology called `name`, or of the only one; else UsageError."""
        files = self.topology_files()
        if not files:
            raise UsageError(f"no topology is in {self.topology_folder}: put NAME.py there")
        if name is not None:
            if name not in files:
                hint = choices("topologies", name, list(files))
                raise UsageError(f"{self.topology_folder} has no topology {name!r}; {hint}")
            return name, files[name]
        if len(files) > 1:
            raise UsageError(
                f"{self.topology_folder} has {len(files)} topologies: choose one with -n "
                f"{_listed(list(files))}"
            )
        return next(iter(files.items()))


def _listed(names: list[str]) -> str:
    return f"{', '.join(names[:-1])} or {names[-1]}"


def project_here(config_file: str | None = None) -> Project | None:
    """The project of the current folder, or of `config_file`; None if the folder is not a
    project.

    UsageError for a config.json that is unreadable or not a project's.
    """
    here = os.getcwd()
    if config_file is None:
        return _project_of(here)
    path = os.path.abspath(config_file)
    project = Project(here, path, _read(path))
    if not os.path.isdir(project.topology_folder):
        project = Project(os.path.dirname(path), path, project.config)
    return project


def project_of_file(file: str) -> Project | None:
    """The project in the nearest folder above `file`, or None."""
    folder = os.path.dirname(os.path.abspath(file))
    while True:
        project = _project_of(folder)
        above = os.path.dirname(folder)
        if project is not None or above == folder:
            return project
        folder = above


def _project_of(folder: str) -> Project | None:
    path = os.path.join(folder, CONFIG_FILE)
    if not os.path.isfile(path):
        return None
    try:
        with open(path, encoding="utf-8") as file:
            text = file.read()
    except (OSError, ValueError):
        return None
    # A broken file without our keys, somewhere above, is not for us to complain of.
    if not any(f'"{mark}"' in text for mark in PROJECT_KEYS):
        return None
    return Project(folder, path, _parsed(path, text))


def required(project: Project | None, what: str) -> Project:
    """The project; UsageError stating that `what` needs a project."""
    if project is None:
        path = os.path.join(os.getcwd(), CONFIG_FILE)
        lack = f"{path} has none of the keys of a project ({', '.join(PROJECT_KEYS)})"
        if not os.path.exists(path):
            lack = f"{os.getcwd()} has no {CONFIG_FILE}"
        raise UsageError(
            f"{what} needs a project, but {lack}: change to its folder, or create a project with "
            "`heronpy quickstart NAME`"
        )
    return project


def _read(path: str) -> dict[str, Any]:
    try:
        with open(path, encoding="utf-8") as file:
            return _parsed(path, file.read())
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}") from None


def _parsed(path: str, text: str) -> dict[str, Any]:
    try:
        found = json.loads(text)
    except ValueError as error:
        raise UsageError(f"{path} is not JSON: {error}") from None
    if not isinstance(found, dict):
        raise UsageError(
            f"{path} is not a project's: it must be an object with {', '.join(PROJECT_KEYS)}"
        )
    return found
