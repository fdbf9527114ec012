"""How long processes get to end in order: each level longer than the one below takes."""

INSTANCE_SHUTDOWN_SECS = 3.0
SERVICE_SHUTDOWN_SECS = 2.0
"""A topology master or a stream manager, which has no user code to wait for."""
CONTAINER_SHUTDOWN_SECS = 8.0
"""An executor ends its instances first, then its stream manager; on a busy machine more."""
