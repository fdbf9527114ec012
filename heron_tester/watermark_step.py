"""A watermark that a test gives to the instances of a window bolt."""

from functools import partial

from heron_core.errors import UsageError
from heron_tester.engine import TesterEngine


def advance_watermark(engine: TesterEngine, component: str, watermark_ms: int) -> None:
    """Whatever becomes complete is delivered; UsageError for what has no windows."""
    for instance in engine.instances(component):
        advance = getattr(instance.users_object, "advance_watermark", None)
        if not callable(advance):
            raise UsageError(f"{component} is not a window bolt: it takes no watermark")
        engine.cluster.guarded(instance, partial(advance, watermark_ms))
    engine.cluster.settle()
