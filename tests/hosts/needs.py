"""Requirements of the laboratory of hosts: Linux namespaces, iptables, a freezer, Java.

`python -m tests.hosts.needs` names the missing parts in one line, and then ends with EXIT_NOT_HERE.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from heron_core.errors import HeronError
from heron_io.java import find_java
from heron_io.state_store.embedded_zookeeper import find_classpath

EXIT_NOT_HERE = 69
"""EX_UNAVAILABLE of sysexits.h: .ci/run goes on without these tests."""
PROGRAMS = {"ip": "iproute2", "ss": "iproute2", "iptables": "iptables", "nsenter": "util-linux",
            "unshare": "util-linux", "curl": "curl"}  # fmt: skip
"""Program -> package in Debian."""
FREEZER = Path("/sys/fs/cgroup/freezer")
"""Of cgroups of version 1; version 2 freezes without this."""
UNIFIED = Path("/sys/fs/cgroup")
_TRY = """
set -e
unshare --uts sh -c 'echo {name} > /proc/sys/kernel/hostname'
ip netns add {name}
ip -n {name} link add bridge type bridge
ip -n {name} link add one type veth peer name two
for rule in "-p tcp -j REJECT --reject-with tcp-reset" "-m statistic --mode random \
--probability 0.3 -j DROP"; do
    nsenter --net=/run/netns/{name} iptables -w -A INPUT $rule
done
"""


def missing() -> str | None:
    """The missing parts, in a line; None if complete."""
    if sys.platform != "linux":
        return "this needs network namespaces, which only Linux has"
    packages = {package for name, package in PROGRAMS.items() if shutil.which(name) is None}
    if packages:
        return f"this needs {', '.join(sorted(packages))}: apt-get install {' '.join(packages)}"
    if os.geteuid() != 0:
        return "this needs network namespaces of its own: run it as root"
    try:
        find_java()
        find_classpath()
    except HeronError as error:
        return str(error)
    return _not_allowed()


def _not_allowed() -> str | None:
    """Refusals of this kernel, or of the container around."""
    name = f"heronpy-{os.getpid()}-try"
    group = freezer_folder() / name
    try:
        group.mkdir()
        group.rmdir()
    except OSError as error:
        return f"this needs control groups of its own: {error}"
    tried = subprocess.run(
        ["sh", "-c", _TRY.format(name=name)], check=False, capture_output=True, text=True
    )
    subprocess.run(["ip", "netns", "delete", name], check=False, capture_output=True)
    if tried.returncode == 0:
        return None
    why = (tried.stderr.strip().splitlines() or ["no reason given"])[-1]
    return f"this needs network namespaces of its own: {why}"


def freezer_folder() -> Path:
    """Where a group is a folder whose processes can be frozen."""
    return FREEZER if FREEZER.is_dir() else UNIFIED


def main() -> int:
    """0 if complete; else one line and EXIT_NOT_HERE."""
    why = missing()
    if why is None:
        return 0
    print(why, file=sys.stderr)
    return EXIT_NOT_HERE


if __name__ == "__main__":
    sys.exit(main())
