"""A flame graph as SVG, of folded stacks: `a;b;c 12` for twelve samples in c, called by b."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from html import escape

WIDTH = 1200.0
ROW = 18.0
LEAST = 0.5
"""Narrower frames are left out, with all frames above."""
CHARACTER = 6.7
DEPTH_MAX = 80
FORK = "fork_child ("
"""Of heron_io.processes, as py-spy names it."""
COLOURS = ("#f4a259", "#f2b36b", "#ee8e4a", "#f6c177", "#e98a5b", "#f0a97f")


@dataclass(slots=True)
class Frame:
    """A function, called by the functions above."""

    name: str
    samples: int = 0
    below: dict[str, "Frame"] = field(default_factory=dict)


def tree_of(folded: str) -> Frame:
    """All stacks put together; lines that are none do not count."""
    root = Frame("all")
    for line in folded.splitlines():
        stack, _, count = line.rpartition(" ")
        if not stack or not count.isdecimal():
            continue
        root.samples += int(count)
        at = root
        for name in _own(stack.split(";"))[:DEPTH_MAX]:
            at = at.below.setdefault(name, Frame(name))
            at.samples += int(count)
    return root


def _own(frames: list[str]) -> list[str]:
    """Without the frames of the parent process before the fork, identical in all children."""
    forks = [at for at, name in enumerate(frames) if name.startswith(FORK)]
    return frames[forks[-1] + 1 :] if forks else frames


def depth_of(frame: Frame) -> int:
    """Number of rows."""
    return 1 + max((depth_of(each) for each in frame.below.values()), default=0)


def flame_svg(root: Frame) -> str:
    """The picture, callers on top; a tooltip has a frame's whole name and share."""
    height = depth_of(root) * ROW
    shapes = "".join(_shapes(root, 0.0, 0, root.samples))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH:g} {height:g}" '
        f'role="img" aria-label="Flame graph">{shapes}</svg>'
    )


def _shapes(frame: Frame, left: float, depth: int, total: int) -> Iterator[str]:
    width = WIDTH * frame.samples / total if total else 0.0
    if width < LEAST:
        return
    yield _shape(frame, left, depth, width, total)
    for each in sorted(frame.below.values(), key=lambda below: below.name):
        yield from _shapes(each, left, depth + 1, total)
        left += WIDTH * each.samples / total


def _shape(frame: Frame, left: float, depth: int, width: float, total: int) -> str:
    top = depth * ROW
    fits = int((width - 6) / CHARACTER)
    text = frame.name if len(frame.name) <= fits else frame.name[: max(0, fits - 1)] + "…"
    label = (
        f'<text x="{left + 3:.1f}" y="{top + 13:.1f}">{escape(text)}</text>' if fits >= 3 else ""
    )
    colour = COLOURS[sum(map(ord, frame.name)) % len(COLOURS)]
    title = f"{frame.name}: {frame.samples / total:.1%} ({frame.samples} samples)"
    return (
        f"<g><title>{escape(title)}</title>"
        f'<rect x="{left:.1f}" y="{top:.1f}" width="{max(width - 0.5, 0.5):.1f}" '
        f'height="{ROW - 1:g}" rx="2" fill="{colour}"/>{label}</g>'
    )
