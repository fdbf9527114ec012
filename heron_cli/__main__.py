"""Entry point of the command: `heronpy`, or `python -m heron_cli`."""

import sys

import click

from heron_cli.main import heronpy
from heron_core.errors import HeronError

INTERRUPTED = 130
"""Exit code after Ctrl-C, as shells have it (128 + SIGINT)."""


def main() -> None:
    """Run the command line; every expected error is one line on stderr and an exit code."""
    try:
        code = heronpy(standalone_mode=False)
    except HeronError as error:
        click.echo(f"heronpy: {error}", err=True)
        code = error.exit_code
    except click.ClickException as error:
        error.show()
        code = error.exit_code
    except (KeyboardInterrupt, click.Abort):
        code = INTERRUPTED
    except BrokenPipeError:  # the reader of our output is gone, as with `| head`
        sys.stderr.close()
        code = 1
    sys.exit(code if isinstance(code, int) else 0)


if __name__ == "__main__":
    main()
