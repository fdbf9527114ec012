"""`heronpy doctor`: checks of the machine, with a remedy for each problem."""

import json
from collections.abc import Iterator

import click

from heron_cli.doctor.results import CheckResult, Section, as_json, lines, problems
from heron_cli.options.cluster import config_path_option
from heron_cli.options.state_store import zookeeper_option


@click.command("doctor")
@zookeeper_option
@config_path_option
@click.option("--quick", is_flag=True, help="Do not run a topology.")
@click.option("--json", "as_one", is_flag=True, help="Print JSON for another program.")
def doctor_command(
    zookeeper: str | None, config_path: str | None, quick: bool, as_one: bool
) -> int:
    """Check the needs of topologies: this installation, this machine, the configured servers, and
    a run of a small topology for a second.

    `absent` marks an optional part, not installed or not configured, with the command for its
    installation; `problem` must be solved before topologies run, and makes the exit code 1.

    \b
    heronpy doctor
    heronpy doctor --zookeeper zk1:2181
    heronpy doctor --quick --json
    """
    sections: list[Section] = []
    for section in _sections(zookeeper, config_path, quick):
        sections.append(section)
        if not as_one:
            click.echo("\n".join(lines(section)))
    if as_one:
        click.echo(json.dumps(as_json(sections), indent=1))
    number = problems(sections)
    if not as_one:
        click.echo(_summary(number))
    return 1 if number else 0


def _sections(zookeeper: str | None, config_path: str | None, quick: bool) -> Iterator[Section]:
    """Yield each result at once: a dead server takes its whole timeout."""
    from heron_cli.doctor.installation import installation_results
    from heron_cli.doctor.machine import machine_results
    from heron_cli.doctor.servers import server_results
    from heron_engine.scheduler.user_folder import Home

    yield Section("This installation", installation_results())
    yield Section("This machine", machine_results(Home.of_user().path))
    yield Section("Servers and clusters", list(server_results(zookeeper, config_path)))
    if not quick:
        yield Section("A topology of this machine", _trial())


def _trial() -> list[CheckResult]:
    from heron_cli.doctor.trial import trial_result

    return [trial_result()]


def _summary(number: int) -> str:
    if not number:
        return "Everything that a topology needs is here."
    return f"{number} problem{'s' if number > 1 else ''}: see the lines above."
