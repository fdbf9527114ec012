"""What a process says to its supervisor on its status pipe.

A status pipe carries single bytes, HEARTBEAT and RELOAD; every other byte belongs to the text that
says why the process ends.
"""

HEARTBEAT = b"\0"
RELOAD = b"\1"
"""The plan has changed, look at it again: a topology is scaled while it runs."""
HEARTBEAT_SECS = 0.5
"""Between two heartbeats at least: a process may ask for one as often as it likes."""
STATUS_PIPE_BYTES = 65536
"""All that a pipe may hold, and so the most that one read can return."""
REASON_BYTES_MAX = 4096
"""What a process may say about its end; a pipe holds more, so writing it never blocks."""
