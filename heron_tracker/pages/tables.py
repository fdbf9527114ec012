"""Tables of the browser, which keep their order and the keyboard's place while rows change."""

from collections.abc import Sequence

from nicegui import ui

from heron_tracker.pages.cells import Column, Table, as_column, as_row

_CELL = """
<q-td :props="props" :class="props.row[props.col.name + '.tone']">
  <span v-if="props.row[props.col.name + '.width']" class="bar"><span
    :style="{width: props.row[props.col.name + '.width']}"></span></span>
  <a v-if="props.row[props.col.name + '.href']" :href="props.row[props.col.name + '.href']">{{
    props.row[props.col.name + '.text'] }}</a>
  <span v-else>{{ props.row[props.col.name + '.text'] }}</span>
</q-td>
"""


class LiveTable:
    """A table whose rows are pushed when they change."""

    def __init__(self, columns: Sequence[Column], empty: str, label: str) -> None:
        self._table = (
            ui.table(columns=[as_column(each) for each in columns], rows=[], row_key="key")
            .classes("table")
            .props(f'flat dense wrap-cells no-data-label="{empty}" aria-label="{label}"')
        )
        self._table.add_slot("body-cell", _CELL)

    def show(self, table: Table) -> None:
        """The rows as they are now."""
        rows = [as_row(each) for each in table.rows]
        if rows != self._table.rows:
            self._table.rows = rows
