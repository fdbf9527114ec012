"""Options for starting a topology from saved state."""

import functools
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from heron_cli.options.common import Function, stacked
from heron_core import config as keys
from heron_core.errors import UsageError
from heron_core.plans import PackingPlan
from heron_core.records import replace
from heron_core.topology import TopologySpec

if TYPE_CHECKING:
    from heron_engine.scheduler.savepoints import Savepoint
    from heron_engine.scheduler.submission import Submission
    from heron_engine.scheduler.user_folder import Home

_options = stacked(
    click.option(
        "--from-savepoint",
        metavar="FOLDER",
        help=(
            "Start from the state in FOLDER: a savepoint of `heronpy kill --savepoint`, or "
            "the folder of a completed checkpoint. For EFFECTIVELY_ONCE."
        ),
    ),
    click.option(
        "--allow-non-restored",
        is_flag=True,
        help="With --from-savepoint: drop the state of removed components.",
    ),
    click.option(
        "--trust-savepoint",
        is_flag=True,
        help=(
            "With --from-savepoint: accept a savepoint signed by another key, or unsigned. "
            "Its pickled values can execute code of its author."
        ),
    ),
    click.option(
        "--fresh",
        is_flag=True,
        help="Start from scratch, without the states of the previous run of this name.",
    ),
)


@dataclass(frozen=True, slots=True)
class SavepointOptions:
    """Saved-state options of the command line."""

    from_savepoint: str | None = None
    allow_non_restored: bool = False
    trust_savepoint: bool = False
    fresh: bool = False

    def read(
        self, topology: TopologySpec, packing: PackingPlan, home: "Home", is_here: bool
    ) -> "Savepoint | None":
        """The savepoint, read and checked; None if not given. `is_here`: whether all containers
        run on the machine. HeronError naming a problem of the savepoint."""
        if self.from_savepoint is None:
            if self.allow_non_restored:
                raise UsageError("--allow-non-restored requires --from-savepoint")
            if self.trust_savepoint:
                raise UsageError("--trust-savepoint requires --from-savepoint")
            return None
        if self.fresh:
            raise UsageError(
                "--fresh starts without state, --from-savepoint from one: give one of them"
            )
        from heron_engine.scheduler.savepoints import absolute_url, read_savepoint
        from heron_io.checkpoint_store.signatures import Trust, key_of

        url = absolute_url(self.from_savepoint)
        own = home.topology(topology.name)
        if url == own or url.startswith(own + os.sep):
            raise UsageError(
                f"{url} is in the folder of {topology.name}, which is emptied at the start: "
                "first copy the savepoint elsewhere, or choose another name with -N"
            )
        if not is_here and not topology.config.get(keys.CHECKPOINT_STORE):
            raise UsageError(
                f"--from-savepoint needs {keys.CHECKPOINT_STORE} when containers run on other "
                "machines: set a folder or URL that all of them reach"
            )
        trust = Trust(key_of(home.path), self.trust_savepoint)
        savepoint = read_savepoint(url, topology, packing, self.allow_non_restored, trust)
        for note in savepoint.plan.notes:
            click.echo(note, err=True)
        return savepoint

    def begin(self, submission: "Submission") -> "Submission":
        """The submission with its initial state, reported in a line: a savepoint, the state of a
        previous run, or none. HeronError if the topology cannot restore the state."""
        from heron_engine.scheduler.registration import fresh_start, resumed
        from heron_io.checkpoint_store.signatures import key_of, states_key
        from heron_io.security import Keys

        name = submission.topology.name
        pair = Keys.new(states=states_key(key_of(submission.home.path), name))
        submission = replace(submission, keys=pair)
        if self.fresh or submission.savepoint is not None:
            note = fresh_start(submission)
        else:
            submission = resumed(submission)
            note = f"{name} resumes from {submission.previous}; --fresh starts from scratch"
            note = note if submission.previous is not None else ""
        if note:
            click.echo(note, err=True)
        return submission

    def refuse(self, engine: str) -> None:
        """UsageError for a savepoint on an engine without support."""
        if self.from_savepoint is not None:
            raise UsageError(f"--from-savepoint is for the native engine, not for {engine}")
        if self.fresh:
            raise UsageError(
                f"--fresh is for the native engine; {engine} resumes from its --checkpoint "
                "folder: name a new folder"
            )


def with_savepoint_options(function: Function) -> Function:
    """The options above as one parameter `saved`."""

    @functools.wraps(function)
    def command(**given: Any) -> Any:
        saved = SavepointOptions(given.pop("from_savepoint"), given.pop("allow_non_restored"))
        saved = replace(
            saved, fresh=given.pop("fresh"), trust_savepoint=given.pop("trust_savepoint")
        )
        return function(saved=saved, **given)

    return _options(command)
