"""Mutations that no test can notice, or none should: each with its reason."""

KNOWN: dict[tuple[str, str, str, str], str] = {
    ("heron_instance/checkpointing.py", "Checkpointing.trigger", "0", "(1)"): (
        "source and destination of a barrier that begins here: it is only passed on, with others"
    ),
    ("heron_instance/input/record_batches.py", "_hand_on", "True", "(False)"): (
        "roots and the numbers of their edges are pairs: the length is never odd"
    ),
    ("heron_instance/attempts.py", "_works_on", "False", "(True)"): (
        "the adapters of all bolts say whether they ack later: the default is never used"
    ),
    ("stream_manager/flow_control.py", "FlowControl.overtake", "0", "(1)"): (
        "its only caller waits until the instance has registered: an incarnation is there"
    ),
    (
        "topology_master/recovery.py",
        "Recovery._take_restored",
        "return Progress.NOTHING",
        "return None",
    ): "mypy notices: the caller asks for RELEASED, REPLACED and FAILED, and leaves the rest alone",
    (
        "stream_manager/queues.py",
        "InstanceQueue._messages_to_hand",
        "self.waiting_tuples <= tuples_max",
        "(self.waiting_tuples < tuples_max)",
    ): "where both are equal all messages go either way: no sum of some is larger",
    ("heron_instance/runtime/factory.py", "incarnation_number", "7", "(8)"): (
        "any width will do in which no number is drawn twice"
    ),
    ("heron_instance/emit/routing.py", "ByPartialKey.less_used", "1", "(2)"): (
        "the counts are only compared with each other"
    ),
    (
        "stream_manager/gates.py",
        "InstanceGate._arrives",
        "0 < self.aligning < number",
        "(0 <= self.aligning < number)",
    ): "where no barrier is awaited nothing is held that could pass",
    ("stream_manager/gates.py", "Gates.reset", "self._waiting.clear()", "pass"): (
        "the queues are emptied as well: a barrier that is in none of them overtakes nothing"
    ),
    ("topology_master/stored_nodes.py", "StoredNodes._done", "False", "(True)"): (
        "a look for nodes that are gone comes early once, and one look alone writes nothing"
    ),
    ("heron_core/wire/merged.py", "", "1024", "(1025)"): "a limit that is as good as the next one",
    ("topology_master/trace_export.py", "", "1.0", "(0)"): (
        "spare time for reports that come late, of which those of a test know nothing"
    ),
}
"""(path, function, before, after) -> why it lives."""
