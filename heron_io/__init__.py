"""Adapters to the world: sockets, the state store, processes and logs."""
