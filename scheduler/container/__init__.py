"""One container: its executor, the supervisor of its processes, its entry point."""
