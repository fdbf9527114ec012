"""`heronpy chaos`: faults in a running topology, drawn from a seed, and its recovery."""
