"""Calls `heronpy` with what streamparse's functions were given; makes the parsers of `sparse`."""

import argparse
import json
import subprocess
import sys
from collections.abc import Callable, Mapping
from typing import Any

Add = Callable[[argparse.ArgumentParser], None]


def heronpy(command: str, *arguments: str, **options: Any) -> None:
    """Run `heronpy COMMAND ARGUMENTS` with these options; SystemExit with its code if it fails.

    An option that is None, False or empty is left out; True is a flag, a list is given again for
    each of its items, and a mapping for each of its keys as KEY=VALUE.
    """
    words = [command, *arguments]
    for name, value in options.items():
        words += _words(f"--{name.replace('_', '-')}", value)
    sys.stdout.flush()
    sys.stderr.flush()
    # -P: the working directory is no place for modules of ours.
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
    """`subparser_hook` of a command: it adds the command `name` with these options, which runs
    `main(args)`."""

    def subparser_hook(subparsers: Any) -> None:
        """Add this command to `sparse`."""
        text = (main.__doc__ or "").strip()
        parser = subparsers.add_parser(name, description=text, help=text)
        parser.set_defaults(func=main)
        for add in adds:
            add(parser)

    return subparser_hook
