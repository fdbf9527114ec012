"""Problems in full: cause, time and remedy."""

from collections.abc import Sequence

from nicegui import ui

from heron_tracker.pages.overview_view import ProblemCard
from heron_tracker.pages.texts import marked


class _Card:
    """One problem, with changing texts in one place."""

    def __init__(self, card: ProblemCard, names_topology: bool) -> None:
        with ui.element("article").classes(f"card {card.tone}"):
            with ui.element("div").classes("card-head"):
                ui.label(card.kind).classes("kind")
                if names_topology:
                    ui.link(card.topology, card.href).classes("where")
                if card.component:
                    ui.link(card.component, card.href).classes("where")
                self._since = ui.label().classes("since")
            self._what = ui.html(sanitize=False).classes("what")
            self._remedy = ui.html(sanitize=False).classes("remedy")
        self.show(card)

    def show(self, card: ProblemCard) -> None:
        """The newest texts."""
        self._since.set_text(card.since)
        self._what.set_content(marked(card.what))
        self._remedy.set_content(f"→ {marked(card.remedy)}")


class Cards:
    """All problems, drawn again only when a problem comes or goes."""

    def __init__(self, names_topology: bool) -> None:
        self._names_topology = names_topology
        self._keys: list[tuple[str, str, str]] = []
        self._cards: list[_Card] = []
        self._at = ui.element("section").classes("cards").props('aria-label="Problems"')

    def show(self, cards: Sequence[ProblemCard]) -> None:
        """Present cards."""
        keys = [(card.topology, card.kind, card.href) for card in cards]
        if keys == self._keys:
            for shown, card in zip(self._cards, cards, strict=True):
                shown.show(card)
            return
        self._keys = keys
        self._at.clear()
        with self._at:
            self._cards = [_Card(card, self._names_topology) for card in cards]


class Sentence:
    """The sentence on top, in the colour of its tone."""

    def __init__(self, *names: str) -> None:
        """`names` of topologies and components keep their first letter."""
        self._names = names
        self._label = ui.html(sanitize=False).classes("sentence").props('role="status"')
        self._tone = ""

    def show(self, text: str, tone: str) -> None:
        """The newest sentence."""
        is_named = text.startswith(self._names)
        self._show(text if is_named else text[:1].upper() + text[1:], tone)

    def show_line(self, text: str) -> None:
        """An unchanged line: errors may begin with the name of a user or of a topology."""
        self._show(text, "quiet")

    def _show(self, text: str, tone: str) -> None:
        self._label.set_content(marked(text))
        if tone != self._tone:
            self._label.classes(remove=self._tone, add=tone)
            self._tone = tone
