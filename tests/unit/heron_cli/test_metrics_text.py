"""How `heronpy stats -c` shows the metrics that user code registered."""

from heron_cli.commands.stats import metrics_text


def test_a_row_for_each_metric_and_key() -> None:
    text = metrics_text(
        {"seen": 7, "mean": 0.5, "by_word": {"storm": 2, "heron": 1}},
        {"seen": 700, "by_word": {"storm": 20, "heron": 10}},
    )
    assert [line.split() for line in text.splitlines()] == [
        ["metric", "key", "last", "bucket", "total"],
        ["seen", "7", "700"],
        ["mean", "0.5"],
        ["by_word", "storm", "2", "20"],
        ["by_word", "heron", "1", "10"],
    ]
