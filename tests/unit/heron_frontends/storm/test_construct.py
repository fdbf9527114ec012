"""adapters.construct: which class is made how, and what a Flux recipe adds."""

from types import SimpleNamespace
from typing import Any

import pytest

from heron_core.config.names import FLUX_RECIPE
from heron_core.errors import ComponentError
from heron_core.topology import ComponentSpec
from heron_frontends.adapters.construct import construct
from heron_frontends.adapters.storm.bolt import StormBolt
from heron_frontends.adapters.storm.library import overrides
from heronpy_compat import Bolt
from tests.unit.heron_frontends.storm.storm_support import importable, start


def delegate() -> Any:
    """Records emits."""
    emitted: list[Any] = []
    return SimpleNamespace(
        logger="logger",
        call_soon=lambda call: call(),
        emit=lambda *each: emitted.append(each),
        emit_batch=emitted.append,
        ack=lambda tup: emitted.append(("ack", tup)),
        fail=lambda tup: emitted.append(("fail", tup)),
        finish=lambda: emitted.append("finish"),
        emit_watermark=emitted.append,
        emitted=emitted,
    )


def made(kind: type, spout: bool = False, config: Any = None, given: Any = None) -> Any:
    spec = ComponentSpec("tested", spout, importable(kind), 1, (), (), config or {})
    return construct(spec, given or delegate())


@pytest.fixture
def recipe(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """The config of a component of a Flux file: the argument 5, then a call of configure(7)."""
    monkeypatch.setattr(
        "heron_frontends.flux.objects.construction",
        lambda config: ((5,), lambda component: component.configure(7)),
    )
    return {FLUX_RECIPE: {}}


def configure(self: Any, value: int) -> None:
    self.configured = value


def test_heronpys_classes_get_arguments_and_the_delegate(recipe: dict[str, Any]) -> None:
    class Sized(Bolt):
        def __init__(self, size: int, delegate: Any) -> None:
            super().__init__(delegate)
            self.size = size

        configure = configure

    found = made(Sized, config=recipe)
    user = found.users_object
    assert (user.size, user.configured, user.logger) == (5, 7, "logger")


def test_pystorms_classes_get_arguments_before_they_are_adapted(
    storm: Any, recipe: dict[str, Any]
) -> None:
    class Sized(storm.Bolt):  # type: ignore[misc]
        def __init__(self, size: int, *args: Any, **kwargs: Any) -> None:
            super().__init__(*args, **kwargs)
            self.size = size

        configure = configure

    found = made(Sized, config=recipe)
    assert isinstance(found, StormBolt)
    assert (found.users_object.size, found.users_object.configured) == (5, 7)


def test_a_plain_class_gets_what_it_needs(recipe: dict[str, Any]) -> None:
    class Plain:
        def __init__(self, size: int) -> None:
            self.size = size

        configure = configure

        def process(self, tup: Any) -> None:
            self.emit([tup, self.size])  # type: ignore[attr-defined]
            self.ack(tup)  # type: ignore[attr-defined]

    given = delegate()
    found = made(Plain, config=recipe, given=given)
    found.initialize({}, None)
    found.process("tup")
    found.process_tick("tick")
    found.on_finish()
    assert given.emitted == [(["tup", 5],), ("ack", "tup")]
    user = found.users_object
    assert (user.logger, user.configured) == ("logger", 7)


def test_a_plain_spout_keeps_its_own_ack() -> None:
    class Plain:
        acked: list[Any] = []

        def next_tuple(self) -> None:
            self.emit([1])  # type: ignore[attr-defined]
            self.finish()  # type: ignore[attr-defined]

        def ack(self, tup_id: Any) -> None:
            self.acked.append(tup_id)

    given = delegate()
    found = made(Plain, spout=True, given=given)
    found.next_tuple()
    found.ack(3)
    found.fail(4)
    found.activate()
    assert (given.emitted, found.users_object.acked) == ([([1],), "finish"], [3])


def test_a_spout_in_a_bolts_place_is_told_of(storm: Any) -> None:
    class Words(storm.Spout):  # type: ignore[misc]
        pass

    class Step(storm.Bolt):  # type: ignore[misc]
        pass

    with pytest.raises(ComponentError, match=r"component 'tested' is a bolt, but its class"):
        made(Words)
    with pytest.raises(ComponentError, match=r"component 'tested' is a spout, but its class"):
        made(Step, spout=True)


def test_what_the_users_classes_override(storm: Any) -> None:
    class Mixin:
        def emit(self, tup: Any, **kwargs: Any) -> Any:
            return super().emit(tup, **kwargs)  # type: ignore[misc]

    class Mixed(Mixin, storm.Bolt):  # type: ignore[misc]
        pass

    user = start(Mixed).user
    assert overrides(user, "emit")
    assert not overrides(user, "process")
    user.process = print
    assert overrides(user, "process")


def test_making_a_bolt_leaves_signals_and_serializers_alone(storm: Any) -> None:
    import importlib
    import signal

    class Timed(storm.TicklessBatchingBolt):  # type: ignore[misc]
        pass

    component = importlib.import_module(f"{storm.__name__}.component")
    before = signal.getsignal(signal.SIGUSR1), dict(component._SERIALIZERS)
    bolt = start(Timed).user
    bolt._batcher.join(10)
    assert not bolt._batcher.is_alive()
    assert (signal.getsignal(signal.SIGUSR1), component._SERIALIZERS) == before
