"""Errors for messages that violate the protocol: sender, fault and remedy in one line."""

from heron_core.errors import ProtocolError

REMEDY = "install one version of heronpy on all hosts"
"""Every sender of one version checks its messages: only another version can send such a message."""


def malformed(source: int, component: str, fault: str) -> ProtocolError:
    """`source`: the sender's task id; `component`: its component, empty for an unknown task."""
    sender = f"task {source} ({component})" if component else f"task {source}"
    return ProtocolError(f"{sender} sent {fault}: {REMEDY}")
