"""`heronpy completion`: the script for a shell's completion of commands, options and names."""

import os

import click

from heron_core.errors import UsageError

SHELLS = ("bash", "zsh", "fish")
HOW_TO_KEEP = {
    "bash": "heronpy completion bash > ~/.local/share/bash-completion/completions/heronpy",
    "zsh": "heronpy completion zsh > ~/.zfunc/_heronpy    (a folder of $fpath, before compinit)",
    "fish": "heronpy completion fish > ~/.config/fish/completions/heronpy.fish",
}
VARIABLE = "_HERONPY_COMPLETE"
"""Environment variable by which the script calls the command (click's rule, from the command's
name)."""


@click.command("completion")
@click.argument("shell", required=False, type=click.Choice(SHELLS))
def completion_command(shell: str | None) -> None:
    """Print the completion script for SHELL; without it, for the shell in $SHELL.

    It completes commands, options, names of topologies and environments, and files. Where to put
    it is said on stderr.

    \b
    heronpy completion bash > ~/.local/share/bash-completion/completions/heronpy
    source <(heronpy completion bash)
    """
    shell = shell or os.path.basename(os.environ.get("SHELL", ""))
    if shell not in SHELLS:
        raise UsageError(f"name the shell: `heronpy completion {'|'.join(SHELLS)}`")
    click.echo(script(shell, click.get_current_context().find_root().command))
    click.echo(f"# to install the script: {HOW_TO_KEEP[shell]}", err=True)


def script(shell: str, root: click.Command) -> str:
    """click's completion script for the command `root`, under the name heronpy."""
    from click.shell_completion import get_completion_class

    shell_class = get_completion_class(shell)
    assert shell_class is not None
    return shell_class(root, {}, "heronpy", VARIABLE).source()
