"""Verdicts about mutations, and their journal."""

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from tests.mutants.known import KNOWN
from tests.mutants.mutations import Mutation

PACKAGES = ("heron_core/wire", "heron_instance", "stream_manager", "topology_master")


@dataclass(frozen=True, slots=True)
class Verdict:
    """Outcome of a mutation."""

    mutation: Mutation
    stage: str
    """The first tests with a failure; empty for a survivor."""
    what: str = ""
    """The failed test and its exception, or the number of passed tests."""
    secs: float = 0.0

    def __str__(self) -> str:
        if not self.stage:
            return f"LIVED   {self.mutation}\n        {self.what} ({self.secs:.0f} s)"
        return f"killed  {self.mutation}\n        by {self.stage}, {self.what} ({self.secs:.0f} s)"

    @property
    def reason(self) -> str:
        """Why tests cannot notice the mutation; empty without a reason."""
        one = self.mutation
        return KNOWN.get((one.path, one.function, one.before, one.after), "")


def fingerprint(mutation: Mutation, source: bytes) -> str:
    """Equal for equal mutations of equal files."""
    text = f"{mutation.path} {mutation.start} {mutation.end} {mutation.after} "
    return hashlib.sha256(text.encode() + source).hexdigest()[:16]


class Journal:
    """A file with a line for each verdict: known mutations are not tried again."""

    def __init__(self, file: Path | None) -> None:
        self._file = file
        self._found: dict[str, Verdict] = {}
        if file is not None and file.exists():
            for line in file.read_text("utf-8").splitlines():
                self._read(json.loads(line))

    def _read(self, entry: dict[str, object]) -> None:
        mutation = Mutation(**entry["mutation"])  # type: ignore[arg-type]
        key, stage, what, secs = (entry[each] for each in ("key", "stage", "what", "secs"))
        self._found[str(key)] = Verdict(mutation, str(stage), str(what), float(str(secs)))

    def known(self, key: str, is_survivor_again: bool) -> Verdict | None:
        """Verdict of an earlier run; None for an untried mutation."""
        found = self._found.get(key)
        return None if found is None or (is_survivor_again and not found.stage) else found

    def add(self, key: str, verdict: Verdict) -> None:
        self._found[key] = verdict
        if self._file is not None:
            entry = {"key": key, **asdict(verdict)}
            with self._file.open("a", encoding="utf-8") as lines:
                lines.write(json.dumps(entry) + "\n")


def told(verdicts: Sequence[Verdict]) -> int:
    """Print the survivors, with counts of each package; returns the exit code."""
    lived = [each for each in verdicts if not each.stage]
    for each in lived:
        reason = f" (known: {each.reason})" if each.reason else ""
        print(f"lived: {each.mutation}{reason}")
    print("\n".join(table(verdicts)))
    by_stage = Counter(each.stage for each in verdicts if each.stage)
    stages = ", ".join(f"{stage} {number}" for stage, number in by_stage.items())
    unknown = sum(not each.reason for each in lived)
    noticed = len(verdicts) - len(lived)
    share = 100 * noticed / max(1, noticed + unknown)
    print(f"{noticed} of {len(verdicts)} mutations were noticed ({share:.0f} % of those that can")
    print(f"be): {stages}")
    return 1 if unknown else 0


def table(verdicts: Iterable[Verdict]) -> list[str]:
    """A row of Markdown for each package, and one for all."""
    rows = ["| package | sampled | noticed | equivalent | survived |", "|---|---|---|---|---|"]
    counts: dict[str, Counter[str]] = {}
    for each in verdicts:
        kind = "noticed" if each.stage else "equivalent" if each.reason else "survived"
        package = next((x for x in PACKAGES if each.mutation.path.startswith(x + "/")), "others")
        for name in (package, "all"):
            counts.setdefault(name, Counter())[kind] += 1
    for name in sorted(counts, key=lambda each: (each == "all", each)):
        of = counts[name]
        numbers = (of.total(), of["noticed"], of["equivalent"], of["survived"])
        rows.append(" | ".join([f"| {name}", *map(str, numbers)]) + " |")
    return rows
