"""Tables of the browser, which keep their order and the keyboard's place while rows change."""

from collections.abc import Sequence
from typing import Any

from nicegui import ui

from heron_tracker.pages.cells import PageColumn, PageTable, as_column, as_row

_CELL = """
<q-td :props="props" :class="props.row[props.col.name + '.tone']">
  <span v-if="props.row[props.col.name + '.width']" class="bar"><span
    :style="{width: props.row[props.col.name + '.width']}"></span></span>
  <a v-if="props.row[props.col.name + '.href']" :href="props.row[props.col.name + '.href']">{{
    props.row[props.col.name + '.text'] }}</a>
  <span v-else>{{ props.row[props.col.name + '.text'] }}</span>
</q-td>
"""


_HEAD = """
<q-th :props="props"><button type="button" class="sort">{{ props.col.label }}</button></q-th>
"""
"""A button, so that the keyboard sorts, too; the cell around the button takes the click."""


ROWS_SHOWN = 50
"""On a page of a table: a browser needs 2.5 s for 1,050 rows at each push, 0.1 s for 50."""


class LiveTable:
    """A table whose rows are pushed when they change."""

    def __init__(self, columns: Sequence[PageColumn], empty: str, label: str) -> None:
        self._shown: PageTable | None = None
        self._table = (
            ui.table(
                columns=[as_column(each) for each in columns],
                rows=[],
                row_key="key",
                pagination=ROWS_SHOWN,
            )
            .classes("table")
            .props(f'flat dense wrap-cells no-data-label="{empty}" aria-label="{label}"')
            .props(f':rows-per-page-options="[{ROWS_SHOWN}]" hide-pagination')
        )
        self._table.add_slot("body-cell", _CELL)
        self._table.add_slot("header-cell", _HEAD)

    def show(self, table: PageTable) -> None:
        """The rows as they are now."""
        if table == self._shown or (self._shown is None and not table.rows):
            return
        self._shown = table
        if len(table.rows) > ROWS_SHOWN:
            self._table.props(remove="hide-pagination")
        else:
            self._table.props("hide-pagination")
        # As in chart.py: NiceGUI watches every row of a list, and none of a tuple.
        rows: Any = tuple(map(as_row, table.rows))
        self._table.rows = rows
