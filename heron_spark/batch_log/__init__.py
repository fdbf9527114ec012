"""What the driver, the hosts and the next run share: the checkpoint folder, its jobs and blocks."""
