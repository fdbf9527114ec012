"""Options shared by the commands of `sparse`, and the resolution of option layers."""

import argparse
import json
from collections.abc import Callable, Mapping
from typing import Any

Parser = argparse.ArgumentParser
VIRTUALENV_OPTIONS = (
    "install_virtualenv",
    "use_virtualenv",
    "virtualenv_flags",
    "virtualenv_name",
    "virtualenv_root",
)


class _StoreDictAction(argparse.Action):
    """KEY=VALUE words as one dict; values are read as YAML."""

    def __call__(
        self, parser: Parser, namespace: Any, values: Any, option_string: str | None = None
    ) -> None:
        import yaml

        key, _, value = values.partition("=")
        found = {**(getattr(namespace, self.dest, None) or {}), key: yaml.safe_load(value)}
        setattr(namespace, self.dest, found)


def option_alias(option: str) -> Callable[[str], str]:
    """argparse action of a shorthand option: maps the value to KEY=VALUE."""
    return lambda value: f"{option}={value}"


def value(*flags: str, **how: Any) -> Callable[[Parser], None]:
    """Returns a function that adds an option with the given `add_argument` arguments to a
    parser."""

    def add(parser: Parser) -> None:
        """Add the option."""
        parser.add_argument(*flags, **how)

    return add


def flag(*flags: str, **how: Any) -> Callable[[Parser], None]:
    """Like `value`, for an option without a value."""
    return value(*flags, **{"action": "store_true", **how})


def _alias(*flags: str, option: str, **how: Any) -> Callable[[Parser], None]:
    return value(*flags, type=option_alias(option), action=_StoreDictAction, dest="options", **how)


add_ackers = _alias("-a", "--ackers", option="topology.acker.executors")
add_config = value("--config", type=argparse.FileType("r"))
add_debug = _alias("-d", "--debug", option="topology.debug", const="true", nargs="?")
add_environment = value("-e", "--environment")
add_name = value("-n", "--name")
add_options = value("-o", "--option", dest="options", action=_StoreDictAction)
add_override_name = value("-N", "--override_name")
add_overwrite_virtualenv = value("--overwrite_virtualenv", action="store_true")
add_pattern = value("--pattern")
add_pool_size = value("--pool_size", default=10, type=int)
add_requirements = value("-r", "--requirements", nargs="*")
add_simple_jar = value("-s", "--simple_jar", action="store_true")
add_timeout = value("--timeout", type=int)
add_wait = value("--wait", type=int, default=5)
add_workers = _alias("-w", "--workers", option="topology.workers")


def add_user(parser: Parser, allow_short: bool = False) -> None:
    """Add --user, and -u if `allow_short` is true."""
    parser.add_argument(*(("-u", "--user") if allow_short else ("--user",)))


def resolve_options(
    cli_options: Mapping[str, Any] | None,
    env_config: Mapping[str, Any],
    topology_class: Any,
    topology_name: str,
    local_only: bool = False,
) -> dict[str, Any]:
    """Effective options: the command line overrides the topology, which overrides the environment.

    Defaults are streamparse's, except for values queried from Storm.
    """
    options = {**env_config.get("options", {}), **_log_options(env_config)}
    if env_config.get("use_virtualenv", True) and "virtualenv_root" in env_config:
        root = env_config["virtualenv_root"]
        options["topology.python.path"] = f"{root}/{topology_name}/bin/python"
    options.update({key: env_config[key] for key in VIRTUALENV_OPTIONS if key in env_config})
    options["sudo_user"] = env_config.get("user")
    options.update(topology_class.config or {})
    options.update(cli_options or {})
    if options.get("topology.debug"):
        options["pystorm.log.level"] = "debug"
    workers = options.get("storm.workers.list") or env_config.get("workers") or []
    options["storm.workers.list"] = [] if local_only else _list(workers)
    for key in ("topology.acker.executors", "topology.workers"):
        if options.get(key) is None:
            options[key] = max(1, len(options["storm.workers.list"]))
    return options


def _list(workers: Any) -> list[str]:
    return workers.split(",") if isinstance(workers, str) else list(workers)


def _log_options(env_config: Mapping[str, Any]) -> dict[str, Any]:
    log = env_config.get("log") or {}
    given = {
        "path": log.get("path") or env_config.get("log_path"),
        "file": log.get("file") or env_config.get("log_file"),
        "max_bytes": log.get("max_bytes"),
        "backup_count": log.get("backup_count"),
        "level": str(log["level"]).lower() if log.get("level") else None,
    }
    return {f"pystorm.log.{key}": value for key, value in given.items() if value}


def with_options(options: Mapping[str, Any] | None) -> dict[str, Any]:
    """`options` in the form of `heronpy -o`; values that JSON cannot represent are left out."""
    return {key: value for key, value in (options or {}).items() if _is_json(value)}


def _is_json(value: Any) -> bool:
    try:
        json.dumps(value)
    except (TypeError, ValueError):
        return False
    return True
