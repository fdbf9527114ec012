"""New versions of a topology's file: random edits of running code.

Each version is a file of its own. The versions of the components are known from the file, so the
replacements by `heronpy update --code` are compared with the necessary ones.
"""

import random
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path

from heron_core.records import replace

CHANGED_MAX = 3
"""So many classes are changed at once."""
STATE_SHARE = 0.5
"""Of the changed classes with state of their own: the share with a new form."""
BETWEEN_SHARE = 0.25
"""How often the component in between is added, or removed."""
BROKEN_SHARE = 0.2
"""How often the new code cannot begin."""
BETWEEN = "between"


class Broken(Enum):
    """Kinds of code that fails at its start."""

    IMPORT = "import"
    INITIALIZE = "initialize"
    MIGRATE = "migrate"


class Form(Enum):
    """Storage of a class's state."""

    PUT = "put"
    VALUE = "value_state"
    LIST = "list_state"


@dataclass(frozen=True, slots=True)
class Gap:
    """A place for an inserted component: `reader` then reads from the new component, not from
    `source`."""

    source: str
    reader: str
    line: str
    """Inputs of the reader, as in the file; {} stands for the source."""
    spec: str
    """Call that makes the new component."""
    body: str
    """The component's class, called Between."""


@dataclass(frozen=True, slots=True)
class Source:
    """A topology's file and its possible changes."""

    file: Path
    topology: str
    classes: Mapping[str, str]
    """component -> its class"""
    states: Mapping[str, tuple[str, Form]]
    """class -> the state that can be renamed, with its expression"""
    gap: Gap


@dataclass(frozen=True, slots=True)
class Version:
    """Changes of one version of the file."""

    number: int = 0
    revisions: Mapping[str, int] = field(default_factory=dict)
    """class -> the version in which its body was changed last"""
    states: Mapping[str, int] = field(default_factory=dict)
    """class -> its state_version, the number of the changing version"""
    has_between: bool = False
    broken: Broken | None = None
    broken_class: str = ""

    @property
    def name(self) -> str:
        return f"version_{self.number}.py"

    @property
    def changes(self) -> dict[str, object]:
        """class -> kind of change"""
        found: dict[str, object] = {
            each: (self.revisions.get(each), self.states.get(each))
            for each in (*self.revisions, *self.states)
        }
        return found | ({self.broken_class: self.number} if self.broken else {})


def concerned(source: Source, before: Version, after: Version) -> set[str]:
    """Components replaced, added or removed between two versions."""
    old, new = before.changes, after.changes
    found = {name for name, kind in source.classes.items() if old.get(kind) != new.get(kind)}
    if before.has_between != after.has_between:
        found |= {source.gap.source, source.gap.reader, BETWEEN}
    return found


def next_version(source: Source, now: Version, number: int, chance: random.Random) -> Version:
    """The next version after the running one."""
    kinds = sorted(set(source.classes.values()))
    chosen = chance.sample(kinds, chance.randint(1, min(CHANGED_MAX, len(kinds))))
    with_state = {each for each in chosen if chance.random() < STATE_SHARE} & source.states.keys()
    made = replace(
        now,
        number=number,
        revisions={**now.revisions, **dict.fromkeys(chosen, number)},
        states={**now.states, **dict.fromkeys(with_state, number)},
        has_between=now.has_between != (chance.random() < BETWEEN_SHARE),
    )
    broken, kind = chance.choice(list(Broken)), chance.choice(kinds)
    keeper = chance.choice(sorted(source.states))
    if chance.random() >= BROKEN_SHARE:
        return made
    return replace(made, broken=broken, broken_class=keeper if broken is Broken.MIGRATE else kind)


def text_of(source: Source, version: Version) -> str:
    """The file of a version."""
    text = source.file.read_text("utf-8")
    for kind, number in version.states.items():
        text = _with_state(text, kind, *source.states[kind], number)
    for kind, number in version.revisions.items():
        text = _inserted(text, kind, f"    revision = {number}\n")
    addition = _breaking(version)
    if version.has_between:
        gap = source.gap
        added = f"    {BETWEEN} = Between.spec({gap.spec})\n{gap.line.format(BETWEEN)}"
        text = _replaced(text, gap.line.format(gap.source), added)
        addition = f"{gap.body}\n\n{addition}"
    head = f"class {source.topology}(Topology):\n"
    return _replaced(text, head, f"{addition}\n\n{head}") if addition else text


def _replaced(text: str, old: str, new: str) -> str:
    assert text.count(old) == 1, f"{old!r} is {text.count(old)} times in the file"
    return text.replace(old, new)


def _class_text(text: str, kind: str) -> str:
    found = re.search(rf"(?m)^class {kind}\(.*\):\n(?:(?: .*)?\n)+", text)
    assert found is not None, f"there is no class {kind}"
    return found[0]


def _inserted(text: str, kind: str, line: str) -> str:
    """The line is the last of the class, possibly after its documentation."""
    old = _class_text(text, kind)
    return _replaced(text, old, f"{old.rstrip()}\n\n{line}\n\n")


def _with_state(text: str, kind: str, name: str, form: Form, number: int) -> str:
    """Rename the state and migrate the old one's content."""
    old, new_name = _class_text(text, kind), f"{name}_{number}"
    if form is Form.PUT:
        new = old.replace(f'"{name}"', f'"{new_name}"')
    else:
        new = re.sub(rf"(?m)(self\.|^    ){name}\b", rf"\g<1>{new_name}", old)
    assert new != old, f"{kind} has no state {name}"
    migrate = _MIGRATE[form].format(name=name, new_name=new_name, number=number)
    return _replaced(text, old, f"{new.rstrip()}\n{migrate}\n\n")


_BEFORE = """
    state_version = {number}

    def migrate(self, old):
        name = f"{name}_{{old.version}}" if old.version else "{name}"
"""
_MIGRATE = {
    Form.PUT: _BEFORE
    + """\
        self.state.put("{new_name}", self.state.delete(name))
""",
    Form.VALUE: _BEFORE
    + """\
        before = old.value_state(name)
        for key, value in list(before.all_items()):
            self.{new_name}.for_key(key).put(value)
        before.clear_all()
""",
    Form.LIST: _BEFORE
    + """\
        before = old.list_state(name)
        for key, values in list(before.all_items()):
            for each in values:
                self.{new_name}.for_key(key).add(each)
        before.clear_all()
""",
}


def _breaking(version: Version) -> str:
    match version.broken:
        case None:
            return ""
        case Broken.IMPORT:
            return 'raise ValueError("not yet")\n'
        case Broken.INITIALIZE:
            return (
                'def not_yet(self, config, context):\n    raise ValueError("not yet")\n\n\n'
                f"{version.broken_class}.initialize = not_yet\n"
            )
        case Broken.MIGRATE:
            return (
                'def not_yet(self, old):\n    raise ValueError("not yet")\n\n\n'
                f"{version.broken_class}.state_version = {version.number}\n"
                f"{version.broken_class}.migrate = not_yet\n"
            )
