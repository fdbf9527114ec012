"""Storm's words for the states of a topology: pure."""

from collections.abc import Mapping

from heron_core.plans import TopologyState

STATUS: Mapping[str, str] = {
    TopologyState.RUNNING: "ACTIVE",
    TopologyState.PAUSED: "INACTIVE",
    TopologyState.KILLED: "KILLED",
}


def storm_status(state: str) -> str:
    """Storm's word; of a state that Storm does not have our own."""
    return STATUS.get(state, str(state))
