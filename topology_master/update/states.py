"""The states of an update, and which of them follow each other, and when."""

from heron_core.plans import UpdateStage
from heron_core.transitions import MachineState, Transitions


class UpdateState(MachineState):
    """`stage` is what people are shown of it, `text` what happens meanwhile."""

    ADDING = UpdateStage.CONTAINERS, "the added containers start, data flows"
    DRAINING = UpdateStage.DRAIN, "the spouts pause until no tuple is in flight"
    SAVING = UpdateStage.SAVE, "spouts defer fail, and instances save the state that moves"
    CHECKPOINTING = UpdateStage.CHECKPOINT, "the spouts pause for a checkpoint"
    STARTING = UpdateStage.INSTANCES, "the new plan is active: instances take their states"
    RETURNING = UpdateStage.CONTAINERS, "the containers of the previous plan come back"
    SAVING_BACK = (
        UpdateStage.CHECKPOINT,
        ("a checkpoint of the tuples that the new plan has processed"),
    )
    RESTARTING = UpdateStage.INSTANCES, "the previous plan is active: instances take their states"
    DONE = None, "the spouts resume by the new plan"
    CANCELLED = None, "nothing has changed"
    ROLLED_BACK = None, "the spouts resume by the previous plan"

    def __init__(self, stage: UpdateStage | None, text: str) -> None:
        self.stage = stage
        self.text = text


TRANSITIONS = Transitions(
    "an update",
    begins={
        UpdateState.ADDING: "an update is asked for, or a master takes over before the switch",
        UpdateState.STARTING: "a master takes over after the switch",
        UpdateState.RETURNING: "a new master takes over during a rollback, before its switch",
        UpdateState.RESTARTING: "a new master takes over during a rollback, after its switch",
    },
    after={
        UpdateState.ADDING: {
            UpdateState.DRAINING: "all containers are registered",
            UpdateState.CHECKPOINTING: "all containers are registered, and checkpoints are taken",
            UpdateState.STARTING: (
                "all containers are registered while a checkpoint is being restored"
            ),
            UpdateState.CANCELLED: "a container is late, or a person cancels",
        },
        UpdateState.DRAINING: {
            UpdateState.SAVING: "all affected tuples are processed, and states move",
            UpdateState.STARTING: "all affected tuples are processed",
            UpdateState.CANCELLED: "a spout that ends has tuples in flight, or a person cancels",
        },
        UpdateState.SAVING: {
            UpdateState.STARTING: "all have saved",
            UpdateState.CANCELLED: "a state is not saved, or a person cancels",
        },
        UpdateState.CHECKPOINTING: {
            UpdateState.STARTING: "the checkpoint is complete, or one is being restored",
            UpdateState.CANCELLED: "the checkpoint failed, or a person cancels",
        },
        UpdateState.STARTING: {
            UpdateState.DONE: "all instances work by the new plan",
            UpdateState.RETURNING: "an instance cannot, or a person cancels while all wait",
        },
        UpdateState.RETURNING: {
            UpdateState.RESTARTING: "all containers are registered",
            UpdateState.SAVING_BACK: "all instances had their states by the new plan meanwhile",
        },
        UpdateState.SAVING_BACK: {
            UpdateState.RESTARTING: "the checkpoint is complete, or one is being restored"
        },
        UpdateState.RESTARTING: {
            UpdateState.ROLLED_BACK: "all instances work by the previous plan"
        },
    },
)

CANCELLABLE = frozenset(
    state for state, to in TRANSITIONS.after.items() if UpdateState.CANCELLED in to
)
"""Before the switch: aborting changes nothing."""
ROLLING_BACK = frozenset({UpdateState.RETURNING, UpdateState.SAVING_BACK, UpdateState.RESTARTING})
SWITCHED = frozenset({UpdateState.STARTING, UpdateState.RESTARTING})
"""A plan is new, and instances begin to work by it."""
