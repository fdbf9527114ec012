"""Autoscaling: how many instances each bolt needs, and when to change their number."""
