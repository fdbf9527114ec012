"""Spark as the cluster: an application whose long-running tasks are a topology's containers."""
