"""What travels between processes: frames, batches, messages, values."""
