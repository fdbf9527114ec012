"""`heronpy completion`: the script that lets a shell complete our commands, options and names."""

import os

import click

from heron_core.errors import HeronError, UsageError

SHELLS = ("bash", "zsh", "fish")
PLACES = {
    "bash": "heronpy completion bash > ~/.local/share/bash-completion/completions/heronpy",
    "zsh": "heronpy completion zsh > ~/.zfunc/_heronpy    (a folder of $fpath, before compinit)",
    "fish": "heronpy completion fish > ~/.config/fish/completions/heronpy.fish",
}
VARIABLE = "_HERONPY_COMPLETE"
"""Environment variable through which the script asks us (click's rule, from our name)."""


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
        raise UsageError(f"which shell? Say `heronpy completion {'|'.join(SHELLS)}`")
    click.echo(script(shell))
    click.echo(f"# to keep it: {PLACES[shell]}", err=True)


def script(shell: str) -> str:
    """click's completion script for us."""
    from click.shell_completion import get_completion_class

    from heron_cli.main import heronpy

    found = get_completion_class(shell)
    assert found is not None
    return found(heronpy, {}, "heronpy", VARIABLE).source()


def known_names(with_ended: bool) -> list[str]:
    """Topologies that run, and if asked for those that left logs; none if that cannot be told."""
    from heron_cli.options.find_topology import running_names
    from heron_cli.options.state_store import opened, store_url
    from scheduler.user_folder import Home

    found: set[str] = set()
    try:
        with opened(store_url(os.environ.get("HERONPY_ZOOKEEPER"))) as store:
            found.update(running_names(store))
        if with_ended:
            found.update(os.listdir(os.path.dirname(Home.of_user().topology("x"))))
    except (HeronError, OSError):  # a shell that completes has no place for an error
        pass
    return sorted(found)


def topology_names() -> list[str]:
    """Topologies of the project in the current folder."""
    from heron_cli.project import project_here

    try:
        project = project_here()
    except HeronError:
        return []
    return list(project.topology_files()) if project is not None else []


def environment_names() -> list[str]:
    """Environments of the project in the current folder."""
    from heron_cli.environment import environments_in
    from heron_cli.project import project_here

    try:
        project = project_here()
        return list(environments_in(project)) if project is not None else []
    except HeronError:
        return []
