"""Runs a whole topology, or one component, in one process on a virtual clock: for users' tests."""
