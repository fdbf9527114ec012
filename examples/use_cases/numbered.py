"""A source of events that are functions of their number, so that they can be made again."""

from heronpy_compat import Spout
from heronpy_compat.api.state.stateful_component import StatefulComponent


class Numbered(Spout, StatefulComponent):
    """Emits `event(number)` for 0, 1, … up to `use_case.events` or `number_of_events`."""

    number_of_events = 1000

    def init_state(self, state):
        self.state = state

    def initialize(self, config, context):
        self.total = int(config.get("use_case.events", self.number_of_events))
        tasks = sorted(context.get_component_tasks(context.get_component_id()))
        self.step = len(tasks)
        self.first = tasks.index(context.get_task_id())

    def next_tuple(self):
        number = self.state.get("next", self.first)
        if number >= self.total:
            self.finish()
            return
        self.emit(self.event(number), tup_id=number)
        self.state.put("next", number + self.step)

    def event(self, number):
        """The values of an event."""
        raise NotImplementedError
