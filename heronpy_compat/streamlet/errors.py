"""Errors of the streamlet API: one clear line, and heronpy's type for those who catch it."""

from heron_core.errors import TopologyError


class StreamletError(TopologyError, RuntimeError):
    """A streamlet is built wrongly (heronpy: RuntimeError)."""
