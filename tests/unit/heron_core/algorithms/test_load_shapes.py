"""`advise` and the autoscaler say of each shape of load what a person who knows would say."""

import pytest

from heron_core.algorithms.autoscale.assessment import Assessment, assess
from heron_core.algorithms.autoscale.cores import within_cores
from heron_core.algorithms.autoscale.readings import ReadingsWindow
from tests.unit.heron_core.algorithms.load_shapes import SHAPES, WINDOW_SECS, Model, Shape


def assessed(shape: Shape) -> dict[str, Assessment]:
    """What is said of its bolts after a window."""
    model, window = Model(shape), ReadingsWindow(WINDOW_SECS)
    for now, readings in model.readings():
        window.add(readings, now)
    found = assess(model.spec, window.loads(), readings, model.options)
    limited = within_cores(found, window.idle_share, readings.cores)
    return {each.component: each for each in limited}


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.name)
def test_the_answer_is_that_of_a_person_who_knows(shape: Shape) -> None:
    found = assessed(shape)
    for bolt in shape.bolts:
        right = shape.answer.get(bolt.name, frozenset({bolt.instances}))
        wanted = found[bolt.name].wanted
        assert wanted in right, f"{bolt.name}: {wanted}, {found[bolt.name].because}"


def test_few_keys_are_counted_in_the_reason() -> None:
    (three,) = [each for each in SHAPES if each.name == "three keys"]
    assert assessed(three)["work"].because.endswith("and it has 3 keys")
