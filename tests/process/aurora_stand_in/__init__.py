"""A stand-in for Apache Aurora on this machine: the client's command line, and a cluster of one."""
