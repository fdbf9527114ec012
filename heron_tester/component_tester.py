"""ComponentTester: one bolt or spout alone, between a source of inputs and a reader of its
output.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import count
from types import TracebackType
from typing import Any

from heron_api.stream import Stream
from heron_core import config as keys
from heron_core import validation
from heron_core.config.names import SHELL_COMMAND
from heron_core.errors import UsageError
from heron_core.topology import (
    DEFAULT_STREAM,
    ComponentSpec,
    GroupingKind,
    GroupingSpec,
    InputSpec,
    StreamSpec,
    TopologySpec,
)
from heron_core.validation import choices
from heron_frontends.components.java import SHELL_BOLT, SHELL_SPOUT
from heron_tester import fixtures
from heron_tester.clock import START_TIME
from heron_tester.engine import TesterEngine
from heron_tester.instance import TesterInstance
from heron_tester.recording import users_id
from heron_tester.records import Emitted, LogLine, Problem
from heron_tester.run_settings import WAIT_SECS, RunSettings

READER = "reader"
_SHUFFLE = GroupingSpec(GroupingKind.SHUFFLE)
_DIRECT = GroupingSpec(GroupingKind.DIRECT)
_numbers = count(1).__next__

Fields = Sequence[str]
Streams = Mapping[str, Fields] | Fields
"""Fields of the default stream, or {stream: fields}."""


class ComponentTester:
    """Runs one component for a test; an exception of the component is raised by the call that
    caused it.

        with ComponentTester(Count, inputs={"words": ["word"]}) as count:
            assert count.process(["storm"])[0].values == ["storm", 1]

    `component` is a class of any API, or a list of words: the command of a shell component.
    `inputs` names the components that a bolt reads and the fields of their streams: {component:
    fields} or {component: {stream: fields}}; a spout has none. `outputs`, fields or {stream:
    fields}, defaults to what the class declares. Tuples are tracked unless `config` says otherwise.
    It works as a context manager, or until `close`.
    """

    __test__ = False

    def __init__(
        self,
        component: Any,
        *,
        inputs: Mapping[str, Streams] | None = None,
        outputs: Streams | None = None,
        config: Mapping[str, Any] | None = None,
        name: str | None = None,
        seed: int | None = None,
        patch_time: bool = True,
        start_time: float = START_TIME,
        wait_secs: float = WAIT_SECS,
    ) -> None:
        spec = _component(component, name, inputs or {}, outputs, config or {})
        self._name = spec.name
        self._class_name = spec.class_path.rpartition(".")[2]
        topology = _topology(spec, inputs or {}, config or {})
        validation.check(topology)
        settings = RunSettings("fifo", seed, patch_time, start_time, wait_secs=wait_secs)
        self._engine = TesterEngine(lambda: topology, settings)
        self._ids = count(1).__next__
        self._reported = 0
        try:
            self._raise_new()
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> "ComponentTester":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        try:
            self.close()
        finally:
            if error is not None:
                self._engine.explain(error)

    def close(self) -> None:
        """The component's last calls; the tester cannot be used any more."""
        try:
            self._engine.close()
        finally:
            fixtures.tested_classes.pop(self._class_name, None)

    # --- bolts --------------------------------------------------------------------------------

    def process(
        self,
        values: Sequence[Any],
        *,
        stream: str | None = None,
        component: str | None = None,
        tup_id: Any = None,
    ) -> list[Emitted]:
        """Let a bolt process one tuple; returns the emitted tuples.

        The tuple comes from the first of `inputs` unless `component` names another. `acked` and
        `failed` refer to the tuple by its `tup_id`, or by default by its number: the first tuple
        is 1.
        """
        source, stream = self._input(component, stream)
        number = self._ids()

        def act() -> None:
            feeder = self._engine.instances(source)[0]
            known = number if tup_id is None else tup_id
            feeder.feed(values, known, stream, None, _nothing)

        return self._emitted_by(act)

    def tick(self) -> list[Emitted]:
        """A tick now; returns what the bolt emitted."""
        self._only(False, "tick")
        return self._emitted_by(lambda: self._guarded(TesterInstance.tick))

    def finish(self) -> list[Emitted]:
        """End of the data: calls the bolt's on_finish; returns the emitted tuples."""
        self._only(False, "finish")
        return self._emitted_by(self._engine.cluster.finish)

    # --- spouts -------------------------------------------------------------------------------

    def next_tuple(self, calls: int = 1) -> list[Emitted]:
        """Call a spout's next_tuple; returns the emitted tuples."""
        self._only(True, "next_tuple")

        def act() -> None:
            for _ in range(calls):
                self._engine.cluster.call_spouts([self._name])
                self._engine.cluster.settle()

        return self._emitted_by(act)

    def ack(self, tup_id: Any) -> list[Emitted]:
        """Ack the spout's tuple; returns the tuples then emitted."""
        return self._settle(tup_id, "ack")

    def fail(self, tup_id: Any) -> list[Emitted]:
        """Fail the spout's tuple; returns the tuples then emitted."""
        return self._settle(tup_id, "fail")

    def _settle(self, tup_id: Any, how: str) -> list[Emitted]:
        self._only(True, how)
        pending = self._instance.driver.collector.pending
        under_way = [users_id(each) for each in pending.values()]
        if tup_id not in under_way:
            raise UsageError(f"{self._name} has no tuple {tup_id!r} under way; it has {under_way}")
        root = list(pending)[under_way.index(tup_id)]
        reader = self._engine.instances(READER)[0].users_object

        def act() -> None:
            mine = [tup for tup in reader.retained if tup.roots and tup.roots[0] == root]
            for tup in mine:
                reader.retained.remove(tup)
                getattr(reader, how)(tup)
            self._engine.instances(READER)[0].driver.flush()

        return self._emitted_by(act)

    @property
    def finished(self) -> bool:
        """Whether the spout has reported its end."""
        self._only(True, "finished")
        return bool(self._instance.driver.finished)

    # --- both ---------------------------------------------------------------------------------

    def advance(self, secs: float) -> list[Emitted]:
        """Let virtual time pass: ticks, windows and timers come; returns what was emitted."""
        return self._emitted_by(lambda: self._engine.cluster.advance(secs))

    @property
    def component(self) -> Any:
        """The user's object."""
        return self._instance.users_object

    @property
    def emitted(self) -> list[Emitted]:
        """All emitted tuples so far, in order."""
        return [each for each in self._engine.journal.emitted if each.component == self._name]

    @property
    def acked(self) -> list[Any]:
        """Ids of a bolt's acked inputs, or of a spout's processed tuples."""
        return self._outcomes(True)

    @property
    def failed(self) -> list[Any]:
        """Ids of a bolt's inputs that it failed or let time out; of a spout's failed tuples."""
        return self._outcomes(False)

    def _outcomes(self, acked: bool) -> list[Any]:
        spouts = {each.name for each in self._engine.topology.components if each.is_spout}
        settled = self._engine.journal.settled
        return [each.what for each in settled if each.component in spouts and each.acked is acked]

    @property
    def errors(self) -> list[Problem]:
        """Exceptions, and lines logged as errors."""
        return [each for each in self._engine.journal.problems if each.component == self._name]

    @property
    def logs(self) -> list[LogLine]:
        """Lines logged by the component."""
        return [each for each in self._engine.journal.lines if each.component == self._name]

    def metrics(self) -> dict[str, Any]:
        """Its counters; under "user" its own metrics since the last read."""
        return self._engine.metrics(self._name)

    @property
    def now(self) -> float:
        """What time.time() says to user code."""
        return self._engine.clock.time()

    # ------------------------------------------------------------------------------------------

    @property
    def _instance(self) -> TesterInstance:
        return self._engine.instances(self._name)[0]

    def _guarded(self, call: Callable[[TesterInstance], None]) -> None:
        instance = self._instance
        self._engine.cluster.guarded(instance, lambda: call(instance))

    def _emitted_by(self, act: Callable[[], None]) -> list[Emitted]:
        before = len(self.emitted)
        with self._engine.running():
            act()
            self._engine.cluster.settle()
        self._raise_new()
        return self.emitted[before:]

    def _raise_new(self) -> None:
        new = [each.error for each in self.errors[self._reported :] if each.error is not None]
        self._reported = len(self.errors)
        if new:
            raise new[0]

    def _only(self, spout: bool, what: str) -> None:
        if self._engine.topology.by_name[self._name].is_spout is not spout:
            kind, other = ("spout", "bolt") if spout else ("bolt", "spout")
            raise UsageError(f"{self._name} is a {other}: only a {kind} has {what}")

    def _input(self, component: str | None, stream: str | None) -> tuple[str, str]:
        self._only(False, "process")
        inputs = self._engine.topology.by_name[self._name].inputs
        candidates = [
            (entry.component, entry.stream)
            for entry in inputs
            if component in (None, entry.component) and stream in (None, entry.stream)
        ]
        if not candidates:
            names = [f"{entry.component}:{entry.stream}" for entry in inputs]
            wrong = f"{component or inputs[0].component}:{stream or DEFAULT_STREAM}"
            raise UsageError(
                f"{self._name} does not read {wrong}; {choices('inputs', wrong, names)}"
            )
        return candidates[0]


def _nothing(acked: bool) -> None:
    """What becomes of a tuple is in the journal."""


def _component(
    component: Any,
    name: str | None,
    inputs: Mapping[str, Streams],
    outputs: Streams | None,
    config: Mapping[str, Any],
) -> ComponentSpec:
    is_spout, class_path, more = _what_runs(component, bool(inputs))
    own_name = getattr(component, "__name__", "shell").lower()
    declared = _declared(getattr(component, "outputs", None) or ())
    read = tuple(
        InputSpec(source, stream.name, _SHUFFLE)
        for source, streams in inputs.items()
        for stream in _streams(streams)
    )
    return ComponentSpec(
        name or own_name,
        is_spout,
        class_path,
        1,
        tuple(declared if outputs is None else _streams(outputs)),
        read,
        {**dict(getattr(component, "config", None) or {}), **more},
    )


def _what_runs(component: Any, has_inputs: bool) -> tuple[bool, str, dict[str, Any]]:
    """Whether the component is a spout, its class path, and required config."""
    if isinstance(component, (list, tuple)):
        path = SHELL_BOLT if has_inputs else SHELL_SPOUT
        return not has_inputs, path, {SHELL_COMMAND: list(component)}
    if not isinstance(component, type):
        raise UsageError(
            f"{component!r} is not a component: give its class, or the words of its command"
        )
    is_spout = hasattr(component, "next_tuple")
    if not is_spout and not has_inputs:
        raise UsageError(
            f"{component.__name__} is a bolt: name its inputs, as in inputs={{'words': ['word']}}"
        )
    name = f"{component.__name__}_{_numbers()}"
    fixtures.tested_classes[name] = component
    return is_spout, f"{fixtures.__name__}.{name}", {}


def _streams(streams: Streams) -> list[StreamSpec]:
    if not isinstance(streams, Mapping):
        streams = {DEFAULT_STREAM: streams}
    return [StreamSpec(name, tuple(fields)) for name, fields in streams.items()]


def _declared(outputs: Iterable[Any]) -> list[StreamSpec]:
    """The streams in a class's `outputs`: field names of the default stream, and Streams of any
    API."""
    fields: dict[str, tuple[str, ...]] = {}
    types: dict[str, tuple[str, ...]] = {}
    direct: dict[str, bool] = {}
    declared: Iterable[Any] = [Stream(outputs)] if isinstance(outputs, dict) else outputs
    for stream in declared:
        plain = isinstance(stream, str)
        name = DEFAULT_STREAM if plain else getattr(stream, "stream_id", None) or stream.name
        fields[name] = fields.get(name, ()) + ((stream,) if plain else tuple(stream.fields))
        types[name] = types.get(name, ()) + getattr(stream, "types", ())
        direct[name] = direct.get(name, False) or (not plain and bool(stream.direct))
    return [StreamSpec(name, names, direct[name], types[name]) for name, names in fields.items()]


def _topology(
    spec: ComponentSpec, inputs: Mapping[str, Streams], config: Mapping[str, Any]
) -> TopologySpec:
    path = fixtures.__name__
    sources = [
        ComponentSpec(source, True, f"{path}.Source", 1, tuple(_streams(streams)))
        for source, streams in inputs.items()
    ]
    read = tuple(
        InputSpec(spec.name, output.name, _DIRECT if output.direct else _SHUFFLE)
        for output in spec.outputs
    )
    retains = {fixtures.Reader.RETAINS: spec.is_spout}
    readers = [ComponentSpec(READER, False, f"{path}.Reader", 1, (), read, retains)] if read else []
    everything = {keys.RELIABILITY_MODE: keys.ATLEAST_ONCE, **config}
    return TopologySpec(spec.name, (*sources, spec.overruled(config), *readers), everything)
