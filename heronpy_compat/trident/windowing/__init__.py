"""Windows over the batches of a stream (org.apache.storm.trident.windowing)."""
