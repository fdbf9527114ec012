"""Files: lines, JSON, Parquet; sinks that write part files, and the spout of lines."""
