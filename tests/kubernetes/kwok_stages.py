"""What kwok says about a node and its pods: it is ready, they run at once and end at once."""

from typing import Any

NODE_ROOM = {"cpu": "1k", "memory": "4Ti", "pods": "1000"}
_READY = """
conditions:
- {type: Ready, status: "True", reason: KwokReady, lastHeartbeatTime: {{ Now | Quote }},
   lastTransitionTime: {{ Now | Quote }}}
addresses:
- {type: InternalIP, address: {{ NodeIP | Quote }}}
allocatable: {{ YAML .status.allocatable 1 }}
capacity: {{ YAML .status.capacity 1 }}
"""
_RUNS = """
phase: Running
startTime: {{ Now | Quote }}
podIP: {{ PodIPWith .spec.nodeName false .metadata.uid .metadata.name .metadata.namespace | Quote }}
conditions:
- {type: PodScheduled, status: "True", lastTransitionTime: {{ Now | Quote }}}
- {type: Ready, status: "True", lastTransitionTime: {{ Now | Quote }}}
containerStatuses:
{{ range .spec.containers }}
- name: {{ .name | Quote }}
  image: {{ .image | Quote }}
  imageID: ""
  ready: true
  started: true
  restartCount: 0
  state: {running: {startedAt: {{ Now | Quote }}}}
{{ end }}
"""


def _stage(name: str, kind: str, expressions: list[dict[str, Any]], then: Any) -> dict[str, Any]:
    return {
        "apiVersion": "kwok.x-k8s.io/v1alpha1",
        "kind": "Stage",
        "metadata": {"name": name},
        "spec": {
            "resourceRef": {"apiGroup": "v1", "kind": kind},
            "selector": {"matchExpressions": expressions},
            "next": then,
        },
    }


_DELETED = ".metadata.deletionTimestamp"
_IS_READY = '.status.conditions.[] | select( .type == "Ready" ) | .status'
STAGES = (
    _stage(
        "node-ready", "Node",
        [{"key": _IS_READY, "operator": "NotIn", "values": ["True"]}],
        {"statusTemplate": _READY},
    ),
    _stage(
        "pod-runs", "Pod",
        [{"key": _DELETED, "operator": "DoesNotExist"},
         {"key": ".status.phase", "operator": "In", "values": ["Pending"]}],
        {"statusTemplate": _RUNS},
    ),
    _stage(
        "pod-ends", "Pod", [{"key": _DELETED, "operator": "Exists"}], {"delete": True}
    ),
)  # fmt: skip
