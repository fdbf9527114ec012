"""`heronpy submit`: a topology in the background; it survives the shell."""

import os
import signal
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from heron_cli.configure import (
    check_scheduler,
    config_layer,
    configured,
    reconfigured,
    refuse_autoscaling,
)
from heron_cli.dry_run import show_plan
from heron_cli.explain import Settling, show_config
from heron_cli.loading import load_in_child
from heron_cli.operations import goes_on
from heron_cli.options.cluster import with_cluster
from heron_cli.options.common import SparseCommand, ignored, stacked
from heron_cli.options.numbers import wait_option
from heron_cli.options.savepoint import SavepointOptions, with_savepoint_options
from heron_cli.options.source import SourceOptions, with_source_options
from heron_cli.options.spark import SparkCommandOptions, with_spark_options
from heron_cli.options.state_store import (
    check_private,
    insecure_option,
    store_url,
    zookeeper_option,
)
from heron_cli.options.topology import DryRun, TopologyOptions, with_topology_options
from heron_cli.resolve_source import TopologySource, resolve
from heron_cli.start_reasons import StartReasons
from heron_core import config as keys
from heron_core.errors import HeronError
from heron_core.plans import TopologyState
from heron_core.records import replace
from heron_core.state_tree import execution_path
from heron_core.stats import CheckpointStats, QueryStats, TopologyStats
from heron_core.topology import TopologySpec
from heron_engine.scheduler.backends.local import LocalBackend
from heron_engine.scheduler.backends.protocol import SelfRunning, Supervised
from heron_io.disk_space import shortage
from heron_io.polling import POLL_SECS, wait_until
from heron_io.state_store.protocol import StateStore

if TYPE_CHECKING:
    from heron_engine.scheduler.backends.protocol import Backend
    from heron_engine.scheduler.clusters.config import ClusterConfig
    from heron_engine.scheduler.submission import Submission

sparse_options = stacked(
    ignored("-j", "--local-jar-path", metavar="FILE"),
    ignored("-R", "--remote-jar-path", metavar="PATH"),
    ignored("-u", "--uber-jar"),
    ignored("-r", "--requirements", metavar="FILE...", multiple=True),
    ignored("--overwrite-virtualenv"),
    ignored("--pool-size", metavar="N"),
    ignored("--timeout", metavar="MS"),
    ignored("--user", metavar="USER"),
)

CLUSTER_POLL_SECS = 0.5
"""Each look reads the state store some times, which is the API server on Kubernetes; a start on a
cluster takes seconds."""


@click.command("submit", cls=SparseCommand)
@with_source_options
@with_topology_options
@with_savepoint_options
@click.option("-f", "--force", is_flag=True, help="First kill a running topology of the same name.")
@click.option(
    "-i",
    "--inactive",
    "--deactivated",
    "deactivated",
    is_flag=True,
    help="Start the topology inactive; `heronpy activate` starts its spouts.",
)
@wait_option("With --force: time limit for tuples in flight of the killed topology.")
@click.option(
    "--wait-for-room",
    "waits_for_capacity",
    is_flag=True,
    help="Wait while the cluster lacks resources, and print the missing ones.",
)
@click.option("--no-hooks", is_flag=True, help="Do not call the project's pre_submit, post_submit.")
@zookeeper_option
@insecure_option
@with_cluster
@with_spark_options
@sparse_options
@click.argument("arguments", nargs=-1, metavar="[-- ARGUMENTS]...")
def submit_command(
    source_options: SourceOptions,
    topology_options: TopologyOptions,
    dry_run: DryRun,
    force: bool,
    deactivated: bool,
    wait_secs: float,
    waits_for_capacity: bool,
    no_hooks: bool,
    zookeeper: str | None,
    insecure: bool,
    cluster: "ClusterConfig | None",
    spark: SparkCommandOptions,
    saved: SavepointOptions,
    arguments: tuple[str, ...],
) -> int:
    """Start a topology in the background, and return when all its instances run.

    FILE is a Python file, a Flux file (.yaml), a file of SQL (.sql), a job of Samza (.properties),
    or an archive made by `heronpy package`. Without it, the current folder's project has the
    topology: topologies/NAME.py for -n NAME. The project's pre_submit and post_submit (in tasks.py
    or fabfile.py) are called before and after.
    ARGUMENTS are what FILE's main block finds in sys.argv[1:]; without any, the topology's name.
    With --cluster it runs where the cluster's file says, with --scheduler on the only cluster of
    that kind, else on this machine.

    \b
    heronpy submit topology.py -N words
    heronpy submit -n wordcount -e prod --force
    heronpy submit topology.py --cluster west
    heronpy submit topology.py --scheduler kubernetes
    heronpy submit topology.py --from-savepoint ~/.heronpy/savepoints/words-20261123-082530
    heronpy submit topology.py --scheduler spark --master spark://host:7077 --zookeeper zk:2181
    heronpy submit topology.py --engine spark --master spark://host:7077 --checkpoint /shared/words
    heronpy stats words; heronpy tail words -f; heronpy kill words
    """
    if cluster is not None:
        spark.check_cluster()
    source = _above(cluster, resolve(source_options))
    if deactivated:
        paused = f"topology.initial.state={TopologyState.PAUSED}"
        topology_options = replace(topology_options, options=(*topology_options.options, paused))
    request = source.request_to_run(
        arguments or None, topology_options.config(), cluster is None and spark.is_local
    )
    loaded = load_in_child(request).result()
    spec = configured(loaded, source, topology_options, spark.compiles)
    if dry_run.explains:
        show_config(Settling(loaded, spec, source, topology_options, spark.compiles), dry_run.form)
        return 0
    where = SubmitTarget(cluster, spark, zookeeper or source.environment.zookeeper, insecure)
    if dry_run.is_asked:
        show_plan(*where.submission(spec, store_url(None)), dry_run.form)
        return 0
    hooked = None if no_hooks else source
    spec = _before(spec, hooked)
    _submit(spec, where, saved, wait_secs if force else None, waits_for_capacity)
    _after(spec, hooked)
    return 0


@dataclass(frozen=True, slots=True)
class SubmitTarget:
    """Target of the topology and of its state."""

    cluster: "ClusterConfig | None"
    spark: SparkCommandOptions
    zookeeper: str | None
    insecure: bool

    def store_url(self) -> str:
        """URL of the state store; UsageError for a store that other users can read, unless
        `insecure`."""
        url = store_url(self.zookeeper) if self.cluster is None else self.cluster.store_url
        check_private(url, self.insecure)
        return url

    def submission(self, spec: TopologySpec, url: str) -> "tuple[Submission, Backend]":
        """The processes to start and their owner."""
        from heron_engine.scheduler.clusters.backends import backend_of
        from heron_engine.scheduler.clusters.config import check_fits
        from heron_engine.scheduler.submission import Submission
        from heron_engine.scheduler.user_folder import Home

        packing, cluster = self.spark.packing(spec), self.cluster
        if cluster is None:
            backend = self.spark.backend(spec.name)
        else:
            check_fits(cluster, packing)
            backend, url = backend_of(cluster), cluster.store_url
        if isinstance(backend, SelfRunning):
            _name_the_autoscaler(spec, backend.node_fields().get("cluster", ""))
        if self.spark.compiles:
            refuse_autoscaling(spec, "in a query of Spark")
        check_scheduler(spec, backend.kind)
        return Submission(spec, packing, url, Home.of_user(), foreground=False), backend


def _name_the_autoscaler(spec: TopologySpec, cluster: str) -> None:
    """On a cluster without a scheduler of ours a command scales the topology."""
    if keys.autoscale_mode(keys.with_defaults(spec.config)) != keys.OFF:
        click.echo(
            f"{spec.name} is scaled by a command: `heronpy autoscale {spec.name} --cluster "
            f"{cluster}`, on any machine with the rights of a submitter",
            err=True,
        )


def _submit(
    spec: TopologySpec,
    where: SubmitTarget,
    saved: SavepointOptions,
    kill_secs: float | None,
    waits_for_capacity: bool,
) -> None:
    """Start the topology; a running topology of equal name is killed first within `kill_secs`,
    unless None."""
    url = where.store_url()
    submission, backend = where.submission(spec, url)
    if where.spark.compiles:
        saved.refuse("--engine spark")
    is_here = backend.kind == LocalBackend.kind
    savepoint = saved.read(spec, submission.packing, submission.home, is_here)
    submission = replace(submission, waits_for_capacity=waits_for_capacity, savepoint=savepoint)
    if kill_secs is not None:
        _kill_old(spec.name, url, kill_secs, where.cluster)
    if not where.spark.compiles:
        submission = saved.begin(submission)
    what, logs = backend.describe(submission), backend.logs(submission)
    _start(submission, backend, where.cluster)
    number = len(submission.packing.instances)
    click.echo(f"{spec.name} runs with {number} instances, {what}; logs: {logs}")


def _before(spec: TopologySpec, source: TopologySource | None) -> TopologySpec:
    """The topology after the project's pre_submit."""
    if source is None or source.project is None:
        return spec
    from heron_cli.hooks import pre_submit

    return reconfigured(
        spec, pre_submit(source.project.root, spec.name, source.environment, spec.config)
    )


def _after(spec: TopologySpec, source: TopologySource | None) -> None:
    if source is not None and source.project is not None:
        from heron_cli.hooks import post_submit

        post_submit(source.project.root, spec.name, source.environment, spec.config)


def _above(cluster: "ClusterConfig | None", source: TopologySource) -> TopologySource:
    """The source with the cluster's config as the lowest layer."""
    if cluster is None:
        return source
    environment = source.environment
    own, below = config_layer(environment.options), config_layer(cluster.config)
    origins = dict.fromkeys((key for key in below if key not in own), f"cluster {cluster.name}")
    return replace(
        source, environment=replace(environment, options={**below, **own}, origins=origins)
    )


def _kill_old(
    name: str, url: str, wait_secs: float, cluster: "ClusterConfig | None", *, is_over: bool = True
) -> None:
    from heron_cli.commands.control import end
    from heron_cli.running_topology import running, running_names
    from heron_io.state_store.opening import open_store

    with open_store(url) as store:
        runs = name in running_names(store)
    if runs:
        with running(name, url) as topology:
            folder = None if cluster is None else os.path.dirname(cluster.file)
            end(topology, wait_secs, folder, is_over=is_over)
        click.echo(f"{name} is killed")


def _start(submission: "Submission", backend: "Backend", cluster: "ClusterConfig | None") -> None:
    """Start the topology and wait until all processes are up."""
    from heron_engine.scheduler.daemon import start
    from heron_engine.scheduler.registration import deploy, register

    register(submission, backend)
    scheduler = None
    if isinstance(backend, SelfRunning):
        deploy(submission, backend)
    else:
        assert isinstance(backend, Supervised)
        child = start(submission, backend)
        scheduler = child.pid
        # The daemon has a lifeline of its own; the command's must not end the daemon.
        os.close(child.lifeline)
    name = submission.topology.name
    with goes_on(f"{name} is starting: to stop the topology, run `heronpy kill {name}`"):
        try:
            _wait_until_ready(submission, submission.ready_secs(backend.ready_secs), scheduler)
        except NotRestored:
            if scheduler is not None:
                os.kill(scheduler, signal.SIGTERM)
                os.waitpid(scheduler, 0)
            else:
                _kill_old(name, submission.store_url, 0.0, cluster, is_over=False)
            raise


class NotRestored(HeronError):
    """The topology cannot restore the state: end the topology and keep the state."""


def _wait_until_ready(submission: "Submission", ready_secs: float, scheduler: int | None) -> None:
    """Wait until every instance has reported; HeronError with the missing or failed parts."""
    from heron_io.master_client import MasterClient
    from heron_io.state_store.opening import open_store

    name, expected = submission.topology.name, len(submission.packing.instances)
    up, began = 0, time.monotonic()
    with open_store(submission.store_url) as store, MasterClient(store, name) as client:
        reasons = StartReasons(store, name)

        def is_ready() -> bool:
            nonlocal up
            stats = client.try_stats(wait_secs=1.0)
            up = sum(component.up for component in stats.components.values()) if stats else up
            ready = up == expected or (isinstance(stats, QueryStats) and stats.ready)
            if not ready and (text := reasons.changed(time.monotonic() - began)):
                click.echo(text, err=True)
            if isinstance(stats, TopologyStats) and stats.checkpoints is not None:
                _check_restored(submission, stats.checkpoints)
                ready = ready and stats.checkpoints.released
            return ready or _has_ended(submission, store, scheduler)

        poll_secs = CLUSTER_POLL_SECS if scheduler is None else POLL_SECS
        if wait_until(is_ready, ready_secs, poll_secs):
            return
    where = "its job's page" if scheduler is None else f"`heronpy tail {name}`"
    why = shortage(submission.home.path) or reasons.last or f"look at {where}"
    raise HeronError(
        f"{name}: {up} of {expected} instances run after {ready_secs:.0f} s; it was "
        f"left running: {why}, end it with `heronpy kill {name}`"
    )


def _check_restored(submission: "Submission", checkpoints: CheckpointStats) -> None:
    """NotRestored if no instance can restore the given state."""
    if submission.has_state and checkpoints.restore_failure:
        raise NotRestored(
            f"{submission.topology.name} is not started: {checkpoints.restore_failure}"
        )


def _has_ended(submission: "Submission", store: StateStore, scheduler: int | None) -> bool:
    """Whether the topology's work is done already; HeronError if its scheduler ended otherwise."""
    from heron_engine.scheduler.outcomes import outcome_of

    name = submission.topology.name
    if scheduler is None:
        state = store.get(execution_path(name)) or {}
        if state.get("state") == TopologyState.FAILED:
            raise HeronError(f"{name} failed: {state['reason']}")
        return bool(state.get("state") == TopologyState.ENDED)
    if not os.waitpid(scheduler, os.WNOHANG)[0]:
        return False
    outcome = outcome_of(submission.home, name)
    if outcome.get("state") != TopologyState.ENDED:
        raise HeronError(f"{name} failed: {outcome.get('reason', 'its scheduler died')}")
    return True
