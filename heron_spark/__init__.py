"""A topology as one query of Spark Structured Streaming: every batch exactly once."""
