"""What a benchmark writes: Markdown tables for people, one JSON file for everything else."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path

from benchmarks.machine import machine_lines
from benchmarks.rounds import Ratio, Results, Spread, Summary

RESULTS = Path(__file__).resolve().parent / "results"


def markdown(results: Results, unit: str) -> str:
    """The tables: each contender's figures, then the engine's ratios when it took part."""
    tables = [machine_lines(results.machine), figures_table(results.summaries, unit)]
    if results.ratios:
        tables.append(ratios_table(results.ratios))
    return "\n\n".join(tables)


def figures_table(summaries: Sequence[Summary], unit: str) -> str:
    """Median and (lowest to highest) per contender."""
    header = [
        "contender",
        "acked",
        f"{unit}/s",
        f"CPU-s per million {unit}",
        "start-up s",
        "PSS MiB",
    ]
    rows = [
        [
            one.name,
            "yes" if one.tracked else "no",
            cell(one.tuples_per_second, ",.0f"),
            cell(one.cpu_seconds_per_million, ".2f"),
            f"{one.startup_seconds.median:.1f}",
            f"{one.peak_pss_bytes.median / 2**20:.0f}",
        ]
        for one in summaries
    ]
    return table(header, rows)


def ratios_table(found: Sequence[Ratio]) -> str:
    """Peers down, engine variants across: times faster / times less CPU."""
    engines = list(dict.fromkeys(one.engine for one in found))
    cells = {
        (one.peer, one.engine): f"{one.speed.median:.2f} / {one.cpu.median:.2f}" for one in found
    }
    peers = list(dict.fromkeys(one.peer for one in found))
    header = ["engine against", *(f"{engine}: speed / CPU" for engine in engines)]
    return table(header, [[peer, *(cells[peer, engine] for engine in engines)] for peer in peers])


def cell(spread: Spread, style: str) -> str:
    """`median (lowest to highest)`."""
    return f"{spread.median:{style}} ({spread.lowest:{style}} to {spread.highest:{style}})"


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table, everything but the first column to the right."""
    lines = [header, ["---", *("---:" for _ in header[1:])], *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def write_json(results: Results) -> Path:
    """Write benchmarks/results/NAME.json; returns where."""
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{results.benchmark}.json"
    path.write_text(json.dumps(asdict(results), indent=2) + "\n")
    return path
