"""Finding a topology in a file and turning it into a TopologySpec."""
