"""Options shared by commands, and ignored options of sparse.

Words of a long option may be separated by `-` or `_` (as in sparse).
"""

from collections.abc import Callable, Iterable
from typing import Any

import click

from heron_cli.completers import complete_environment

Function = Callable[..., Any]
Decorator = Callable[[Function], Function]

IGNORED = "heron_cli.ignored"
"""Key in click's meta: the ignored options given."""
NOTED = "heron_cli.noted"
"""Key in click's meta: the note about the ignored options was printed."""
WHY_IGNORED = "heronpy has no ssh, worker virtualenvs, jars, Nimbus or shared worker log"
BOOLEANS = frozenset({"true", "false", "yes", "no", "on", "off"})
"""Possible values of --debug; any other word is a separate argument."""
OF_SPARSE = frozenset(
    f"--{name}"
    for name in (
        "ackers", "all", "component", "config", "debug", "environment", "follow", "force", "format",
        "inactive", "local-jar-path", "name", "num-lines", "option", "output-file", "override-name",
        "overwrite-virtualenv", "pattern", "pool-size", "remote-jar-path", "remove-all-artifacts",
        "remove-worker-logs", "requirements", "simple-jar", "time", "timeout", "uber-jar", "user",
        "wait", "workers",
    )
)  # fmt: skip
"""Options of sparse with argparse-style abbreviations: --env, --req."""
REQUIREMENT_FILES = (".txt", ".in", ".pip")


def with_dashes(word: str) -> str:
    """--num_lines as --num-lines: click's normal form."""
    return word.replace("_", "-")


def stacked(*decorators: Decorator) -> Decorator:
    """Combine decorators, in the order of --help."""

    def decorate(function: Function) -> Function:
        for each in reversed(decorators):
            function = each(function)
        return function

    return decorate


def ignored(*names: str, metavar: str | None = None, multiple: bool = False) -> Decorator:
    """An option of sparse without effect here; `metavar` if the option has a value."""

    def remember(context: click.Context, parameter: click.Parameter, value: Any) -> None:
        if value not in (None, False, ()):
            context.meta.setdefault(IGNORED, []).append(max(parameter.opts, key=len))

    return click.option(
        *names,
        is_flag=metavar is None,
        metavar=metavar,
        multiple=multiple,
        expose_value=False,
        callback=remember,
        help="Option of sparse; accepted and ignored.",
    )


def note_ignored(keys: Iterable[str] = ()) -> None:
    """One line on stderr, once per command, that names ignored options and ignored `keys` of
    config.json."""
    context = click.get_current_context(silent=True)
    meta = {} if context is None else context.meta
    if meta.get(NOTED):
        return
    meta[NOTED] = True
    in_file = ", ".join(keys)
    names = [*meta.get(IGNORED, ()), *([f"in config.json {in_file}"] if in_file else [])]
    if names:
        click.echo(f"note: ignored, as {WHY_IGNORED}: {', '.join(names)}", err=True)


environment_options = stacked(
    click.option(
        "-e",
        "--environment",
        metavar="ENV",
        shell_complete=complete_environment,
        help="Environment of config.json; optional if config.json has only one.",
    ),
    click.option(
        "--config",
        "config_file",
        metavar="FILE",
        type=click.Path(),
        help="File to use instead of config.json in the current folder.",
    ),
)


class SparseCommand(click.Command):
    """Parses the options of sparse whose values click cannot distinguish from arguments.

    Words after `--` are never FILE: they go to the command's argument `arguments`, if declared.
    """

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse `args`; `-d` may lack a value, `-r` may have several."""
        names = {each.name for each in self.params}
        options = {name for each in self.params for name in each.opts}
        end = args.index("--") if "--" in args and "arguments" in names else len(args)
        rest = super().parse_args(ctx, rewritten(args[:end], options))
        if "arguments" in names:
            ctx.params["arguments"] = (*ctx.params["arguments"], *args[end + 1 :])
        return rest


def rewritten(args: list[str], known: Iterable[str]) -> list[str]:
    """`-d` as --debug=true and `-r a.txt b.txt` as -r a.txt -r b.txt, where these are known."""
    known = set(known)
    words = [_in_full(each, known) for each in args]
    if "--debug" in known:
        words = _with_debug_values(words)
    if "--requirements" in known:
        words = _with_single_requirements(words)
    return words


def _in_full(word: str, known: set[str]) -> str:
    """The full name of an abbreviated long option of sparse; any other word unchanged."""
    name, equals, value = word.partition("=")
    short = with_dashes(name)
    if not short.startswith("--") or len(short) < 3 or short in known:
        return word
    meant = [each for each in known & OF_SPARSE if each.startswith(short)]
    return f"{meant[0]}{equals}{value}" if len(meant) == 1 else word


def _with_debug_values(words: list[str]) -> list[str]:
    found: list[str] = []
    for word in words:
        if found and found[-1] == "--debug=true" and word.lower() in BOOLEANS:
            found[-1] = f"--debug={word}"
        else:
            found.append("--debug=true" if word in ("-d", "--debug") else word)
    return found


def _with_single_requirements(words: list[str]) -> list[str]:
    single_words: list[str] = []
    first = more = False
    for word in words:
        if word in ("-r", "--requirements"):
            first = True
        elif first or (more and word.endswith(REQUIREMENT_FILES)):
            single_words += ["--requirements", word]
            first, more = False, True
        else:
            more = False
            single_words.append(word)
    return [*single_words, "--requirements"] if first else single_words
