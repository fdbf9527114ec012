"""Storm's Java classes as components: a thin Python instance beside a JVM that runs the class.

The instance keeps what an instance of Python has (routes, acks, back-pressure, checkpoints, logs,
metrics); the JVM has the user's object. Between them are two pipes with batches in msgpack
(frames.py, host/Wire.java). Both end together.
"""
