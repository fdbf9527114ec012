"""Arrows of the state machines' drawings, taken by the simulation.

`tests/unit` takes each arrow once. The simulation takes arrows together with faults of any kind:
drawn arrows outside of the default seeds are listed, as not simulated.
"""

from collections.abc import Set
from typing import Any

from heron_core.transitions import Transitions
from heron_engine.stream_manager import gates, link
from heron_engine.topology_master import checkpoints, recovery, termination
from heron_engine.topology_master.update.states import TRANSITIONS as UPDATE
from tests.sim.run import arrows_taken
from tests.transitions_seen import Arrow, arrows

WITH_CHECKPOINTS = {"ADDING > CHECKPOINTING", "ADDING > STARTING", "CHECKPOINTING > CANCELLED",
                    "CHECKPOINTING > STARTING", "RETURNING > SAVING_BACK",
                    "SAVING_BACK > RESTARTING"}  # fmt: skip
"""Of an update, in a topology that takes checkpoints."""
WITHOUT_CHECKPOINTS = {"ADDING > DRAINING", "DRAINING > CANCELLED", "DRAINING > SAVING",
                       "DRAINING > STARTING", "SAVING > CANCELLED",
                       "SAVING > STARTING"}  # fmt: skip
ROLLBACK = {"STARTING > RETURNING", "RETURNING > RESTARTING", "RESTARTING > ROLLED_BACK"}
PROBES = {"PROBING > IDLE", "PROBING > PROBING", "PROBING > RESTARTED", "PROBING > WAITING",
          "WAITING > PROBING"}  # fmt: skip
END_WITH_CHECKPOINTS = {"COMMITTING > ENDED", "DRAINING > SAVING", "FINISHING > COMMITTING",
                        "FINISHING > RUNNING", "RUNNING > RUNNING",
                        "SAVING > FINISHING"}  # fmt: skip
END_WITHOUT_CHECKPOINTS = {"DRAINING > FINISHING", "FINISHING > ENDED"}
KILLS = {"COMMITTING > COMMITTING", "COMMITTING > RUNNING", "DRAINING > COMMITTING",
         "DRAINING > ENDED", "RUNNING > COMMITTING", "SAVING > COMMITTING",
         "SAVING > RUNNING"}  # fmt: skip
"""Of the end of a run: a kill, or a fault within moments of it."""
RARE = {
    False: {
        "the end": {*END_WITH_CHECKPOINTS, *KILLS, "DRAINING > RUNNING"},
        "an update": {*WITH_CHECKPOINTS, *ROLLBACK, "ADDING > CANCELLED", "DRAINING > CANCELLED",
                      "DRAINING > STARTING"},
        "a link": {*PROBES, "IDLE > RESTARTED"},
    },
    True: {
        "the end": {*END_WITHOUT_CHECKPOINTS, *KILLS},
        "a checkpoint": {"CHECKING > ABORTED"},
        "an update": {*WITHOUT_CHECKPOINTS, *ROLLBACK, "ADDING > CANCELLED",
                      "CHECKPOINTING > CANCELLED", "RETURNING > SAVING_BACK",
                      "SAVING_BACK > RESTARTING"},
        "a link": {*PROBES, "IDLE > RESTARTED", "WAITING > RESTARTED", "WAITING > WAITING"},
        "a gate": {"ALIGNING > ALIGNING"},
        "a restore": {"BACKING_OFF > RELEASED", "BACKING_OFF > RESTORING",
                      "RESTORING > BACKING_OFF"},
    },
}  # fmt: skip
"""Whether checkpoints are taken -> machine -> the arrows taken by less than three of the default
seeds. Thousands of further seeds take most of the arrows (`python -m tests.sim` lists the rest)."""


def drawn(effectively_once: bool) -> set[Arrow]:
    """All arrows of the machines that such a topology has."""
    machines: list[Transitions[Any]] = [UPDATE, link.TRANSITIONS, termination.TRANSITIONS]
    if effectively_once:
        machines += [gates.TRANSITIONS, recovery.TRANSITIONS, checkpoints.TRANSITIONS]
    return {each for machine in machines for each in arrows(machine)}


def in_words(found: Set[Arrow]) -> list[str]:
    """For people."""
    return sorted(f"{each.machine}: {each.before} > {each.to}" for each in found)


def never_taken(seeds: range, effectively_once: bool) -> list[str]:
    """The arrows taken by the default seeds by chance of their faults, but not by these seeds; a
    seed is run only once."""
    rare = {f"{machine}: {each}" for machine, of in RARE[effectively_once].items() for each in of}
    drawn_words = set(in_words(drawn(effectively_once)))
    assert rare <= drawn_words, f"not drawn any more: {rare - drawn_words}"
    taken = {each for seed in seeds for each in arrows_taken(seed, effectively_once)}
    return sorted(drawn_words - rare - set(in_words(taken)))
