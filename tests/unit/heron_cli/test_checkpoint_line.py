"""What `stats` says of checkpoints: the newest, and what is wrong with them."""

from heron_cli.stats_text import checkpoint_line
from heron_core.records import replace
from heron_core.stats import CheckpointStats

FIRST = CheckpointStats(
    completed=0, latest=0, failed=0, failure="", restored=0, released=False, waiting_for=("a[0]",)
)
NINTH = CheckpointStats(
    completed=9, latest=9, failed=1, failure="", restored=4, released=True,
    age_secs=3.4, secs=0.25, size_bytes=12345,
)  # fmt: skip


def test_the_newest_checkpoint_is_shown_with_what_it_cost() -> None:
    assert checkpoint_line(NINTH) == "checkpoint 9: 12,345 bytes in 0.25 s, 3 s ago"
    aligned = replace(NINTH, alignment_ms={"split[0]": 12, "count[1]": 340})
    assert checkpoint_line(aligned).endswith("; aligned after 0.34 s at most (count[1])")


def test_what_is_wrong_and_who_is_waited_for_is_said() -> None:
    assert checkpoint_line(FIRST) == ("no checkpoint yet; restoring the start; waiting for a[0]")
    failing = replace(NINTH, failure="count[0]: no space is left", released=False)
    assert checkpoint_line(failing).endswith(
        "; restoring checkpoint 4; the last checkpoint failed: count[0]: no space is left"
    )
    lost = replace(FIRST, restored=4, restore_failure="count[0]: it was a list", waiting_for=())
    assert checkpoint_line(lost).endswith(
        "; restoring checkpoint 4; the checkpoint cannot be read: count[0]: it was a list"
    )
