"""What surrounds user code: factory, context, hooks, metrics, watchdog."""
