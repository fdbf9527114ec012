"""Runs components of pystorm and streamparse, ours or the installed ones, inside an instance.

The adapter leaves the user's object and its class unchanged. Functions on the object lead straight
to the instance and shadow the inherited emit, ack, fail and read_tuple, unless the user's class
overrides the method. Remaining calls into the library's code end in its serializer, whose peer is
the instance's process (in_process.py), so every override works.
"""
