"""Shell completion of the names for options and arguments.

Completion shows no errors: unknown names give no suggestions. Imports are inside the functions,
because completion is called only on a tab.
"""

import os

import click

from heron_core.errors import HeronError

Completions = list[str]


def complete_running(
    context: click.Context, parameter: click.Parameter, incomplete: str
) -> Completions:
    """Running topologies; for commands about logs, also ended topologies."""
    with_ended = context.command.name in ("tail", "remove_logs", "dead_letters")
    return _beginning(running_topologies(with_ended), incomplete)


def complete_project_topology(
    context: click.Context, parameter: click.Parameter, incomplete: str
) -> Completions:
    """Topologies of the project in the current folder."""
    return _beginning(project_topologies(), incomplete)


def complete_environment(
    context: click.Context, parameter: click.Parameter, incomplete: str
) -> Completions:
    """Environments of the project in the current folder."""
    return _beginning(project_environments(), incomplete)


def complete_cluster(
    context: click.Context, parameter: click.Parameter, incomplete: str
) -> Completions:
    """Clusters that have a file in the folder of --config-path."""
    from heron_engine.scheduler.clusters.config import folder_of, names_in

    return _beginning(names_in(folder_of(context.params.get("config_path"))), incomplete)


def _beginning(names: Completions, incomplete: str) -> Completions:
    return [name for name in names if name.startswith(incomplete)]


def running_topologies(with_ended: bool) -> Completions:
    """Running topologies, and on request topologies with logs."""
    from heron_cli.options.state_store import opened, store_url
    from heron_cli.running_topology import running_names
    from heron_engine.scheduler.user_folder import Home

    names: set[str] = set()
    try:
        with opened(store_url(os.environ.get("HERONPY_ZOOKEEPER"))) as store:
            names.update(running_names(store))
        if with_ended:
            names.update(os.listdir(os.path.dirname(Home.of_user().topology("x"))))
    except (HeronError, OSError):
        pass
    return sorted(names)


def project_topologies() -> Completions:
    """Names of the files in the project's folder of topologies."""
    from heron_cli.project import project_here

    try:
        project = project_here()
    except HeronError:
        return []
    return list(project.topology_files()) if project is not None else []


def project_environments() -> Completions:
    """Names of the environments in the project's config.json."""
    from heron_cli.environment import environments_in
    from heron_cli.project import project_here

    try:
        project = project_here()
        return list(environments_in(project)) if project is not None else []
    except HeronError:
        return []
