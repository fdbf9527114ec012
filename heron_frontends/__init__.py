"""From any API to a TopologySpec and to the components that the engine runs."""
