"""A process that holds an ephemeral node: URL [with-children] [ended-child] [states]."""

import os
import subprocess
import sys

from tests.store.store_support import open_impatient

url, modes = sys.argv[1], sys.argv[2:]
store = open_impatient(url)
store.create("/tmasters/wordcount", {"host": "a-host", "pid": os.getpid()}, ephemeral=True)
if "with-children" in modes:
    forked = os.fork()
    if forked == 0:
        sys.stdin.read()
        os._exit(0)
    executed = subprocess.Popen([sys.executable, "-c", "import sys; sys.stdin.read()"])
    print(forked, executed.pid, flush=True)
if "ended-child" in modes:
    forked = os.fork()
    if forked == 0:
        store.put("/written/by-child", 1)
        store.close()
        os._exit(0)
    os.waitpid(forked, 0)
if "states" in modes:
    store.on_session(lambda state: print(state, flush=True))
print("ready", flush=True)
sys.stdin.read()
store.close()
