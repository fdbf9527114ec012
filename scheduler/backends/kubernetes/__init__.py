"""Kubernetes as the cluster: a Deployment of one pod for each container of a topology."""
