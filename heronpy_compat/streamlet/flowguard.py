"""`python -m heronpy_compat.streamlet.flowguard COMMAND…`: runs the command when stdin ends without
the word `done`, as when the process at its other end is killed."""

import subprocess
import sys

DONE = b"done\n"

if __name__ == "__main__" and sys.stdin.buffer.read() != DONE:
    sys.exit(subprocess.call(sys.argv[1:]))
