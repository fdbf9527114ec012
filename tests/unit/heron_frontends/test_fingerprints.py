"""Two versions of a user's file: which of its classes are what they were."""

import json
import subprocess
import sys
from pathlib import Path

FIRST = """
import json
from heronpy_compat import Bolt
from heron_api.state.keyed_state import value_state

LIMIT = 3

def helper(word):
    return word.upper()

class Base(Bolt):
    def send(self, word):
        self.emit([helper(word)])

class Split(Base):
    outputs = ["word"]
    def process(self, tup):
        for word in {"a", "b", "c"} & set(tup.values):
            self.send(word)

class Count(Bolt):
    outputs = ["word"]
    seen = value_state(default=0)
    def process(self, tup):
        if self.seen.get() < LIMIT:
            print(json.dumps(tup.values))

class Alone(Bolt):
    def process(self, tup):
        pass
"""
CHANGES = {
    "nothing": ("import json", "# a remark\nimport json", set()),
    "a function": ("word.upper()", "word.lower()", {"Split"}),
    "a constant": ("LIMIT = 3", "LIMIT = 4", {"Count"}),
    "a base": ("[helper(word)]", "[helper(word)], stream='default'", {"Split"}),
    "a state": ("default=0", "default=1", {"Count"}),
    "its own": ("        pass", "        self.x = 1", {"Alone"}),
}
PROGRAM = """
import importlib, json, sys
sys.path.insert(0, sys.argv[1])
from heron_frontends.loading.fingerprints import fingerprint
found = {}
for number in range(int(sys.argv[2])):
    module = importlib.import_module(f"file{number}")
    names = ("Split", "Count", "Alone")
    found[number] = {name: fingerprint(getattr(module, name)) for name in names}
print(json.dumps(found))
"""


def test_only_what_has_changed_is_something_else(tmp_path: Path) -> None:
    # In two processes, whose sets have other orders.
    sources = [FIRST, *(FIRST.replace(old, new) for old, new, _ in CHANGES.values())]
    for number, source in enumerate(sources):
        (tmp_path / f"file{number}.py").write_text(source)
    command = [sys.executable, "-c", PROGRAM, str(tmp_path), str(len(sources))]
    results = []
    for seed in ("1", "2"):
        done = subprocess.run(
            command, capture_output=True, text=True, check=True,
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(sys.path)},
        )  # fmt: skip
        results.append(done.stdout)
    assert results[0] == results[1]
    first, *others = json.loads(results[0]).values()
    for (what, (_, _, wanted)), found in zip(CHANGES.items(), others, strict=True):
        assert {name for name in first if first[name] != found[name]} == wanted, what
