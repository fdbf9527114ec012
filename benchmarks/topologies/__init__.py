"""The topologies that the engine's benchmarks run, written as users of heronpy write theirs."""
