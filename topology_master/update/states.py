"""The states of an update, and which of them follow each other, and when."""

from heron_core.plans import UpdateStage
from heron_core.transitions import MachineState, Transitions


class State(MachineState):
    """`stage` is what people are shown of it, `text` what happens meanwhile."""

    ADDING = UpdateStage.CONTAINERS, "the added containers start, data flows"
    DRAINING = UpdateStage.DRAIN, "the spouts pause until no tuple is in flight"
    SAVING = UpdateStage.SAVE, "spouts defer fail, and instances save what moves"
    CHECKPOINTING = UpdateStage.CHECKPOINT, "the spouts pause for a checkpoint"
    STARTING = UpdateStage.INSTANCES, "the new plan is active: instances take their states"
    RETURNING = UpdateStage.CONTAINERS, "the containers of the former plan come back"
    SAVING_BACK = UpdateStage.CHECKPOINT, "a checkpoint of what the new plan processed after all"
    RESTARTING = UpdateStage.INSTANCES, "the former plan is active: instances take their states"
    DONE = None, "the spouts resume by the new plan"
    CANCELLED = None, "nothing has changed"
    ROLLED_BACK = None, "the spouts resume by the former plan"

    def __init__(self, stage: UpdateStage | None, text: str) -> None:
        self.stage = stage
        self.text = text


TRANSITIONS = Transitions(
    "an update",
    begins={
        State.ADDING: "an update is asked for, or a master takes over before the switch",
        State.STARTING: "a master takes over after the switch",
        State.RETURNING: "a master takes over during a rollback, before its switch",
        State.RESTARTING: "a master takes over during a rollback, after its switch",
    },
    after={
        State.ADDING: {
            State.DRAINING: "all containers are there",
            State.CHECKPOINTING: "all containers are there, and checkpoints are taken",
            State.STARTING: "all containers are there while a checkpoint is being restored",
            State.CANCELLED: "a container is late, or a person cancels",
        },
        State.DRAINING: {
            State.SAVING: "nothing is in flight that matters, and states move",
            State.STARTING: "nothing is in flight that matters",
            State.CANCELLED: "a spout that ends has tuples in flight, or a person cancels",
        },
        State.SAVING: {
            State.STARTING: "all have saved",
            State.CANCELLED: "a state is not saved, or a person cancels",
        },
        State.CHECKPOINTING: {
            State.STARTING: "the checkpoint is complete, or one is being restored",
            State.CANCELLED: "the checkpoint failed, or a person cancels",
        },
        State.STARTING: {
            State.DONE: "all instances work by the new plan",
            State.RETURNING: "an instance cannot, or a person cancels while all wait",
        },
        State.RETURNING: {
            State.RESTARTING: "all containers are there",
            State.SAVING_BACK: "all instances had their states by the new plan meanwhile",
        },
        State.SAVING_BACK: {
            State.RESTARTING: "the checkpoint is complete, or one is being restored"
        },
        State.RESTARTING: {State.ROLLED_BACK: "all instances work by the former plan"},
    },
)

CANCELLABLE = frozenset(state for state, to in TRANSITIONS.after.items() if State.CANCELLED in to)
"""Before the switch: giving up changes nothing."""
GOING_BACK = frozenset({State.RETURNING, State.SAVING_BACK, State.RESTARTING})
SWITCHED = frozenset({State.STARTING, State.RESTARTING})
"""A plan is new, and instances begin to work by it."""
