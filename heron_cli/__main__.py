"""Entry point of the command: `heronpy`, or `python -m heron_cli`."""

import sys

import click

from heron_cli.main import heronpy
from heron_core.errors import HeronError, UsageError

INTERRUPTED = 130
"""Exit code after Ctrl-C, as in shells (128 + SIGINT)."""

KINDS_OF_NUMBERS = {
    "a valid float range": "a number",
    "a valid integer range": "a whole number",
    "a valid float": "a number",
    "a valid integer": "a whole number",
}
"""click's names of value types -> words for users; longer names first."""


def main() -> None:
    """Run the command line; every expected error is one line on stderr and an exit code."""
    try:
        code = heronpy(prog_name="heronpy", standalone_mode=False)
    except HeronError as error:
        click.echo(f"heronpy: {error}{_foreign_hint(error)}", err=True)
        code = error.exit_code
    except click.ClickException as error:
        _print_error(error)
        code = error.exit_code
    except ImportError as error:
        code = _print_hidden(error)
    except (KeyboardInterrupt, click.Abort):
        code = INTERRUPTED
    except BrokenPipeError:  # the reader of our output is gone, as with `| head`
        sys.stderr.close()
        code = 1
    sys.exit(code if isinstance(code, int) else 0)


def _print_hidden(error: ImportError) -> int:
    """A module of the user's own may have the name of one of our packages, and come before it on
    the path; any other error of an import is ours, and passes through."""
    name = str(error.name).partition(".")[0]
    module = sys.modules.get(name)
    if module is None or hasattr(module, "__path__"):
        raise error
    text = f"{module.__file__} hides heronpy's own {name!r}: take its folder off PYTHONPATH"
    click.echo(f"heronpy: {text}", err=True)
    return 1


def _print_error(error: click.ClickException) -> None:
    """Print a click error in one line, like our own errors; a call without arguments prints the
    help."""
    if type(error).__name__ == "NoArgsIsHelpError":  # click 8.2
        error.show()
        return
    context = getattr(error, "ctx", None)
    remedy = f" (see {context.command_path} --help)" if context else ""
    text = " ".join(error.format_message().split()).rstrip(".")
    for theirs, ours in KINDS_OF_NUMBERS.items():
        text = text.replace(theirs, ours)
    click.echo(f"heronpy: {text}{_foreign_hint(error) or remedy}", err=True)


def _foreign_hint(error: Exception) -> str:
    """Hint for a rejected command line of Heron or Storm; empty for any other."""
    if not isinstance(error, UsageError | click.UsageError):
        return ""
    from heron_cli.foreign_commands import hint

    ours = hint(sys.argv[1:])
    return f"; the command here is `{ours}`" if ours else ""


if __name__ == "__main__":
    main()
