"""Times and sentences as the pages show them."""

from datetime import datetime
from html import escape

from heron_core.number_text import duration


def clock_time(at: float) -> str:
    """The local time of a moment, in seconds since 1970."""
    return datetime.fromtimestamp(at).strftime("%H:%M:%S")


def since(at: float, now: float) -> str:
    """Since when, and for how long: since 14:03:20 (4 min 10 s)."""
    begun = datetime.fromtimestamp(at)
    is_today = begun.date() == datetime.fromtimestamp(now).date()
    when = begun.strftime("%H:%M:%S" if is_today else "%Y-%m-%d %H:%M")
    return f"since {when} ({duration(now - at)})"


def marked(text: str) -> str:
    """A sentence as HTML, with what stands between backticks as code."""
    parts = text.split("`")
    if len(parts) % 2 == 0:  # the last backtick is of the text
        parts[-2:] = ["`".join(parts[-2:])]
    return "".join(
        f"<code>{escape(each)}</code>" if at % 2 else escape(each) for at, each in enumerate(parts)
    )


def plain(text: str) -> str:
    """A sentence without backticks."""
    return text.replace("`", "")
