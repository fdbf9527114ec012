"""A request to load a topology, as a value passed from a command to the loading process."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class LoadRequest:
    """File and name of a topology, with the options of the load.

    `heron_frontends.loading.load.load` answers a request; this module itself imports nothing.
    """

    file: str
    """A Python file, a Flux file (.yaml, .yml), a file of SQL (.sql) or a job of Samza
    (.properties)."""
    name: str | None = None
    """Name of the topology in a file with several; None leaves the choice to the file."""
    search_paths: tuple[str, ...] = ()
    """Directories for sys.path besides the file's own: a project's root, its src, topologies."""
    environment: str | None = None
    """streamparse's environment: picks the number of a `par` that is a dict."""
    arguments: tuple[str, ...] | None = None
    """sys.argv[1:] of the file's main block; None for the topology's name alone."""
    properties: Mapping[str, str] | None = None
    """What ${name} stands for in a Flux file."""
    use_environment: bool = False
    """Whether ${ENV-NAME} in a Flux file is the environment variable NAME."""
    is_to_draw: bool = False
    """Whether the topology is only drawn: classes that cannot run here are accepted."""
    options: Mapping[str, Any] | None = None
    """Config that overrides the file's, from the command line, including settings of components."""
    overrides: tuple[str, ...] | None = None
    """Keys of `options` that also override the config of components; None for all keys."""
    below: Mapping[str, Any] | None = None
    """Config below the file's, from an environment, including settings of components."""
    is_to_run: bool = False
    """Whether the topology is about to run: classes that cannot run are errors then."""
    runs_here: bool = False
    """Whether the run is on this machine: missing packages and files are errors then."""
    likely_name: str | None = None
    """Preferred name among several if `name` is None."""
