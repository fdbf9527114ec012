"""What the processes of a container leave alone: each import costs every one of them."""

import subprocess
import sys

SERVERS = (
    "heron_instance.server",
    "heron_engine.stream_manager.server",
    "heron_engine.topology_master.server",
)
HEAVY = ("asyncio", "ssl", "http.client", "kazoo", "pyarrow", "concurrent.futures")
"""Each takes 10 ms and 3 MiB or more; who needs one imports it then."""
LISTS_HEAVY = f"""
import sys
import {", ".join(SERVERS)}
print(*sorted(sys.modules.keys() & {set(HEAVY)}))
"""


def test_a_process_of_the_engine_imports_nothing_heavy_at_its_start() -> None:
    found = subprocess.run(
        [sys.executable, "-c", LISTS_HEAVY], capture_output=True, text=True, check=True
    )
    assert found.stdout.split() == []
