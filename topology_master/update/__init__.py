"""Updates of a running topology: from one packing plan to another, also to other code.

Until the switch an update can be cancelled without any change. The added containers start while
data flows. Then the spouts pause, and state migrates to its place in the new plan:

- Without checkpoints (`draining`) the master waits until no tuple is in flight. Instances that will
  stop or whose component is rescaled save their states. The new plan names the saved states, and
  each instance restores its keys from them before the spouts resume.
- With checkpoints (`checkpointed`) a checkpoint replaces the drain, and the new plan restores it.
  States are divided among the new tasks; an instance that keeps its keys and has exchanged no
  message since continues as it is.

An instance that is not moved keeps its process and its state. After the switch all instances wait
until every state is restored. If a restore fails, or a user cancels during the wait, the update is
rolled back: the previous plan becomes active again, and all instances start with their previous
states. A rollback cannot be rolled back, so it is retried until success.

The target plan is stored under /packingplans from the first state on, so a new master finds the
plan and resumes the update. (Heron: UpdateTopologyManager.java, which restarts every stream
manager.)

`states` is the table of states and transitions (drawn in docs/ARCHITECTURE.md), followed by
`machine`; `draining` and `checkpointed` are the two strategies, with the condition and the
successor of each state; `record` has the data of an update and its view of the master. The package
never changes the master: it returns decisions, which the lifecycle carries out in order.
"""
