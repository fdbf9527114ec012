"""Errors for messages that violate the protocol: sender, fault and remedy in one line."""

from heron_core.errors import ONE_VERSION, ProtocolError
from heron_core.wire.frames import HEADER, Frames, source_of


def malformed(source: int, component: str, fault: str) -> ProtocolError:
    """`source`: the sender's task id; `component`: its component, empty for an unknown task."""
    sender = f"task {source} ({component})" if component else f"task {source}"
    return ProtocolError(f"{sender} sent {fault}: {ONE_VERSION}")


def fault_text(frames: Frames, error: ProtocolError) -> str:
    """The error with the sender's task, if the header has it, and the remedy."""
    text = str(error)
    if ONE_VERSION in text:
        return text
    source = source_of(frames) if frames and len(frames[0]) == HEADER.size else 0
    sender = f"task {source}" if source else "the stream manager"
    return f"{sender} sent a message that cannot be read: {text}: {ONE_VERSION}"
