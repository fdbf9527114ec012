"""A bolt that has taken a batch and has no tuple yet: its values are being made."""

from typing import Any

from tests.unit.heron_instance.instance_support import SHUFFLE, Middle, batch, make, reads


def test_a_bolt_that_unpacks_a_batch_is_not_idle() -> None:
    # A serializer of user code, or the import of pyarrow on a busy machine, takes seconds: the
    # master took the batch for lost, the run for done, and the bolts wrote their results too early.
    made = make(Middle, reads(SHUFFLE))
    decode: Any = made.core.decode
    idle: list[bool] = []

    def slowly(body: Any) -> Any:
        idle.append(made.core.counts()[2])
        return decode(body)

    made.core.decode = slowly
    made.core.deliver(batch(["x"], ["y"]))
    assert idle == [False]
    assert made.core.counts() == (0, 2, True)


def test_a_bolt_whose_batch_cannot_be_unpacked_is_idle_again() -> None:
    made = make(Middle, reads(SHUFFLE))

    def refuses(body: Any) -> Any:
        raise ValueError("of another version")

    made.core.decode = refuses
    made.core.deliver(batch(["x"], ["y"]))
    assert made.core.counts() == (0, 2, True)
    made.core.validate()
