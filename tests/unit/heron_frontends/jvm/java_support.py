"""The Python half of a Java component, and an engine's main loop in the test's hand."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

from heron_frontends.jvm.bolt import JvmBolt
from heron_frontends.jvm.frontend import plain_recipe
from tests.unit.heron_frontends.multilang.multilang_support import Context, Engine


class JavaEngine(Engine):
    """The runtime as a Java component sees it."""

    def __init__(self) -> None:
        super().__init__()
        self.reopened = 0

    def reopen(self) -> None:
        self.reopened += 1


class JavaContext(Context):
    """The context of task 3 of `words`, which reads `lines`."""

    def get_topology_name(self) -> str:
        return "java"

    def to_storm(self) -> dict[str, Any]:
        return {"task->component": {"1": "lines", "3": "words"}}

    def to_storm_components(self) -> list[dict[str, Any]]:
        return [{"name": "words", "streams": [["default", ["word"], False]]}]


class Half:
    """One component, started."""

    def __init__(
        self, action: str, folder: Path, jar: str, kind: type = JvmBolt, state: Any = None,
        **config: Any,
    ) -> None:  # fmt: skip
        self.engine = JavaEngine()
        self.context = JavaContext(folder)
        self.component: Any = kind(delegate=self.engine)
        for name in ("emit", "ack", "fail", "finish"):
            if not (name in ("ack", "fail") and hasattr(kind, "next_tuple")):
                setattr(self.component, name, getattr(self.engine, name))
        if state is not None:
            self.component.init_state(state)
        self.config = {
            "topology.classpath": [jar],
            "heronpy.java.recipe": plain_recipe(action, []),
            **{key.replace("__", "."): config[key] for key in config},
        }

    def start(self) -> "Half":
        """Start the JVM."""
        self.component.initialize(self.config, self.context)
        return self

    def give(self, *values: Any, stream: str = "default") -> SimpleNamespace:
        """Have it process a tuple."""
        tup = SimpleNamespace(component="lines", stream=stream, task=1, values=list(values))
        self.component.process(tup)
        return tup
