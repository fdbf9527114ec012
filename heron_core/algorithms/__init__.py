"""Pure algorithms without any knowledge of topologies."""
