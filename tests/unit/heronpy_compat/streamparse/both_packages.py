"""Prints what a topology file comes to, as JSON, with the streamparse that HERONPY_STREAMPARSE
chooses: its spec, its Thrift bytes and its Flux form."""

import base64
import json
import sys
import warnings
from typing import Any

warnings.simplefilter("ignore")  # of the packages that streamparse imports

from heron_core.topology import topology_to_json  # noqa: E402
from heron_frontends.loading.load import load_topology  # noqa: E402


def _found(file: str, written: str) -> dict[str, Any]:
    spec = load_topology(file)
    kind = sys.modules[spec.name].Everything
    kind.write(written)
    with open(written, "rb") as stream:
        thrift = base64.b64encode(stream.read()).decode("ascii")
    return {
        "spec": topology_to_json(spec),
        "module": type(kind).__module__,
        "thrift": thrift,
        "flux": kind.to_flux_dict("x"),
        "heavy": sorted({"thriftpy2", "simplejson"} & set(sys.modules)),
    }


if __name__ == "__main__":
    print(json.dumps(_found(*sys.argv[1:])))
