"""`heronpy ui`: the service with the pages, Heron's and Storm's REST, metrics and history."""

import json
import os
from collections.abc import Callable

import click

from heron_cli.commands.nimbus import submit_command
from heron_cli.options.access_log import access_log_of, with_access_log_options
from heron_cli.options.cluster import chosen
from heron_cli.options.find_topology import StoreOptions, with_store_options
from heron_cli.options.login import LoginOptions, with_login_options
from heron_cli.options.serving import host_option, port_option, serve_function
from heron_core.config import JSON, TEXT
from heron_core.records import replace
from heron_engine.scheduler.user_folder import Home
from heron_io.logs import log_json_to_stderr
from heron_tracker.alert_rules import text as rules_text
from heron_tracker.grafana import dashboard
from heron_tracker.options import SubmissionOptions, TrackerOptions
from heron_tracker.pages.notes import NOT_INSTALLED, are_installed

Serve = Callable[[TrackerOptions, str, str, Callable[[str], None]], None]
"""heron_tracker.server.serve"""
_DEFAULTS = TrackerOptions()


@click.command("ui")
@port_option(_DEFAULTS.port)
@host_option(
    _DEFAULTS.host, "Address to serve on; an address outside loopback needs TLS and a login."
)
@with_login_options
@click.option(
    "--grafana",
    is_flag=True,
    help="Print a Grafana dashboard for /metrics as JSON, and exit.",
)
@click.option(
    "--alert-rules",
    is_flag=True,
    help="Print alert rules for Prometheus over /metrics as YAML, and exit.",
)
@click.option(
    "--log-format",
    type=click.Choice([TEXT, JSON]),
    default=TEXT,
    show_default=True,
    help="Format of the service's log on stderr: text, or one JSON object per line.",
)
@with_access_log_options
@with_store_options
def ui_command(
    port: int,
    host: str,
    login: LoginOptions,
    grafana: bool,
    alert_rules: bool,
    log_format: str,
    access_log: str | None,
    access_log_mb: int,
    access_log_files: int,
    store_options: StoreOptions,
) -> None:
    """Show all running topologies in a browser, until Ctrl-C.

    The pages say what holds each topology back. The service also takes the requests of Heron's
    tracker and of Storm's UI, and those of Prometheus at /metrics; docs/UI.md has all of them.

    \b
    heronpy ui
    heronpy ui --port 0
    heronpy ui --grafana > heronpy.json
    heronpy ui --alert-rules > heronpy-alerts.yml
    heronpy ui --host 0.0.0.0 --certificate c.pem --key k.pem --token-file token.txt
    """
    if grafana:
        click.echo(json.dumps(dashboard(), indent=2))
        return
    if alert_rules:
        click.echo(rules_text(), nl=False)
        return
    folder = os.path.join(Home.of_user().path, "tracker")
    requests_log = access_log_of(access_log, access_log_mb, access_log_files, folder)
    options = replace(
        login.options(),
        host=host,
        port=port,
        access_log=requests_log,
        submit=_submit_options(store_options),
    )
    if log_format == JSON:
        log_json_to_stderr("ui")
    serve: Serve = serve_function("heron_tracker.server", "ui")
    serve(options, store_options.store_url(), folder, _ready)


def _submit_options(store_options: StoreOptions) -> SubmissionOptions:
    """Submissions by REST lead to where this command looks for topologies."""
    cluster = chosen(store_options.cluster, store_options.config_path)
    zookeeper = store_options.zookeeper
    return SubmissionOptions(
        command=tuple(submit_command(cluster, zookeeper, insecure=False)),
        update=tuple(submit_command(cluster, zookeeper, insecure=False, command="update")),
        store_url=store_options.store_url(),
        home=Home.of_user().path,
    )


def _ready(address: str) -> None:
    click.echo(f"serving at {address} (routes: {address}/docs); press Ctrl-C to stop")
    if not are_installed():
        click.echo(f"without pages: {NOT_INSTALLED}", err=True)
