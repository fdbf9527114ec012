"""Apache Aurora as the cluster: one job whose instances are a topology's containers."""
