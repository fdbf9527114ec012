"""Each exit code, each HTTP status and each message with a status of its own has an entry.

The page is docs/TROUBLESHOOTING.md: users search there for the number or the text.
"""

import ast
import re
from collections.abc import Iterator
from functools import cache

from heron_cli.__main__ import INTERRUPTED
from heron_cli.commands.run_on_all import DID_NOT_RUN, TIMED_OUT
from heron_cli.commands.server import JAVA_TERMINATED
from heron_core.errors import HeronError, StateStoreError, UsageError
from heron_core.exit_codes import INCOMPLETE, ExitCode
from heron_tracker.envelope import STATUS_OF, BadRequest
from tests.quoted_messages import GAP, LITERAL_MIN, PAGE, literal_text, matches, messages
from tests.sources import modules, nodes
from tests.tidy_rules import PACKAGES

COMMANDS = {
    0, INCOMPLETE, HeronError.exit_code, UsageError.exit_code, INTERRUPTED, TIMED_OUT, DID_NOT_RUN,
    JAVA_TERMINATED,
}  # fmt: skip
GENERAL = {BadRequest, UsageError, HeronError, StateStoreError}
"""Classes of messages that name a wrong argument or come from commands: hundreds share a status."""
OF_A_STATUS = {kind.__name__ for kind, _ in STATUS_OF if kind not in GENERAL} | {"TooLarge"}
"""Classes whose messages have a status of their own; TooLarge becomes AnswerTooLarge."""


def rows_below(heading: str, first: str) -> list[set[int]]:
    """Numbers in the first column of the tables headed by `first` in a section of the page."""
    section = PAGE.read_text("utf-8").split(f"\n## {heading}\n")[1].split("\n## ")[0]
    tables = section.split(f"| {first} |")[1:]
    return [set(map(int, re.findall(r"^\| (\d+) \|", table, re.MULTILINE))) for table in tables]


def test_each_exit_code_has_an_entry_and_each_entry_a_code() -> None:
    """In two tables: of commands, and of a topology's processes."""
    assert rows_below("Exit codes", "exit code") == [COMMANDS, set(map(int, ExitCode))]


def test_commands_have_no_other_exit_codes() -> None:
    """A class of errors with a code that the tables lack, for example."""
    known = {"1", "2", "ExitCode.UNSTARTED"}
    codes = {
        ast.unparse(value)
        for path in modules(*PACKAGES)
        for node in nodes(path)
        for value in _class_exit_codes(node)
    }
    assert codes == known
    assert ExitCode.UNSTARTED in COMMANDS


def _class_exit_codes(node: ast.AST) -> Iterator[ast.expr]:
    if isinstance(node, ast.ClassDef):
        for statement in node.body:
            match statement:
                case ast.Assign(targets=[ast.Name(id="exit_code")], value=value):
                    yield value


def test_each_http_status_of_an_error_has_an_entry_and_each_entry_a_status() -> None:
    """500 is the status of any other error."""
    statuses = {status for _, status in STATUS_OF} | {500}
    statuses |= {status for status, _ in refusals()}
    assert rows_below("Messages: servers", "HTTP status") == [statuses]


def refusals() -> Iterator[tuple[int, ast.expr]]:
    """Status and text of each Refusal in heron_tracker."""
    for path in modules("heron_tracker"):
        for node in nodes(path):
            match node:
                case ast.Call(
                    func=ast.Name(id="Refusal"), args=[ast.Constant(value=int(status)), text]
                ):
                    yield status, text


def test_each_message_with_a_status_of_its_own_has_an_entry() -> None:
    """Texts of expressions alone pass: another place of the code has their words."""
    entries = messages()
    texts = {_text(value) for value in [*_raised(), *(text for _, text in refusals())]}
    words = {text for text in texts if len(text.replace(GAP, "").strip()) >= LITERAL_MIN}
    assert len(words) >= len(OF_A_STATUS), "the search finds the messages"
    missing = [text for text in words if not any(matches(entry, text) for entry in entries)]
    assert sorted(missing) == []


def _raised() -> Iterator[ast.expr]:
    for path in modules(*PACKAGES):
        for node in nodes(path):
            match node:
                case ast.Call(func=ast.Name(id=name), args=[text, *_]) if name in OF_A_STATUS:
                    yield text


def _text(value: ast.expr) -> str:
    """A text with gaps; of a constant by its name."""
    match value:
        case ast.Name(id=name) | ast.Call(func=ast.Attribute(value=ast.Name(id=name))):
            return _constants().get(name, GAP)
    return literal_text(value) or GAP


@cache
def _constants() -> dict[str, str]:
    """Name of a constant in capitals -> its text, whose replacement fields are gaps."""
    texts: dict[str, str] = {}
    for path in modules(*PACKAGES):
        for node in nodes(path):
            match node:
                case ast.Assign(targets=[ast.Name(id=name)], value=ast.Constant(value=str(text))):
                    texts[name] = re.sub(r"\{\w*\}", GAP, text)
    return texts
