"""Dead letters as a person reads them. Pure, but for the zone of the clock."""

import json
import time
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from heron_core.number_text import counted, whole

Letter = Mapping[str, Any]
ID_CHARACTERS = 8
"""So many of an id are shown, if they tell the letters apart."""
LINE_CHARACTERS = 100


def overview(
    letters: Sequence[Letter], replayed: Collection[str], last: int, where: str
) -> list[str]:
    """How many there are by component and exception, and the last of them."""
    if not letters:
        return [f"no dead letters in {where}"]
    again = sum(each["id"] in replayed for each in letters)
    lines = [
        f"{counted(len(letters), 'dead letter')} in {where}, {whole(again)} of them sent again",
        "",
    ]
    rows = [("COMPONENT", "EXCEPTION", "LETTERS", "AGAIN", "NEWEST")]
    for (component, exception), some in _grouped(letters).items():
        number = sum(each["id"] in replayed for each in some)
        newest = time_text(some[-1]["time_ms"])
        rows.append((component, exception, whole(len(some)), whole(number), newest))
    lines += _table(rows)
    if last:
        lines += ["", *_table(_newest(letters[-last:], replayed, short_ids(letters)))]
    return lines


def _grouped(letters: Sequence[Letter]) -> dict[tuple[str, str], list[Letter]]:
    groups: dict[tuple[str, str], list[Letter]] = {}
    for each in letters:
        groups.setdefault((each["component"], kind_of(each)), []).append(each)
    return dict(sorted(groups.items(), key=lambda each: -len(each[1])))


def kind_of(letter: Letter) -> str:
    """The class of what was raised."""
    return str(letter["exception"]).partition(":")[0]


def _newest(
    letters: Sequence[Letter], replayed: Collection[str], digits: int
) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = [("ID", "TIME", "INSTANCE", "ATTEMPT", "EXCEPTION")]
    for each in letters:
        mark = " (sent again)" if each["id"] in replayed else ""
        text = f"{cut(str(each['exception']))}{mark}"
        when = time_text(each["time_ms"])
        rows.append((each["id"][:digits], when, each["instance"], str(each["attempt"]), text))
    return rows


def short_ids(letters: Sequence[Letter]) -> int:
    """How many characters tell the ids of letters apart."""
    ids = {each["id"] for each in letters}
    digits = ID_CHARACTERS
    while len({each[:digits] for each in ids}) < len(ids):
        digits += 1
    return digits


def cut(text: str) -> str:
    """The first line, and not all of a long one."""
    line = text.partition("\n")[0]
    return line if len(line) <= LINE_CHARACTERS else f"{line[:LINE_CHARACTERS]}…"


def time_text(time_ms: int) -> str:
    """Local time."""
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(time_ms / 1000))


def _table(rows: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]


def whole_letter(letter: Letter, is_replayed: bool) -> list[str]:
    """All that a letter says."""
    origin = f"{letter['source']}.{letter['stream']}" if letter["source"] else "not known"
    again = " (sent again)" if is_replayed else ""
    when, attempt = time_text(letter["time_ms"]), letter["attempt"]
    lines = [
        f"{letter['id']}{again}",
        f"abandoned by {letter['instance']} at {when}, attempt {attempt}",
        f"tuple from {origin}, task {letter['task']}:",
    ]
    names = [*letter["fields"], *map(str, range(len(letter["fields"]), len(letter["values"])))]
    for name, value in zip(names, letter["values"], strict=False):
        lines.append(f"  {name} = {json.dumps(value, ensure_ascii=False)}")
    return [*lines, str(letter["traceback"]).rstrip() or str(letter["exception"])]
