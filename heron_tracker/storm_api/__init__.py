"""The REST of Storm's UI: topologies, resources, graphs and profiling as Storm has them."""
