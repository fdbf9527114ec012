"""An environment of a project's config.json: what it says about a topology, and what is ignored.

Keys and rules of streamparse 5 (streamparse.util.get_env_config, streamparse.cli.common). Of our
own is `zookeeper`: "HOST:PORT[/ROOT]", where the environment keeps the state of its topologies.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from heron_cli.project import ENVIRONMENTS, Project
from heron_core.errors import UsageError
from heron_core.validation import choices

NIMBUS_VARIABLE = "STREAMPARSE_NIMBUS"
"""Environment variable that replaces the key `nimbus`."""
ZOOKEEPER_SCHEME = "zk://"
SERIALIZERS = ("json", "msgpack")

LOG_KEYS = {
    "path": "pystorm.log.path",
    "file": "pystorm.log.file",
    "max_bytes": "pystorm.log.max_bytes",
    "backup_count": "pystorm.log.backup_count",
    "level": "pystorm.log.level",
}
"""Key of the environment's `log` -> key of the topology's config."""
OLD_LOG_KEYS = {"log_path": "pystorm.log.path", "log_file": "pystorm.log.file"}
IGNORED_KEYS = (
    "user", "ssh_password", "ssh_port", "nimbus", "workers", "virtualenv_root", "virtualenv_path",
    "use_virtualenv", "install_virtualenv", "virtualenv_flags", "virtualenv_name",
    "use_ssh_for_nimbus", "ui.port",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class NamedEnvironment:
    """One environment; without environments an empty object without a name."""

    name: str | None = None
    config: Mapping[str, Any] = field(default_factory=dict)
    """Content of config.json, with `nimbus` from the environment variable."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """Config of the environment's topologies, below their own."""
    ignored: tuple[str, ...] = ()
    """Recognised keys without effect here."""
    zookeeper: str | None = None
    """HOST:PORT[/ROOT] of the state store, None for files."""
    origins: Mapping[str, str] = field(default_factory=dict)
    """Key of `options` -> origin, for keys from outside config.json."""


def environment_of(project: Project, name: str | None) -> NamedEnvironment:
    """The environment called `name`, or the only environment; UsageError if ambiguous.

    A project without environments is valid unless `name` is given.
    """
    environments = environments_in(project)
    if name is None and not environments:
        return _environment(project, None, {})
    if name is None:
        if len(environments) > 1:
            raise UsageError(
                f"{project.config_file} has {len(environments)} environments: choose one with -e "
                f"({', '.join(environments)})"
            )
        name = next(iter(environments))
    if name not in environments:
        hint = choices("environments", name, environments)
        raise UsageError(f"{project.config_file} has no environment {name!r}; {hint}")
    return _environment(project, name, environments[name])


def environments_in(project: Project) -> dict[str, Mapping[str, Any]]:
    """name -> content of config.json, for each environment."""
    environments = project.config.get(ENVIRONMENTS) or {}
    if not isinstance(environments, dict) or not all(
        isinstance(each, dict) for each in environments.values()
    ):
        raise UsageError(f"{project.config_file}: {ENVIRONMENTS} must map names to objects")
    return environments


def _environment(project: Project, name: str | None, keys: Mapping[str, Any]) -> NamedEnvironment:
    config = dict(keys)
    nimbus = os.environ.get(NIMBUS_VARIABLE) or config.get("nimbus") or ""
    if nimbus:
        config["nimbus"] = nimbus
    is_ours = str(nimbus).startswith(ZOOKEEPER_SCHEME)
    zookeeper = config.get("zookeeper") or (str(nimbus).removeprefix(ZOOKEEPER_SCHEME) * is_ours)
    return NamedEnvironment(
        name,
        config,
        _options(project, config),
        tuple(key for key in IGNORED_KEYS if config.get(key) and not (key == "nimbus" and is_ours)),
        zookeeper or None,
    )


def _options(project: Project, config: Mapping[str, Any]) -> dict[str, Any]:
    options = config.get("options") or {}
    log = config.get("log") or {}
    for name, value in (("options", options), ("log", log)):
        if not isinstance(value, dict):
            raise UsageError(f"{project.config_file}: {name} must be an object, not {value!r}")
    old = {key: config.get(name) for name, key in OLD_LOG_KEYS.items()}
    new = {key: log.get(name) for name, key in LOG_KEYS.items()}
    logging = {**old, **_said(new)}
    if isinstance(logging.get(LOG_KEYS["level"]), str):
        logging[LOG_KEYS["level"]] = logging[LOG_KEYS["level"]].lower()
    all_options = {**options, **_said(logging)}
    _check_serializer(project, config)
    return all_options


def _said(values: Mapping[str, Any]) -> dict[str, Any]:
    """Without the empty values written by `sparse quickstart`."""
    return {key: value for key, value in values.items() if value not in (None, "")}


def _check_serializer(project: Project, config: Mapping[str, Any]) -> None:
    """Values keep their types here, so either name will do; another one is a typing error."""
    serializer = config.get("serializer", project.config.get("serializer"))
    if serializer is not None and serializer not in SERIALIZERS:
        known = " or ".join(SERIALIZERS)
        raise UsageError(f"{project.config_file}: serializer must be {known}, not {serializer!r}")
