"""Pure algorithms: no I/O, and time is an argument."""
