"""`heronpy run`: a topology in the foreground, watched until it ends."""

import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

import click

from heron_cli.configure import check_scheduler, configured, refuse_autoscaling
from heron_cli.explain import Settling, show_config
from heron_cli.loading import load_in_child
from heron_cli.options.common import SparseCommand
from heron_cli.options.numbers import Seconds
from heron_cli.options.savepoint import SavepointOptions, with_savepoint_options
from heron_cli.options.source import SourceOptions, with_source_options
from heron_cli.options.spark import LOCAL, SparkCommandOptions, with_spark_options
from heron_cli.options.state_store import insecure_option
from heron_cli.options.topology import DryRun, TopologyOptions, with_topology_options
from heron_cli.resolve_source import resolve
from heron_core import config as keys
from heron_core.errors import UsageError
from heron_core.exit_codes import INCOMPLETE
from heron_core.records import replace
from heron_core.topology import TopologySpec

if TYPE_CHECKING:
    from heron_core.stats import TopologyStats
    from heron_engine.scheduler.submission import Submission


@click.command("run", cls=SparseCommand)
@with_source_options
@with_topology_options
@with_savepoint_options
@click.option(
    "-t",
    "--time",
    "seconds",
    type=Seconds(),
    metavar="SECONDS",
    help="Stop after this long; 0 (the default): run until the topology ends.",
)
@click.option(
    "--until-done/--keep-running",
    default=True,
    show_default=True,
    help="End when all spouts have finished and every tuple is processed.",
)
@click.option(
    "--zookeeper",
    metavar="embedded|HOST:PORT[/ROOT]",
    help=(
        "Use ZooKeeper as state store: the address of a running server, or `embedded` to start "
        "one for this run."
    ),
)
@insecure_option
@with_spark_options
@click.option(
    "--ui",
    is_flag=True,
    help="Also serve the pages of `heronpy ui`, and print their address.",
)
@click.option(
    "--log-level",
    type=click.Choice(list(keys.LOG_LEVELS)),
    help=(
        "Show log lines of components from this level (default: warning); log files have all "
        "levels."
    ),
)
@click.option("--program", is_flag=True, hidden=True)
@click.argument("arguments", nargs=-1, metavar="[-- ARGUMENTS]...")
def run_command(
    source_options: SourceOptions,
    topology_options: TopologyOptions,
    dry_run: DryRun,
    seconds: float | None,
    until_done: bool,
    zookeeper: str | None,
    insecure: bool,
    spark: SparkCommandOptions,
    saved: SavepointOptions,
    ui: bool,
    log_level: str | None,
    program: bool,
    arguments: tuple[str, ...],
) -> int:
    """Run a topology on this machine, in the foreground, and show what it does.

    FILE is a Python file, a Flux file (.yaml), a file of SQL (.sql), a job of Samza (.properties),
    or an archive made by `heronpy package`. Without it, the current folder's project has the
    topology: topologies/NAME.py for -n NAME.
    ARGUMENTS are what FILE's main block finds in sys.argv[1:]; without any, the topology's name.

    What its components print goes to stdout; what they log, our own view and the summary to
    stderr. Ctrl-C lets what is in flight arrive, then ends everything; a second Ctrl-C ends it at
    once.

    \b
    heronpy run examples/word_count.py
    heronpy run topology.py -t 60 -o topology.max.spout.pending=500 --containers 3
    heronpy run                     in a project with one topology
    heronpy run -n wordcount -e prod
    heronpy run topology.py --from-savepoint FOLDER
    heronpy run topology.py --ui
    heronpy run topology.py --engine spark --checkpoint words.checkpoint
    heronpy run topology.py --scheduler spark --master spark://host:7077 -w 4
    """
    spark.check_foreground()
    source = resolve(source_options)
    # `python FILE` calls the command with --program: its arguments are complete, even if empty.
    given = arguments if arguments or program else None
    topology_options = with_log_level(topology_options, log_level)
    loading = load_in_child(source.request_to_run(given, topology_options.config(), spark.is_local))
    # Imported while the child loads the user's file: this is most of the time to the first tuple.
    from heron_cli.foreground_run import ForegroundRun

    loaded = loading.result()
    spec = configured(loaded, source, topology_options, spark.compiles)
    if not spark.compiles:
        check_scheduler(spec, spark.scheduler or LOCAL, refuses=False)
    if dry_run.is_asked:
        _show(Settling(loaded, spec, source, topology_options, spark.compiles), spark, dry_run)
        return 0
    if spark.compiles:
        _check_query(spec, saved, ui, log_level)
        return _query(spec, spark, seconds or None)
    submission = _submission(spec, spark, saved)
    with _state(zookeeper, insecure, ui) as (url, folders):
        launch = saved.begin(replace(submission, store_url=url, remove_at_end=folders))
        run = ForegroundRun.start(launch, spark.backend(spec.name))
        return run.until_end(seconds or None, until_done)


def _query(spec: TopologySpec, spark: SparkCommandOptions, seconds: float | None) -> int:
    """Run the topology as a query of Spark; the exit code."""
    from heron_cli.letters_line import letters_line
    from heron_spark.backend.query_backend import run_here

    began_ms = int(time.time() * 1000)
    code, stats = run_here(spec, spark.options(seconds))
    return ending_code(code, stats, letters_line(spec, stats, began_ms))


def _submission(
    spec: TopologySpec, spark: SparkCommandOptions, saved: SavepointOptions
) -> "Submission":
    """The run, checked before the start: the state store is not yet known."""
    from heron_engine.scheduler.submission import Submission
    from heron_engine.scheduler.user_folder import Home

    packing, home = spark.packing(spec), Home.of_user()
    savepoint = saved.read(spec, packing, home, spark.is_local)
    return Submission(spec, packing, "", home, foreground=True, savepoint=savepoint)


def _check_query(
    spec: TopologySpec, saved: SavepointOptions, ui: bool, log_level: str | None
) -> None:
    """UsageError if an option is not for `--engine spark`."""
    saved.refuse("--engine spark")
    refuse_autoscaling(spec, "in a query of Spark")
    if ui:
        raise UsageError("--ui is not for --engine spark: its topologies have no master to ask")
    if log_level is not None:
        raise UsageError("--log-level is not for --engine spark: its workers' logs have the lines")


def with_log_level(topology_options: TopologyOptions, level: str | None) -> TopologyOptions:
    """The options with `--log-level`, if given."""
    if level is None:
        return topology_options
    word = f'{keys.CONSOLE_LOG_LEVEL}="{level}"'  # YAML takes a bare off for False
    return replace(topology_options, options=(*topology_options.options, word))


def ending_code(code: int, stats: "TopologyStats", letters: str = "") -> int:
    """The exit code of a query that has ended with `code`; prints warnings, dead `letters`, and
    whether the result is incomplete."""
    from heron_cli.run_result import shortfall_line, warning_lines

    for line in warning_lines(stats):
        click.echo(line, err=True)
    if letters:
        click.echo(letters, err=True)
    incomplete = shortfall_line(stats)
    if incomplete:
        click.secho(incomplete, fg="red", bold=True, err=True)
    return code or (INCOMPLETE if incomplete else 0)


def _show(settling: Settling, spark: SparkCommandOptions, dry_run: DryRun) -> None:
    if dry_run.explains:
        show_config(settling, dry_run.form)
        return
    from heron_cli.dry_run import show_plan
    from heron_cli.options.state_store import store_url
    from heron_engine.scheduler.submission import Submission
    from heron_engine.scheduler.user_folder import Home

    spec = settling.topology
    packing, backend = spark.packing(spec), spark.backend(spec.name)
    submission = Submission(spec, packing, store_url(None), Home.of_user(), foreground=True)
    show_plan(submission, backend, dry_run.form)


@contextmanager
def _state(
    zookeeper: str | None, insecure: bool, ui: bool
) -> Iterator[tuple[str, tuple[str, ...]]]:
    """The state store's URL, and folders to remove when the run is over; with `ui` the pages are
    served meanwhile."""
    with ExitStack() as stack:
        url, folders = stack.enter_context(_store(zookeeper, insecure))
        if ui:
            from heron_cli.run_ui import service_beside

            stack.enter_context(service_beside(url))
        yield url, folders


@contextmanager
def _store(zookeeper: str | None, insecure: bool) -> Iterator[tuple[str, tuple[str, ...]]]:
    from heron_cli.options.state_store import private_store_url

    if zookeeper != "embedded":
        yield private_store_url(zookeeper, insecure), ()
        return
    from heron_cli.private_zookeeper import private_zookeeper
    from heron_engine.scheduler.user_folder import Home

    with private_zookeeper(Home.of_user()) as (address, folder):
        click.echo(f"ZooKeeper at {address}", err=True)
        yield f"zk://{address}", (folder,)
