"""Calls `heronpy` with the arguments of streamparse's functions; builds the parsers of `sparse`."""

import argparse
import json
import subprocess
import sys
from collections.abc import Callable, Mapping
from typing import Any

Add = Callable[[argparse.ArgumentParser], None]


def heronpy(command: str, *arguments: str, **options: Any) -> None:
    """Run `heronpy COMMAND ARGUMENTS` with the options; SystemExit with the exit code on failure.

    Options that are None, False or empty are left out; True is a flag, a list repeats the option
    for each item, and a mapping repeats KEY=VALUE for each key.
    """
    words = [command, *arguments]
    for name, value in options.items():
        words += _words(f"--{name.replace('_', '-')}", value)
    sys.stdout.flush()
    sys.stderr.flush()
    # -P: modules in the working directory must not shadow heronpy's
    done = subprocess.run([sys.executable, "-P", "-m", "heron_cli", *words], check=False)
    if done.returncode:
        raise SystemExit(done.returncode)


def _words(option: str, value: Any) -> list[str]:
    if value is None or value is False or value == "":
        return []
    if value is True:
        return [option]
    if isinstance(value, Mapping):
        value = [f"{key}={json.dumps(each)}" for key, each in value.items()]
    if isinstance(value, (list, tuple)):
        return [word for each in value for word in (option, str(each))]
    return [option, str(getattr(value, "name", value))]  # --config comes as an open file


def hook(name: str, main: Callable[[Any], None], *adds: Add) -> Callable[[Any], None]:
    """Returns the `subparser_hook` of a command: adds command `name` with the options and
    `main(args)`."""

    def subparser_hook(subparsers: Any) -> None:
        """Add the command to `sparse`."""
        text = (main.__doc__ or "").strip()
        parser = subparsers.add_parser(name, description=text, help=text)
        parser.set_defaults(func=main)
        for add in adds:
            add(parser)

    return subparser_hook
