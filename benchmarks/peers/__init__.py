"""One module per peer and workload, each runnable alone: `python -m benchmarks.peers.NAME`."""
