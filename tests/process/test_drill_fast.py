"""The fast rows of the drill: a trouble is named in seconds, and no longer after its cure.

`make test-drill` runs all rows, with the alerts of a Prometheus.
"""

import re

import httpx

from tests.drill.drill import Drill
from tests.drill.drilled_topology import Observers
from tests.drill.troubles import TROUBLES
from tests.process.process_support import Place

FAST = tuple(each for each in TROUBLES if each.is_fast)


def test_fast_troubles_are_named_in_time(place: Place) -> None:
    ui = place.start("ui", "--port", 0)
    served = ui.until(lambda: re.search(r"serving at (\S+)", ui.out), "it serves")[1]
    with httpx.Client(base_url=served, timeout=20.0) as service:
        Drill(place, FAST, Observers(service, None)).run()
