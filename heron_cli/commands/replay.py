"""`heronpy replay`: run a recorded incident again, with the same or with corrected code."""

import json

import click


@click.command("replay")
@click.argument("incident", type=click.Path(), metavar="INCIDENT")
@click.option("--code", type=click.Path(), metavar="FILE",
              help="Run the component of this topology file; by default that of the recorded "
              "path.")  # fmt: skip
@click.option("--until", type=click.IntRange(1), metavar="N",
              help="End in front of the N-th tuple.")  # fmt: skip
@click.option("--break", "breaks_at", type=click.IntRange(1), metavar="N",
              help="Start the debugger in front of the N-th tuple.")  # fmt: skip
@click.option("--pdb", "debugs", is_flag=True,
              help="Start the debugger where user code raises.")  # fmt: skip
@click.option("--external", is_flag=True,
              help="Also run a component that commits to another system.")  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Print JSON for another program.")
def replay_command(
    incident: str,
    code: str | None,
    until: int | None,
    breaks_at: int | None,
    debugs: bool,
    external: bool,
    as_json: bool,
) -> int:
    """Run the recorded input of an instance again, from the recorded state to the failure.

    INCIDENT is a file that `topology.flight.recorder` has written, in the folder `incidents` beside
    the logs. The component runs alone, on a clock with the recorded times; emitted tuples are
    not sent, but compared with the recorded tuples. Calls of user code to files and other systems
    are made again.

    Exit code 0 if user code does not fail, 3 for the recorded failure, 4 for another failure, 1
    if the file cannot be replayed. So `git bisect run heronpy replay INCIDENT` finds the change
    that broke the component.

    \b
    heronpy replay count-2-1764331200000.incident
    heronpy replay count-2-1764331200000.incident --code FILE
    heronpy replay count-2-1764331200000.incident --pdb
    """
    from heron_cli.replaying.report import ReplayReport
    from heron_cli.replaying.run_replay import ReplayRequest, run_replay
    from heron_io.incident_files import read_incident

    read = read_incident(incident)
    end = run_replay(ReplayRequest(read, code, until, breaks_at, debugs, external))
    report = ReplayReport(read.summary, end, until)
    click.echo(json.dumps(report.as_json(), indent=1) if as_json else "\n".join(report.lines()))
    return report.exit_code()
