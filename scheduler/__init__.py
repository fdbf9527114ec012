"""Packing, restart policy, the container executor and the back ends."""
