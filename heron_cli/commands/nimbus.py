"""`heronpy nimbus`: Storm's Nimbus for clients of its Thrift interface, as the original sparse."""

import logging
import os
import signal
import sys
from typing import TYPE_CHECKING, Any

import click

from heron_cli.options.cluster import with_cluster
from heron_cli.options.login import token_in_file
from heron_cli.options.serving import host_option, port_option
from heron_cli.options.state_store import (
    check_private,
    insecure_option,
    store_url,
    zookeeper_option,
)
from heron_core.errors import UsageError
from heron_engine.scheduler.user_folder import Home
from heron_io.logs import log_text_to
from heron_tracker.nimbus.server import NimbusOptions, check_address, serve

if TYPE_CHECKING:
    from heron_engine.scheduler.clusters.config import ClusterConfig

MEBIBYTE = 1024 * 1024
_DEFAULTS = NimbusOptions()


@click.command("nimbus")
@port_option(_DEFAULTS.port)
@host_option(
    _DEFAULTS.host, "Address to serve on; an address outside loopback needs TLS and a token."
)
@click.option(
    "--upload-max",
    type=click.IntRange(1, 1024 * 1024),
    default=_DEFAULTS.upload_bytes_max // MEBIBYTE,
    show_default=True,
    metavar="MB",
    help="Largest accepted archive, in MiB.",
)
@click.option(
    "--token-file",
    type=click.Path(),
    metavar="FILE",
    help="Clients have to send the token in FILE.",
)
@click.option(
    "--certificate",
    type=click.Path(),
    metavar="FILE",
    help="Serve TLS with the certificate (chain) in FILE, as PEM.",
)
@click.option(
    "--key", type=click.Path(), metavar="FILE", help="The certificate's private key, as PEM."
)
@click.option(
    "--lein",
    "lein_folder",
    metavar="FOLDER",
    type=click.Path(),
    help="Write a stand-in for Leiningen into FOLDER, for sparse without a JVM, and exit.",
)
@with_cluster
@zookeeper_option
@insecure_option
def nimbus_command(
    port: int,
    host: str,
    upload_max: int,
    token_file: str | None,
    certificate: str | None,
    key: str | None,
    lein_folder: str | None,
    cluster: "ClusterConfig | None",
    zookeeper: str | None,
    insecure: bool,
) -> None:
    """Take topologies from clients of Storm's Nimbus, until Ctrl-C.

    The unmodified sparse of streamparse, and other clients of Storm's Thrift interface, submit,
    list, kill, activate, deactivate and rebalance topologies here; these run as by `heronpy
    submit`, and go on when this command ends. A streamparse project needs no change but the
    address in its config.json; sparse itself comes through ssh from other machines.

    \b
    heronpy nimbus                         then: sparse submit, sparse list, sparse kill
    heronpy nimbus --cluster west          topologies run on this cluster
    heronpy nimbus --lein ~/bin            sparse needs no Leiningen and no JVM then
    heronpy ui --port 8080                 beside it, for sparse stats and worker_uptime
    heronpy nimbus --host 0.0.0.0 --certificate c.pem --key k.pem --token-file token.txt
    """
    if lein_folder is not None:
        _write_lein(lein_folder)
        return
    url = store_url(zookeeper) if cluster is None else cluster.store_url
    check_private(url, insecure)
    log_text_to(logging.StreamHandler(), logging.WARNING)
    logging.getLogger("nimbus").setLevel(logging.INFO)
    options = NimbusOptions(
        host=host,
        port=port,
        upload_bytes_max=upload_max * MEBIBYTE,
        submit_command=submit_command(cluster, zookeeper, insecure),
        token=token_in_file("--token-file", token_file),
        certificate=certificate,
        key=key,
    )
    check_address(options)
    signal.signal(signal.SIGTERM, _interrupt)
    ready = _ready if options.token is None else _ready_with_token
    serve(options, url, Home.of_user().path, ready)


def submit_command(
    cluster: "ClusterConfig | None", zookeeper: str | None, insecure: bool, command: str = "submit"
) -> list[str]:
    """`heronpy COMMAND` with the store or the cluster of this command's own options."""
    words = [sys.executable, "-m", "heron_cli", command]
    if cluster is not None:
        words += ["--cluster", cluster.name, "--config-path", os.path.dirname(cluster.file)]
    elif zookeeper is not None:
        words += ["--zookeeper", zookeeper]
    return [*words, "--insecure"] if insecure else words


def _interrupt(number: int, frame: Any) -> None:
    raise KeyboardInterrupt


def _ready(host: str, port: int) -> None:
    click.echo(f"Nimbus serves Storm's clients at {host}:{port}; Ctrl-C ends it")
    click.echo(f'in config.json: "nimbus": "{host}:{port}", "use_ssh_for_nimbus": false')


def _ready_with_token(host: str, port: int) -> None:
    click.echo(f"Nimbus serves Storm's clients at {host}:{port}; Ctrl-C ends it")
    click.echo("each client calls authenticate with the token first, which sparse does not")


def _write_lein(folder: str) -> None:
    from heronpy_compat.lein import script

    path = os.path.join(folder, "lein")
    if os.path.lexists(path):
        raise UsageError(f"{path} exists already: remove the file, or name another folder")
    os.makedirs(folder, exist_ok=True)
    with open(path, "x", encoding="utf-8") as file:
        file.write(script(sys.executable))
    os.chmod(path, 0o755)
    click.echo(f"{path} replaces Leiningen: put {folder} on PATH before you call sparse")
