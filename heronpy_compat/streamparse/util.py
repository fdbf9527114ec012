"""A project's config.json and topologies (streamparse.util).

streamparse's functions for ssh, Storm's Nimbus and UI are importable here; a call raises an error
that names the replacement.
"""

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from glob import glob
from typing import Any, NoReturn

from heron_core.errors import UsageError
from heron_core.validation import choices

_CONFIG_FILE = "config.json"
_NIMBUS_PORT = 6627
_NIMBUS_VARIABLE = "STREAMPARSE_NIMBUS"

_config: Any = None
"""Cache of the first config read by the process (as in streamparse)."""


def get_config(config_file: Any = None) -> Any:
    """The project's config, from `config_file` (open for reading) or from ./config.json.

    UsageError for a missing file or invalid JSON.
    """
    global _config  # noqa: PLW0603 (users' fabfiles rely on one config in a process)
    if _config is None:
        _config = _read_config(config_file)
    return _config


def _read_config(config_file: Any) -> Any:
    import json

    try:
        if config_file is not None:
            return json.load(config_file)
        with open(_CONFIG_FILE, encoding="utf-8") as file:
            return json.load(file)
    except FileNotFoundError:
        raise UsageError(
            f"{_CONFIG_FILE} not found: run this in a streamparse project's directory"
        ) from None
    except ValueError as error:
        raise UsageError(f"{_CONFIG_FILE} is not JSON: {error}") from None


def get_env_config(env_name: str | None = None, config_file: Any = None) -> tuple[str, Any]:
    """Name and settings of an environment; without a name, of the only environment.

    UsageError for an ambiguous or unknown name.
    """
    environments = get_config(config_file).get("envs", {})
    if env_name is None and len(environments) > 1:
        raise UsageError(
            f"{_CONFIG_FILE} has more than one environment: choose one with -e,"
            f" {', '.join(environments)}"
        )
    name = next(iter(environments), "") if env_name is None else env_name
    if name not in environments:
        hint = choices("environments", name, environments)
        raise UsageError(f"{_CONFIG_FILE} has no environment {name!r}; {hint}")
    return name, environments[name]


def get_topology_definition(
    topology_name: str | None = None, config_file: Any = None
) -> tuple[str, str]:
    """Name and file of a topology of the project; without a name, of the only topology.

    UsageError for an ambiguous or unknown name.
    """
    folder = get_config(config_file).get("topology_specs", "topologies/")
    files = sorted(glob(os.path.join(folder, "*.py")))
    known = {os.path.basename(file).removesuffix(".py"): file for file in files}
    if topology_name is None and len(known) > 1:
        raise UsageError(
            f"{folder} has more than one topology: choose one with -n, {', '.join(known)}"
        )
    name = next(iter(known), "") if topology_name is None else topology_name
    if not known:
        raise UsageError(f"{folder} has no topology: write {folder}/NAME.py")
    if name not in known:
        raise UsageError(f"{folder} has no topology {name!r}; {choices('topologies', name, known)}")
    return name, known[name]


def get_topology_from_file(topology_file: str) -> Any:
    """The first Topology class in a file; ValueError for a file without Topology class.

    The file's directory and its sibling src are appended to sys.path.
    """
    from importlib import import_module

    from heronpy_compat.streamparse.dsl.topology import Topology, TopologyType

    directory, file = os.path.split(topology_file)
    sys.path.append(os.path.join(directory, "..", "src"))
    sys.path.append(directory)
    module = import_module(file.removesuffix(".py"))
    for var in vars(module).values():
        if isinstance(var, TopologyType) and var is not Topology:
            return var
    raise ValueError(f"{topology_file} has no topology: define a class derived from Topology")


def get_nimbus_host_port(env_config: Mapping[str, Any]) -> tuple[str, int]:
    """Host and port under "nimbus", or in the variable STREAMPARSE_NIMBUS; UsageError if neither
    is set."""
    address = os.environ.get(_NIMBUS_VARIABLE) or env_config.get("nimbus") or ""
    host, _, port = address.partition(":")
    if not host or not (port or str(_NIMBUS_PORT)).isdigit():
        raise UsageError(f'"nimbus" in {_CONFIG_FILE} must be HOST or HOST:PORT, not {address!r}')
    return host, int(port or _NIMBUS_PORT)


def is_ssh_for_nimbus(env_config: Mapping[str, Any]) -> bool:
    """Whether the environment requests ssh; has no effect here."""
    return bool(env_config.get("use_ssh_for_nimbus", True))


def set_topology_serializer(*_: Any, **__: Any) -> None:
    """Does nothing: tuples of Python components do not travel through a pipe here."""


def die(msg: object, error_code: int = 1) -> NoReturn:
    """Print an error and end the program."""
    print(f"error: {msg}")
    sys.exit(error_code)


def warn(msg: object, error_code: int = 1) -> None:
    """Print a warning."""
    print(f"warning: {msg}")


def print_stats_table(
    header: str,
    data: Any,
    columns: Sequence[str],
    default_alignment: str = "l",
    custom_alignment: Mapping[str, str] | None = None,
) -> None:
    """Print rows (dicts, objects, or lists in the order of `columns`) as a table.

    Alignments are "l", "c" or "r".
    """
    rows = [_row(each, columns) for each in (data if isinstance(data, list) else [data])]
    widths = [max(map(len, column)) for column in zip(columns, *rows, strict=True)]
    sides = [(custom_alignment or {}).get(column, default_alignment) for column in columns]
    print(f"# {header}")
    for row in [list(columns), ["=" * width for width in widths], *rows]:
        cells = [
            _JUSTIFY[side](cell, width)
            for side, cell, width in zip(sides, row, widths, strict=True)
        ]
        print(f"| {' | '.join(cells)} |")


_JUSTIFY: dict[str, Callable[[str, int], str]] = {"l": str.ljust, "c": str.center, "r": str.rjust}


def _row(data: Any, columns: Sequence[str]) -> list[str]:
    if isinstance(data, (list, tuple)):
        return [str(each) for each in data]
    values = data if isinstance(data, dict) else vars(data)
    return [str(values.get(each, "MISSING")) for each in columns]


_INSTEAD = {
    "activate_env": "fabric's env is not used: give the environment with -e",
    "get_logfiles_cmd": "use `heronpy tail NAME`",
    "get_nimbus_client": "use `heronpy submit`, `list` and `kill`",
    "get_nimbus_config": "a component gets the whole config in `initialize`",
    "get_storm_workers": "use `heronpy list`",
    "get_ui_json": "use `heronpy stats NAME --json`",
    "get_ui_jsons": "use `heronpy stats NAME --json`",
    "local_storm_version": "topologies run without Storm",
    "nimbus_storm_version": "topologies run without Storm",
    "prepare_topology": "a topology runs without a JAR: use `heronpy run` or `heronpy submit`",
    "run_cmd": "heronpy does not use ssh: use subprocess",
    "ssh_tunnel": "heronpy does not use ssh: connect to the address of the host",
    "storm_lib_version": "topologies run without Storm",
}
"""Functions of streamparse.util for ssh, Nimbus or a JAR -> replacement"""


def _refusal(name: str) -> Callable[..., NoReturn]:
    def refuse(*_: Any, **__: Any) -> NoReturn:
        raise UsageError(f"streamparse.util.{name}: {_INSTEAD[name]}")

    refuse.__name__ = name
    return refuse


def __getattr__(name: str) -> Any:
    if name not in _INSTEAD:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return _refusal(name)
