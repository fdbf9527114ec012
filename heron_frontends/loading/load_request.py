"""What to load, as a value that a command can hand to the process that loads it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class LoadRequest:
    """Which topology of which file, and what the file may ask for.

    `heron_frontends.loading.load.load` answers it; this module itself imports nothing.
    """

    file: str
    """A Python file, a Flux file (.yaml, .yml), a file of SQL (.sql) or a job of Samza
    (.properties)."""
    name: str | None = None
    """Which topology, when the file has several; the file's own choice of a name if None."""
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
    """Whether only a picture is wanted: classes that cannot run here are taken as they are."""
    options: Mapping[str, Any] | None = None
    """Config that beats the file's, a command line's: what components need may stand in it."""
    overrides: tuple[str, ...] | None = None
    """The keys of `options` that beat the config of components as well; None for all."""
    below: Mapping[str, Any] | None = None
    """Config under the file's, of an environment: what components need may stand in it."""
    is_to_run: bool = False
    """Whether it is about to run: classes that cannot are errors then."""
    runs_here: bool = False
    """Whether it is to run on this machine: packages and files that it lacks are errors then."""
    likely_name: str | None = None
    """Without a name: the one to take of several, if the file has it."""
