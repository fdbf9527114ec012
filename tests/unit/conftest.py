"""Fakes and fixtures for the users' API: a delegate that records, and imports that are undone."""

import logging
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from heron_api.topology_context import TopologyContext
from tests.unit.imports_support import forget_imports


class FakeDelegate:
    """Stands for the runtime behind a component: records what the component does."""

    def __init__(self) -> None:
        self.logger = logging.getLogger("fake delegate")
        self.emitted: list[SimpleNamespace] = []
        self.acked: list[Any] = []
        self.failed: list[Any] = []
        self.finished = 0

    def ack(self, tup: Any) -> None:
        self.acked.append(tup)

    def fail(self, tup: Any) -> None:
        self.failed.append(tup)

    def finish(self) -> None:
        self.finished += 1


class FakeSpoutDelegate(FakeDelegate):
    def abandon_emitted(self, tup_id: Any, values: list[Any], failures: int) -> bool:
        return False

    def emit(
        self, tup: Any, tup_id: Any, stream: str, direct_task: int | None, need_task_ids: bool
    ) -> list[int] | None:
        self.emitted.append(SimpleNamespace(values=tup, id=tup_id, stream=stream, task=direct_task))
        return [7] if need_task_ids else None


class FakeBoltDelegate(FakeDelegate):
    def emit(
        self, tup: Any, stream: str, anchors: Any, direct_task: int | None, need_task_ids: bool
    ) -> list[int] | None:
        self.emitted.append(
            SimpleNamespace(values=tup, anchors=anchors, stream=stream, task=direct_task)
        )
        return [7] if need_task_ids else None


class FakeContext(TopologyContext):
    """The context of one instance of one component."""

    def __init__(self, component: str, task: int = 1, tasks: tuple[int, ...] = (1,)) -> None:
        self.component, self.task, self.tasks = component, task, tasks

    def get_task_id(self) -> int:
        return self.task

    def get_component_id(self) -> str:
        return self.component

    def get_component_tasks(self, component_id: str) -> list[int]:
        return list(self.tasks)


@pytest.fixture
def spout_delegate() -> FakeSpoutDelegate:
    return FakeSpoutDelegate()


@pytest.fixture
def bolt_delegate() -> FakeBoltDelegate:
    return FakeBoltDelegate()


@pytest.fixture
def new_bolt_delegate() -> Callable[[], FakeBoltDelegate]:
    return FakeBoltDelegate


@pytest.fixture
def new_context() -> Callable[..., FakeContext]:
    return FakeContext


@pytest.fixture
def fresh_imports(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Stands for the fresh process in which files are loaded: imports are undone afterwards."""
    monkeypatch.delenv("HERON_OPTIONS", raising=False)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    modules, path = dict(sys.modules), list(sys.path)
    yield
    sys.path[:] = path
    forget_imports(modules)


@pytest.fixture
def write(
    tmp_path: Path, fresh_imports: None, monkeypatch: pytest.MonkeyPatch
) -> Callable[[str, str], str]:
    """Writes a file below an empty working directory; returns the path to give to a command."""
    monkeypatch.chdir(tmp_path)

    def write_file(path: str, text: str) -> str:
        file = tmp_path / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        return path

    return write_file
