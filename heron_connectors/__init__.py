"""Sources and sinks: each with its client and its types in a folder of its own."""
