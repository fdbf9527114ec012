"""Runs components of pystorm and streamparse, ours or the installed ones, inside an instance.

The user's object stays what it is; nothing is put above its class. What it inherits from the
library (emit, ack, fail, read_tuple) is shadowed on the object by functions that go straight to
the instance, unless the user's class has its own. What then still reaches the library's code ends
in its serializer, whose other end is this process (in_process.py), so every override works.
"""
