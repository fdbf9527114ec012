"""YAML as plain values with file and line, for precise errors."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import yaml

from heron_api.user_errors import display_path
from heron_core.errors import TopologyError
from heron_frontends.flux.substitution import Undefined, undefined_in

# A few lines of nested aliases stand for billions of values; the largest topology written by hand
# or by a generator has some thousands.
VALUES_MAX = 100_000
_TAG = "tag:yaml.org,2002:"
_MERGE = f"{_TAG}merge"


@dataclass(frozen=True, slots=True)
class FilePosition:
    """A line of a file, from 1."""

    file: str
    line: int

    def __str__(self) -> str:
        return f"{display_path(self.file)}:{self.line}"

    def wrong(self, message: str) -> TopologyError:
        """A TopologyError that starts with the position."""
        return TopologyError(f"{self}: {message}")


@dataclass(frozen=True, slots=True)
class Located:
    """A scalar, a list of Located or a dict of Located, with its position; an entry has its
    key's.
    """

    value: Any
    position: FilePosition

    def plain(self) -> Any:
        """The value without positions, as YAML libraries return it."""
        if isinstance(self.value, list):
            return [each.plain() for each in self.value]
        if isinstance(self.value, dict):
            return {key: each.plain() for key, each in self.value.items()}
        return self.value


def parse(text: str, file: str, undefined: list[Undefined]) -> Located:
    """Parse the one document in `text`; TopologyError with file and line for every fault."""
    loader = yaml.SafeLoader(text)
    try:
        node = loader.get_single_node()
        if node is None:
            raise FilePosition(file, 1).wrong("the file is empty")
        return _DocumentReader(loader, file, undefined).located(node)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = mark.line + 1 if mark is not None else 1
        raise FilePosition(file, line).wrong(f"not valid YAML: {_problem_text(error)}") from None
    except yaml.YAMLError as error:
        text = " ".join(str(error).split())
        raise FilePosition(file, 1).wrong(f"not valid YAML: {text}") from None
    except RecursionError:
        raise FilePosition(file, 1).wrong("the document is nested too deeply") from None
    finally:
        loader.dispose()


def _problem_text(error: yaml.MarkedYAMLError) -> str:
    parts = [error.context, error.problem]
    return ", ".join(" ".join(each.split()) for each in parts if each)


@dataclass(slots=True)
class _DocumentReader:
    """Turns the nodes of one document into Located values."""

    loader: yaml.SafeLoader
    file: str
    undefined: list[Undefined]
    open_nodes: set[int] = field(default_factory=set)
    """Nodes that enclose the current node."""
    values: int = 0

    def located(self, node: yaml.Node, position: FilePosition | None = None) -> Located:
        """Value of a node; its position is the start of the node, unless given."""
        own = FilePosition(self.file, node.start_mark.line + 1)
        self.values += 1
        if self.values > VALUES_MAX:
            raise own.wrong(f"there are more than {VALUES_MAX} values: aliases repeat too much")
        if id(node) in self.open_nodes:
            raise own.wrong("an alias (*) contains itself")
        self.open_nodes.add(id(node))
        value = self._value(node, own)
        self.open_nodes.discard(id(node))
        return Located(value, position or own)

    def _value(self, node: yaml.Node, position: FilePosition) -> Any:
        if isinstance(node, yaml.ScalarNode):
            return self._scalar(node, position)
        if node.tag not in (f"{_TAG}seq", f"{_TAG}map"):
            raise position.wrong(f"the tag {node.tag.replace(_TAG, '!!')} is not known here")
        if isinstance(node, yaml.SequenceNode):
            return [self.located(each) for each in node.value]
        return self._mapping(node)

    def _scalar(self, node: yaml.Node, position: FilePosition) -> Any:
        if undefined := undefined_in(node.value, self.undefined):
            raise FilePosition(self.file, undefined.line).wrong(undefined.reason)
        try:
            return self.loader.construct_object(node)
        except ValueError as error:
            raise position.wrong(f"{node.value!r}: {error}") from None

    def _mapping(self, node: yaml.Node) -> dict[Any, Located]:
        own: dict[Any, Located] = {}
        merged: dict[Any, Located] = {}
        for key_node, value_node in node.value:
            position = FilePosition(self.file, key_node.start_mark.line + 1)
            if key_node.tag == _MERGE:
                merged = {**self._merged(value_node, position), **merged}
                continue
            if not isinstance(key_node, yaml.ScalarNode):
                raise position.wrong("a key must be a word, not a list or a mapping")
            key = self._scalar(key_node, position)
            if key in own:
                raise position.wrong(
                    f"the key {key!r} is given twice (first in {own[key].position})"
                )
            own[key] = self.located(value_node, position)
        return {**merged, **own}

    def _merged(self, node: yaml.Node, position: FilePosition) -> Mapping[Any, Located]:
        """Entries merged by `<<`: a mapping, or several mappings of which the first wins."""
        located = self.located(node)
        parts = located.value if isinstance(located.value, list) else [located]
        merged: dict[Any, Located] = {}
        for each in parts:
            if not isinstance(each.value, dict):
                raise position.wrong("<< takes a mapping or a list of mappings")
            merged = {**each.value, **merged}
        return merged
