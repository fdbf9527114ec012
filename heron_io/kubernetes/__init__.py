"""Kubernetes' API server: where it is, who we are there, requests and watches."""
