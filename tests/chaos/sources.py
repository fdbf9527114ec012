"""The topologies of the chaos runs, and what can be changed in their code while they run."""

from tests.chaos.new_versions import Form, Gap, Source
from tests.process.process_support import TOPOLOGIES
from tests.process.survival import NAME, TOPOLOGY

_KEYED_BODY = """\
class Between(Bolt):
    outputs = ["key"]
    passed = value_state(default=0)

    def process(self, tup):
        self.passed.put(self.passed.get() + 1)
        self.emit(tup.values[:1])
"""
_ACKING_BODY = """\
class Between(Bolt):
    outputs = ["line", "at", "word"]

    def process(self, tup):
        self.emit(tup.values, anchors=[tup])
        self.ack(tup)
"""
DIAMOND_SOURCE = Source(
    TOPOLOGIES / "exact_windows.py",
    "ExactDiamond",
    {
        "numbers": "Numbers",
        "others": "Numbers",
        "left": "Pass",
        "right": "Pass",
        "counts": "Counts",
        "windows": "Windows",
        "totals": "Totals",
        "lines": "Sink",
        "results": "Sink",
    },
    {"Numbers": ("at", Form.PUT), "Counts": ("seen", Form.VALUE), "Totals": ("results", Form.LIST)},
    Gap(
        "left",
        "counts",
        '    counts = Counts.spec(par=par("counts"), inputs={{{}: BY_KEY, right: BY_KEY}})\n',
        "par=2, inputs={left: BY_KEY}",
        _KEYED_BODY,
    ),
)
FAN_IN_SOURCE = Source(
    TOPOLOGIES / "exact_windows.py",
    "ExactFanIn",
    {
        "numbers": "Numbers",
        "others": "Numbers",
        "gather": "Gather",
        "running": "Running",
        "windows": "SlidingWindows",
        "steps": "Sink",
        "results": "Sink",
    },
    {"Numbers": ("at", Form.PUT), "Running": ("seen", Form.VALUE)},
    Gap(
        "gather",
        "running",
        '    running = Running.spec(par=par("running"), inputs={{{}: BY_KEY}})\n',
        "par=2, inputs={gather: BY_KEY}",
        _KEYED_BODY,
    ),
)
SURVIVING_SOURCE = Source(
    TOPOLOGY,
    NAME,
    {"lines": "Lines", "split": "Split", "count": "KeptCount", "seen": "Seen"},
    {"KeptCount": ("counted", Form.VALUE)},
    Gap(
        "split",
        "count",
        '    count = (KeptCount if os.environ.get("SURVIVING_STATE") else Count).spec(\n'
        '        par=SHAPE[2], inputs={{{}: Grouping.fields("word")}}\n',
        "par=1, inputs=[split]",
        _ACKING_BODY,
    ),
)
