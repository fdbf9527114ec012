"""Updates of a running topology: from one packing plan to another, also to other code.

Until the switch an update can be cancelled, and changes nothing. The added containers start while
data flows. Then the spouts pause, and what moves is put where the new plan finds it:

- Without checkpoints (`draining`) the master waits until no tuple is in flight. Instances that will
  stop or whose component is rescaled save their states. The new plan names the saved states, and
  each instance restores its keys from them before the spouts resume.
- With checkpoints (`checkpointed`) a checkpoint replaces the drain, and the new plan restores it.
  States are divided among the new tasks; an instance that keeps its keys and has exchanged no
  message since continues as it is.

An instance that is not moved keeps its process and its state. After the switch all wait until each
instance has its state. If one fails to, or if a person cancels while all wait, the update is rolled
back: the previous plan becomes active again, and all instances start with the same states. A
rollback has no rollback, so it is retried until it succeeds.

The target plan is stored under /packingplans from the first state on, so a master that takes over
finds the plan and resumes the update. (Heron: UpdateTopologyManager.java, which restarts every
stream manager.)

`states` is the table of states and transitions (drawn in docs/ARCHITECTURE.md); `machine` follows
it; `draining` and `checkpointed` are the two strategies, which say what each state waits for and
what follows; `record` is what an update consists of and what it sees of the master. Nothing here
changes the master: decisions are returned, which the lifecycle carries out in order.
"""
