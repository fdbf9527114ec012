"""What the service knows: the newest snapshot of each topology, its history, its problems."""
