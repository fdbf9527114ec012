"""`heronpy remove_logs`: the logs of a topology that has ended."""

import os
from collections.abc import Callable, Iterator

import click

from heron_cli.commands.tail import compiled, logs_folder, pattern_option
from heron_cli.environment import LOG_KEYS
from heron_cli.options.common import ignored
from heron_cli.options.find_topology import Target, target_options
from heron_core.errors import HeronError
from heron_core.state_tree import outcome_path, scheduler_path
from heron_engine.scheduler.registration import is_alive
from heron_engine.scheduler.user_folder import Home, is_logs_folder

LOG_PATH_KEY = LOG_KEYS["path"]


@click.command("remove_logs")
@target_options(override=True)
@pattern_option
@click.option(
    "-A",
    "--remove-all-artifacts",
    "everything",
    is_flag=True,
    help="Also remove the record of the last run's end, even with --pattern.",
)
@click.option("--force", is_flag=True, help="Also empty the log files of a running topology.")
@ignored("-w", "--remove-worker-logs")
@ignored("-u", "--user", metavar="USER")
@ignored("--pool-size", metavar="N")
def remove_logs_command(target: Target, pattern: str | None, everything: bool, force: bool) -> None:
    """Remove the logs of the topology NAME and the record of its last end, and print the files.

    Removed are the logs of all processes, and the Python logs (pystorm_NAME_…) in the folder `log`
    of the environment in config.json, without a question. Logs of a running topology are emptied
    only with --force. States for the next run stay: `run` and `submit` --fresh remove these.

    \b
    heronpy remove_logs wordcount
    heronpy remove_logs -n wordcount --pattern 'count_bolt'
    """
    name = target.name()
    runs = _runs(target, name)
    if runs and not force:
        raise HeronError(f"{name} is running: `heronpy kill {name}` first, or use --force")
    wanted = compiled(pattern)
    folder = logs_folder(target, name)
    if not is_logs_folder(folder, name):
        raise HeronError(
            f"{folder} is not a folder of heronpy's for logs of {name}: nothing is removed"
        )
    if not runs and folder == Home.of_user().logs(name):
        folder = os.path.dirname(folder)
    files = [*_files(folder, Home.of_user().states(name)), *_python_logs(target, name)]
    outcome = Home.of_user().outcome_file(name)
    removed = [file for file in files if _is_wanted(file, outcome, wanted, pattern, everything)]
    for file in removed:
        os.truncate(file, 0) if runs else os.remove(file)
        click.echo(file)
    if outcome in removed or (not runs and pattern is None):
        with target.store_options.store() as store:
            store.delete(outcome_path(name))
    click.echo(f"{len(removed)} files {'emptied' if runs else 'removed'}")


def _is_wanted(
    path: str, outcome: str, wanted: Callable[[str], bool], pattern: str | None, everything: bool
) -> bool:
    """With a pattern, the record of the run's end stays unless all logs are removed."""
    if path == outcome:
        return pattern is None or everything
    return wanted(os.path.basename(path))


def _runs(target: Target, name: str) -> bool:
    with target.store_options.store() as store:
        return is_alive(store.get(scheduler_path(name)))


def _files(folder: str, states: str) -> Iterator[str]:
    for path, folders, files in os.walk(folder):
        folders[:] = [each for each in folders if os.path.join(path, each) != states]
        yield from (os.path.join(path, file) for file in sorted(files))


def _python_logs(target: Target, name: str) -> Iterator[str]:
    """Logs that pystorm's rule names: pystorm_{topology}_{component}_{task}_{pid}.log."""
    folder = target.store_options.option(LOG_PATH_KEY)
    if isinstance(folder, str) and os.path.isdir(folder):
        for each in sorted(os.listdir(folder)):
            if each.startswith(f"pystorm_{name}_"):
                yield os.path.join(folder, each)
