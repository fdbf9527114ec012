"""A topology is left to its autoscaler: steps, ramps, daily waves, noise, skew, refusals."""

import math
import os
import random
from itertools import pairwise

import pytest

from heron_core.algorithms.autoscale.autoscaler import AutoscalerPhase
from heron_core.algorithms.autoscale.options import Policy
from heron_core.topology import GroupingKind
from tests.unit.heron_core.algorithms.autoscale_support import Fluid, chain, options_of, topology

RATES = {"split": 1000.0, "count": 400.0}
FIRST, END = map(int, os.environ.get("HERON_AUTOSCALE_LOADS", "0:60").split(":"))
"""Random loads, by their seeds; by hand 0:10000."""


def fluid(load: float = 200.0, **changes: object) -> Fluid:
    """words -> split -> count under a constant load."""
    spec = chain()
    given = {"offered": lambda now: load, "rates": RATES, **changes}
    return Fluid(spec, given.pop("options", None) or options_of(spec), **given)  # type: ignore[arg-type]


@pytest.mark.parametrize("after", [600, 1_500, 3_000, 9_000])
def test_a_load_that_rises_at_once_is_met_within_three_decisions(after: int) -> None:
    made = fluid(offered=lambda now: 250 if now < 120 else after)
    made.run(900)
    assert 1 <= len(made.decisions) <= 3
    assert made.unmet == 0
    assert made.reversals == 0
    busy = after / (made.instances["count"] * RATES["count"])
    assert 0.5 < busy < 0.87


def test_all_bolts_behind_a_bottleneck_are_scaled_by_one_decision() -> None:
    # Tuples queued in front of `split` are invisible to `count`: the need of `count` follows from
    # selectivities.
    made = fluid(2_000, gains={"split": 3.0})
    made.run(200)
    _, first = made.decisions[0]
    assert first.parallelism == {"split": 3, "count": 4}  # the second by four times at most
    made.run(600)
    assert made.instances == {"words": 1, "split": 3, "count": 20}


def test_a_load_that_falls_takes_instances_away_after_a_longer_time() -> None:
    made = fluid(offered=lambda now: 3_000 if now < 300 else 300)
    made.run(300)
    assert made.instances["count"] == 10
    made.run(250)
    assert made.instances["count"] == 10
    made.run(400)
    assert made.instances == {"words": 1, "split": 1, "count": 2}
    assert made.reversals == 2  # one for each bolt


def test_a_ramp_is_followed_and_nothing_is_held_back_at_its_end() -> None:
    made = fluid(offered=lambda now: min(4_000, 200 + 2 * now))
    made.run(3_000)
    assert made.unmet == 0
    assert made.reversals == 0
    assert made.instances["count"] in (12, 13, 14)


def test_a_day_goes_up_once_and_down_once() -> None:
    day = 2 * 3600.0
    made = fluid(offered=lambda now: 1_500 - 1_300 * math.cos(2 * math.pi * now / day))
    made.run(day)
    assert made.reversals == 2  # one for each bolt, at noon
    assert max(step["count"] for _, step in made.history) in (9, 10)
    assert made.instances["count"] <= 3


def test_noise_changes_nothing_to_and_fro() -> None:
    for seed in range(FIRST, END):
        chance = random.Random(seed)
        mean, swing = chance.uniform(50, 5_000), chance.uniform(0.0, 0.5)
        rates = {name: rate * chance.uniform(0.5, 2) for name, rate in RATES.items()}
        made = fluid(
            rates=rates,
            offered=lambda now, c=chance, m=mean, s=swing: max(0.0, m * c.gauss(1, s)),
        )
        made.run(450)
        assert made.reversals == 0, f"seed {seed}: {made.decisions}"


def test_a_key_that_no_parallelism_divides_is_named() -> None:
    made = fluid(1_200, hot_share={"count": 0.43})
    made.run(900)
    # The rest of the keys is spread, but the key alone is more than an instance can do.
    assert made.instances["count"] == 1
    (diagnosis,) = made.diagnoses
    assert diagnosis.component == "count"
    assert "key 'x' is 43% of its input: more instances do not help" in diagnosis.why


def test_a_frequent_key_that_an_instance_can_do_has_the_others_spread_further() -> None:
    made = fluid(1_000, hot_share={"count": 0.2})
    made.run(900)
    assert made.unmet == 0
    # The key has 200 of its 300, so the remaining 800 take eight.
    assert made.instances["count"] == 8


def test_skew_is_seen_by_its_instances_where_keys_are_not_sampled() -> None:
    made = fluid(1_200, hot_share={"count": 0.43}, sees_keys=False)
    made.run(1_200)
    assert len(made.decisions) <= 2
    assert any("one instance receives" in each.why for each in made.diagnoses)


def test_streams_that_go_to_all_or_to_one_instance_are_left_alone() -> None:
    for kind, words in ((GroupingKind.ALL, "receives all tuples"), (GroupingKind.GLOBAL, "global")):
        spec = chain(kind)
        made = Fluid(spec, options_of(spec), lambda now: 900, RATES)
        made.run(600)
        assert made.instances["count"] == 1
        assert any(words in each.why for each in made.diagnoses)


def test_a_machine_without_free_cores_is_not_filled_with_instances() -> None:
    made = fluid(3_000, cores=2.0)
    made.run(1_200)
    assert made.instances["count"] <= 16
    assert len(made.decisions) <= 3
    assert any("more do not help" in each.why for each in made.diagnoses)


@pytest.mark.parametrize("sees_cores", [True, False])
def test_a_machine_whose_cores_are_all_busy_gets_no_more_instances_at_all(
    sees_cores: bool,
) -> None:
    made = fluid(3_000, cores=2.0, sees_cores=sees_cores)
    made.instances |= {"split": 2, "count": 4}  # chosen by hand
    made.run(600)
    if sees_cores:
        assert made.decisions == []
        assert "0% of the machine's cores is idle" in made.diagnoses[0].why
    else:
        assert len(made.decisions) == 1
    # With cores for the need, the load is met.
    other = fluid(3_000, cores=16.0, sees_cores=sees_cores)
    other.run(600)
    assert other.unmet == 0
    assert len(other.decisions) <= 3


def test_a_change_that_is_refused_begins_a_cooldown_that_doubles() -> None:
    made = fluid(3_000, refuses=lambda decision: "no room")
    made.run(1_500)
    times = [when for when, _ in made.decisions]
    gaps = [after - before for before, after in pairwise(times)]
    assert gaps == sorted(gaps)
    assert gaps[0] >= 120
    assert gaps[1] >= 240
    assert made.instances["count"] == 1


def test_nothing_is_decided_while_a_change_is_under_way() -> None:
    made = fluid(3_000)
    made.run(40)
    ((_, decision),) = made.decisions
    made.scaler.phase = AutoscalerPhase.MOVING
    made.run(300)
    assert [each for _, each in made.decisions] == [decision]


def test_a_change_that_costs_more_than_it_gains_is_not_made() -> None:
    spec = chain()
    made = fluid(360, options=options_of(spec, move_cost_secs=30.0))
    made.run(900)
    assert made.decisions == []  # at 90 % an instance more would gain 15 s in each cool-down
    made.offered = lambda now: 900
    made.run(300)
    assert made.instances["count"] == 3


def test_limits_are_kept_and_named() -> None:
    spec = chain()
    made = fluid(3_000, options=options_of(spec, instances_max={"count": 4}))
    made.run(600)
    assert made.instances == {"words": 1, "split": 1, "count": 4}
    assert any("10 instances needed, its maximum is 4" in each.why for each in made.diagnoses)


def test_the_threshold_adds_one_instance_after_so_many_reports() -> None:
    spec = topology(("count", GroupingKind.FIELDS, "words"))
    options = options_of(
        spec, policy=Policy.THRESHOLD, threshold_reports=8, window_secs=10.0, cooldown_secs=5.0
    )
    made = Fluid(spec, options, lambda now: 300 if now < 40 else 200, RATES)
    made.run(40)  # the first reading only begins: seven reports of 75 %
    assert made.decisions == []
    made.run(100)
    assert made.decisions == []
    made.offered = lambda now: 500
    made.run(45)
    assert [each.parallelism for _, each in made.decisions] == [{"count": 2}]
    made.run(300)
    assert made.instances["count"] == 2
